//! NBD: any kernel and many programs speak it, and it needs no right.
//!
//! ```text
//!   listen ──► one thread a client: handshake ──► requests ──► Disk ──► Out ──► client
//! ```
//!
//! A Unix socket, or TCP on the loopback unless another address is named: the protocol knows no password.

mod handshake;
mod out;
mod session;
mod wire;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::{Disk, ServeError};
use handshake::Export;

/// Clients at a time; each takes at most 64 MiB.
const CLIENTS_MOST: usize = 32;

/// A client that has not agreed by then leaves.
const HANDSHAKE: Duration = Duration::from_secs(30);

/// Where clients come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A socket in the file system.
    Unix(PathBuf),
    /// An address and a port: `127.0.0.1:10809`.
    Tcp(String),
}

impl std::str::FromStr for Place {
    type Err = String;

    /// `unix:/run/disk.sock`, `/run/disk.sock`, `127.0.0.1:10809` or `10809`.
    fn from_str(typed: &str) -> Result<Place, String> {
        if let Some(path) = typed.strip_prefix("unix:").or(typed.contains('/').then_some(typed)) {
            return Ok(Place::Unix(path.into()));
        }
        let port = typed.rsplit(':').next().unwrap_or_default();
        if port.parse::<u16>().is_err() {
            return Err(format!("`{typed}` is no place; write it like /run/disk.sock or 127.0.0.1:10809"));
        }
        let address = if typed == port { format!("127.0.0.1:{port}") } else { typed.to_owned() };
        Ok(Place::Tcp(address))
    }
}

/// Told of clients that are sent away or cut off.
type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// A client's connection, to close it.
enum Connection {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Connection {
    fn close(&self) {
        let _it_may_be_closed = match self {
            Connection::Unix(stream) => stream.shutdown(Shutdown::Both),
            Connection::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

#[derive(Default)]
struct Clients {
    stop: AtomicBool,
    count: AtomicU64,
    open: Mutex<BTreeMap<u64, Connection>>,
}

impl Clients {
    fn open(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Connection>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The export, served.
pub struct Nbd {
    /// Where it is.
    pub url: String,
    place: Place,
    clients: Arc<Clients>,
    thread: Option<JoinHandle<()>>,
}

enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Nbd {
    /// Serves `disk` under `name` at `place`; `tell` is told of clients that come, leave and break the protocol.
    pub fn start(
        disk: Disk,
        name: &str,
        place: &Place,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Nbd, ServeError> {
        let refused = |source| ServeError::Listen { place: shown(place), source };
        let (listener, place, url) = match place {
            Place::Unix(path) => {
                let listener = listen(path).map_err(refused)?;
                let url = format!("nbd+unix:///{name}?socket={}", path.display());
                (Listener::Unix(listener), place.clone(), url)
            }
            Place::Tcp(address) => {
                let listener = TcpListener::bind(address).map_err(refused)?;
                // Port 0 is any that is free.
                let address = listener.local_addr().map_err(refused)?.to_string();
                let url = format!("nbd://{address}/{name}");
                (Listener::Tcp(listener), Place::Tcp(address), url)
            }
        };
        let export = Export {
            name: name.to_owned(),
            size: disk.capacity(),
            block: disk.block() as u32,
            most: session::MOST,
        };
        let clients = Arc::<Clients>::default();
        let (theirs, tell): (_, Tell) = (Arc::clone(&clients), Arc::new(tell));
        let accept = move || {
            while let Ok(connection) = accept(&listener) {
                if theirs.stop.load(Ordering::SeqCst) {
                    return;
                }
                welcome(connection, &export, &disk, &theirs, &tell);
            }
        };
        let thread = Builder::new().name("nbd".to_owned()).spawn(accept).map_err(ServeError::Thread)?;
        Ok(Nbd { url, place, clients, thread: Some(thread) })
    }

    /// Closes all connections: the power is gone.
    pub fn drop_clients(&self) {
        self.clients.open().values().for_each(Connection::close);
    }
}

impl Drop for Nbd {
    fn drop(&mut self) {
        self.clients.stop.store(true, Ordering::SeqCst);
        // Its own call wakes who waits for clients.
        let woken = match &self.place {
            Place::Unix(path) => UnixStream::connect(path).is_ok(),
            Place::Tcp(address) => TcpStream::connect(address).is_ok(),
        };
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _it_ends_by_itself = thread.join();
        }
        self.drop_clients();
        if let Place::Unix(path) = &self.place {
            let _gone_already = std::fs::remove_file(path);
        }
    }
}

fn shown(place: &Place) -> String {
    match place {
        Place::Unix(path) => path.display().to_string(),
        Place::Tcp(address) => address.clone(),
    }
}

/// A socket that nobody answers at was left by a server that was killed.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let is_socket = path.symlink_metadata().is_ok_and(|data| data.file_type().is_socket());
    if is_socket && UnixStream::connect(path).is_err() {
        std::fs::remove_file(path)?;
    }
    UnixListener::bind(path)
}

fn accept(listener: &Listener) -> io::Result<Connection> {
    loop {
        let accepted = match listener {
            Listener::Unix(listener) => listener.accept().map(|(stream, _)| Connection::Unix(stream)),
            Listener::Tcp(listener) => listener.accept().map(|(stream, _)| Connection::Tcp(stream)),
        };
        match accepted {
            // It left before it was let in, or descriptors are short for a moment.
            Err(error) if error.kind() != io::ErrorKind::InvalidInput => {
                std::thread::sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
}

fn welcome(connection: Connection, export: &Export, disk: &Disk, clients: &Arc<Clients>, tell: &Tell) {
    if clients.open().len() >= CLIENTS_MOST {
        tell(&format!("a client was sent away: there are {CLIENTS_MOST}"));
        return;
    }
    let number = clients.count.fetch_add(1, Ordering::Relaxed);
    let (export, disk) = (export.clone(), disk.clone());
    let (own, tell) = (Arc::clone(clients), Arc::clone(tell));
    let serve = move || {
        let _seat = Seat { clients: &own, number };
        let ended = match connection {
            Connection::Unix(stream) => client(stream, number, &own, &export, &disk, &Streams::UNIX),
            Connection::Tcp(stream) => {
                let _only_slower = stream.set_nodelay(true);
                client(stream, number, &own, &export, &disk, &Streams::TCP)
            }
        };
        match ended {
            Err(error) if !is_gone(&error) => tell(&format!("a client was cut off: {error}")),
            _ => {}
        }
    };
    let _it_is_sent_away = Builder::new().name("nbd-in".to_owned()).spawn(serve);
}

/// A client's place among the others, until its thread ends.
struct Seat<'a> {
    clients: &'a Clients,
    number: u64,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.clients.open().remove(&self.number) {
            connection.close();
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

/// What is asked of both kinds of streams, and has no trait.
struct Streams<Stream> {
    again: fn(&Stream) -> io::Result<Stream>,
    patience: fn(&Stream, Option<Duration>) -> io::Result<()>,
    kept: fn(Stream) -> Connection,
}

impl Streams<UnixStream> {
    const UNIX: Streams<UnixStream> = Streams {
        again: UnixStream::try_clone,
        patience: UnixStream::set_read_timeout,
        kept: Connection::Unix,
    };
}

impl Streams<TcpStream> {
    const TCP: Streams<TcpStream> =
        Streams { again: TcpStream::try_clone, patience: TcpStream::set_read_timeout, kept: Connection::Tcp };
}

fn client<Stream>(
    stream: Stream,
    number: u64,
    clients: &Clients,
    export: &Export,
    disk: &Disk,
    streams: &Streams<Stream>,
) -> io::Result<()>
where
    Stream: Read + Write + AsRawFd + Send + Sync + 'static,
    for<'a> &'a Stream: Write,
{
    clients.open().insert(number, (streams.kept)((streams.again)(&stream)?));
    (streams.patience)(&stream, Some(HANDSHAKE))?;
    let (writes, patient) = ((streams.again)(&stream)?, (streams.again)(&stream)?);
    session::serve(stream, writes, export, disk, || {
        let _it_keeps_its_haste = (streams.patience)(&patient, None);
    })
}

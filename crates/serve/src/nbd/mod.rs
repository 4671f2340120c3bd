//! NBD: any kernel and many programs speak it, and it needs no right.
//!
//! ```text
//!   listen ──► one thread a client: handshake ──► requests ──► Disk ──► Out ──► client
//! ```
//!
//! A Unix socket, or TCP on the loopback unless another address is named: the protocol knows no password.

mod complaints;
mod handshake;
mod out;
mod patient;
mod session;
mod wire;

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use anyhow::Context;

use crate::{Disk, sys};
use complaints::Complaints;
use handshake::Export;

/// Clients at a time; each has 16 MiB in flight, or one request of up to 32 MiB.
const CLIENTS_MOST: usize = 32;

/// Address that clients come to.
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

struct Clients {
    complaints: Complaints,
    stop: AtomicBool,
    count: AtomicU64,
    open: Mutex<BTreeMap<u64, UnixStream>>,
    /// Bytes in flight, of all.
    bytes: Arc<AtomicUsize>,
}

impl Clients {
    fn new(complaints: Complaints) -> Clients {
        let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
        Clients { complaints, stop, count, open: Mutex::default(), bytes: Arc::default() }
    }

    fn open(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, UnixStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a client a place; false when there is none.
    fn seat(&self, number: u64, connection: UnixStream) -> bool {
        let mut open = self.open();
        let free = open.len() < CLIENTS_MOST;
        if free {
            open.insert(number, connection);
        }
        free
    }
}

/// The export, served.
pub struct Nbd {
    /// URL of the disk.
    pub url: String,
    /// The socket in the file system that is ours, and what it is whatever its name becomes.
    socket: Option<(PathBuf, (u64, u64))>,
    listener: Arc<Listener>,
    clients: Arc<Clients>,
    thread: Option<JoinHandle<()>>,
}

enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Listener::Unix(listener) => listener.as_raw_fd(),
            Listener::Tcp(listener) => listener.as_raw_fd(),
        }
    }
}

/// Identity of a file, whatever its name.
fn identity(data: &Metadata) -> (u64, u64) {
    (data.dev(), data.ino())
}

impl Nbd {
    /// Serves `disk` under `name` at `place`; `tell` is told of clients that come, leave and break the protocol.
    pub fn start(
        disk: Disk,
        name: &str,
        place: &Place,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> anyhow::Result<Nbd> {
        let shown = match place {
            Place::Unix(path) => path.display().to_string(),
            Place::Tcp(address) => address.clone(),
        };
        let refused =
            || format!("cannot listen on `{shown}`; end who listens there, or choose another with --listen");
        let (listener, socket, url) = match place {
            Place::Unix(path) => {
                let listener = listen(path).with_context(refused)?;
                let about = path.symlink_metadata().with_context(refused)?;
                let url = format!("nbd+unix:///{name}?socket={}", path.display());
                (Listener::Unix(listener), Some((path.clone(), identity(&about))), url)
            }
            Place::Tcp(address) => {
                let listener = TcpListener::bind(address).with_context(refused)?;
                // Port 0 is any that is free.
                let url = format!("nbd://{}/{name}", listener.local_addr().with_context(refused)?);
                (Listener::Tcp(listener), None, url)
            }
        };
        let export = Export {
            name: name.to_owned(),
            size: disk.capacity(),
            block: disk.block() as u32,
            most: session::MOST,
        };
        let (listener, clients) = (Arc::new(listener), Arc::new(Clients::new(Complaints::new(tell))));
        let (ears, theirs) = (Arc::clone(&listener), Arc::clone(&clients));
        let accept = move || {
            while let Ok(connection) = accept(&ears, &theirs.stop) {
                welcome(connection, &export, &disk, &theirs);
            }
        };
        let thread = Builder::new().name("nbd".to_owned()).spawn(accept).context("cannot start a thread")?;
        Ok(Nbd { url, socket, listener, clients, thread: Some(thread) })
    }

    /// Bytes of requests that were read and whose answers no socket took yet, of all clients.
    pub fn bytes_in_flight(&self) -> usize {
        self.clients.bytes.load(Ordering::Relaxed)
    }

    /// Closes all connections: the power is gone.
    pub fn drop_clients(&self) {
        self.clients.open().values().for_each(sys::hang_up);
    }
}

impl Drop for Nbd {
    fn drop(&mut self) {
        self.clients.stop.store(true, Ordering::SeqCst);
        sys::hang_up(&*self.listener);
        if let Some(thread) = self.thread.take() {
            let _it_ends_by_itself = thread.join();
        }
        self.drop_clients();
        self.clients.complaints.finish();
        // By now its name may be another server's.
        let ours = self
            .socket
            .take()
            .filter(|(path, socket)| path.symlink_metadata().is_ok_and(|about| identity(&about) == *socket));
        if let Some((path, _)) = ours {
            let _gone_already = std::fs::remove_file(path);
        }
    }
}

/// A socket that was left by a server that was killed is removed.
fn listen(path: &Path) -> io::Result<UnixListener> {
    if let Ok(about) = path.symlink_metadata()
        && is_left(path, &about)
        && path.symlink_metadata().is_ok_and(|again| identity(&again) == identity(&about))
    {
        std::fs::remove_file(path)?;
    }
    UnixListener::bind(path)
}

/// Nobody has this socket any more. A datagram socket that asks waits in no queue, is refused where nobody is bound, and told
/// of another type where somebody is who listens or does not listen yet.
fn is_left(path: &Path, about: &Metadata) -> bool {
    let asked = || UnixDatagram::unbound().and_then(|socket| socket.connect(path));
    about.file_type().is_socket()
        && asked().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// A connection of whatever family: std's type for one does no more than the descriptor does.
fn accept(listener: &Listener, stop: &AtomicBool) -> io::Result<UnixStream> {
    loop {
        let accepted = match listener {
            Listener::Unix(listener) => listener.accept().map(|(stream, _)| stream),
            Listener::Tcp(listener) => listener.accept().map(|(stream, _)| {
                let _only_slower = stream.set_nodelay(true);
                UnixStream::from(OwnedFd::from(stream))
            }),
        };
        match accepted {
            _ if stop.load(Ordering::SeqCst) => return Err(io::ErrorKind::ConnectionAborted.into()),
            // It left before it was let in, or descriptors are short for a moment.
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
            connection => return connection,
        }
    }
}

fn welcome(stream: UnixStream, export: &Export, disk: &Disk, clients: &Arc<Clients>) {
    let number = clients.count.fetch_add(1, Ordering::Relaxed);
    let Ok(again) = stream.try_clone() else { return };
    if !clients.seat(number, again) {
        return clients.complaints.say(&format!("a client was sent away: there are {CLIENTS_MOST}"));
    }
    let (export, disk) = (export.clone(), disk.clone());
    let seat = Seat { clients: Arc::clone(clients), number };
    let serve = move || match session::serve(stream, &export, &disk, &seat.clients.bytes) {
        Err(error) if !is_gone(&error) => {
            seat.clients.complaints.say(&format!("a client was cut off: {error}"));
        }
        _ => {}
    };
    let _it_is_sent_away = Builder::new().name("nbd-in".to_owned()).spawn(serve);
}

/// A client's place among the others, until its thread ends.
struct Seat {
    clients: Arc<Clients>,
    number: u64,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(connection) = self.clients.open().remove(&self.number) {
            sys::hang_up(&connection);
        }
        sys::give_back_memory();
    }
}

fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

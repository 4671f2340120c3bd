//! What does a connected client want? Requests, each answered when the drive says, in any order.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use super::handshake::{Agreed, Export, agree};
use super::out::Out;
use super::patient::Patient;
use super::wire::{
    DONE, ERRORS, FUA, NO_HOLE, REQUEST_MAGIC, SIMPLE_MAGIC, STRUCTURED_MAGIC, TYPE_ERROR, TYPE_OFFSET_DATA,
    command, read_u16, read_u32, read_u64,
};
use crate::{Disk, Errno};

/// Longest request of data.
pub(super) const MOST: u32 = 32 << 20;

/// A client that has not agreed by then leaves.
const HANDSHAKE: Duration = Duration::from_secs(30);

/// Bytes that a request without data counts as in flight.
const LEAST: usize = 256;

/// A request as it came.
struct NbdRequest {
    flags: u16,
    kind: u16,
    cookie: u64,
    offset: u64,
    length: u32,
}

impl NbdRequest {
    fn read(from: &mut impl Read) -> io::Result<NbdRequest> {
        if read_u32(from)? != REQUEST_MAGIC {
            return Err(io::Error::other("a request has no magic number"));
        }
        Ok(NbdRequest {
            flags: read_u16(from)?,
            kind: read_u16(from)?,
            cookie: read_u64(from)?,
            offset: read_u64(from)?,
            length: read_u32(from)?,
        })
    }

    /// Bytes that it counts as in flight.
    fn bytes(&self) -> usize {
        match self.kind {
            // A longer one is refused, without data.
            command::READ | command::WRITE => LEAST + self.length.min(MOST) as usize,
            _ => LEAST,
        }
    }
}

/// Answers, in the form that was agreed.
#[derive(Clone)]
struct Answers {
    out: Arc<Out>,
    structured: bool,
}

impl Answers {
    /// Answers a request that is no read.
    fn tell(&self, request: &NbdRequest, answer: Result<(), Errno>) {
        self.out.send(simple(request.cookie, answer, &[]), request.bytes());
    }

    /// Answers a read.
    fn data(&self, request: &NbdRequest, answer: Result<Vec<u8>, Errno>) {
        let bytes = match (answer, self.structured) {
            (Ok(data), false) => simple(request.cookie, Ok(()), &data),
            (Err(errno), false) => simple(request.cookie, Err(errno), &[]),
            (Ok(data), true) => {
                chunk(request.cookie, TYPE_OFFSET_DATA, &[&request.offset.to_be_bytes(), &data])
            }
            (Err(errno), true) => {
                let words = io::Error::from_raw_os_error(errno.0).to_string();
                let length = (words.len() as u16).to_be_bytes();
                chunk(request.cookie, TYPE_ERROR, &[&told(errno).to_be_bytes(), &length, words.as_bytes()])
            }
        };
        self.out.send(bytes, request.bytes());
    }
}

fn told(errno: Errno) -> u32 {
    let known = ERRORS.contains(&errno.0);
    (if known { errno.0 } else { libc::EIO }).cast_unsigned()
}

fn simple(cookie: u64, answer: Result<(), Errno>, data: &[u8]) -> Vec<u8> {
    let error = answer.err().map_or(0, told).to_be_bytes();
    [&SIMPLE_MAGIC.to_be_bytes()[..], &error, &cookie.to_be_bytes(), data].concat()
}

/// The only chunk of a structured reply.
fn chunk(cookie: u64, kind: u16, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let (magic, length) = (STRUCTURED_MAGIC.to_be_bytes(), (length as u32).to_be_bytes());
    let kinds = [DONE, kind].map(u16::to_be_bytes).concat();
    [&[&magic[..], &kinds, &cookie.to_be_bytes(), &length][..], parts].concat().concat()
}

/// Serves one client until it leaves or breaks the protocol. `all` counts bytes in flight.
pub(super) fn serve(
    stream: UnixStream,
    export: &Export,
    disk: &Disk,
    all: &Arc<AtomicUsize>,
) -> io::Result<()> {
    let mut patient = Patient { stream: &stream, until: Instant::now() + HANDSHAKE };
    let Some(Agreed { structured }) = agree(&mut patient, export)? else { return Ok(()) };
    patient.forget()?;
    let out = Arc::new(Out::new(stream.try_clone()?, Arc::clone(all)));
    let drain = Arc::clone(&out);
    let drainer = std::thread::Builder::new().name("nbd-out".to_owned()).spawn(move || drain.drain())?;
    let answers = Answers { out: Arc::clone(&out), structured };
    let mut from = io::BufReader::with_capacity(1 << 16, stream);
    let ended = requests(&mut from, &answers, export, disk);
    if ended.is_ok() {
        out.settle();
    }
    out.close();
    let _it_only_sends = drainer.join();
    ended
}

/// Serves requests until the client says that it leaves.
fn requests(from: &mut impl Read, answers: &Answers, export: &Export, disk: &Disk) -> io::Result<()> {
    loop {
        let request = NbdRequest::read(from)?;
        if request.kind == command::DISCONNECT {
            return Ok(());
        }
        if request.kind == command::WRITE && request.length > MOST {
            return Err(io::Error::other(format!("a write of {} bytes", request.length)));
        }
        if !answers.out.take(request.bytes()) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut data = vec![0; if request.kind == command::WRITE { request.length as usize } else { 0 }];
        from.read_exact(&mut data)?;
        match refuse(&request, export) {
            Some(errno) if request.kind == command::READ => answers.data(&request, Err(errno)),
            Some(errno) => answers.tell(&request, Err(errno)),
            None => carry_out(request, &data, answers, disk),
        }
    }
}

/// Reason why it cannot be done.
fn refuse(request: &NbdRequest, export: &Export) -> Option<Errno> {
    let known = match request.kind {
        // Of all commands FUA is taken, though it says nothing of some: so the specification wants it.
        command::READ | command::FLUSH | command::WRITE | command::TRIM => FUA,
        command::WRITE_ZEROES => FUA | NO_HOLE,
        _ => return Some(Errno(libc::EINVAL)),
    };
    let block = u64::from(export.block);
    let (offset, length) = (request.offset, u64::from(request.length));
    let end = offset.checked_add(length);
    let range = request.kind != command::FLUSH;
    if request.flags & !known != 0 || (request.kind == command::READ && request.length > MOST) {
        return Some(Errno(libc::EINVAL));
    }
    if range && end.is_none_or(|end| end > export.size) {
        let write = matches!(request.kind, command::WRITE | command::WRITE_ZEROES);
        return Some(Errno(if write { libc::ENOSPC } else { libc::EINVAL }));
    }
    let whole = offset.is_multiple_of(block) && length.is_multiple_of(block) && length > 0;
    (range && !whole).then_some(Errno(libc::EINVAL))
}

fn carry_out(request: NbdRequest, data: &[u8], answers: &Answers, disk: &Disk) {
    let (offset, length, through) = (request.offset, request.length, request.flags & FUA != 0);
    let (kind, no_hole) = (request.kind, request.flags & NO_HOLE != 0);
    let answers = answers.clone();
    if kind == command::READ {
        let into = vec![0; length as usize];
        return disk.read(offset, into, move |answer| answers.data(&request, answer));
    }
    let reply = Box::new(move |answer| answers.tell(&request, answer));
    match kind {
        command::WRITE => disk.write(offset, data, through, reply),
        command::FLUSH => disk.flush(reply),
        command::WRITE_ZEROES if no_hole => disk.write_zeros(offset, length.into(), through, reply),
        _ => disk.trim(offset, length.into(), through, reply),
    }
}

//! Who touches our own mount, and the loop device over it? A process apart.
//!
//! ```text
//!   serve ──asks──► keeper ──► DIRECTORY/disk, /dev/loopN ──► kernel ──► serve
//! ```
//!
//! Who waits for an answer of his own dies only when it comes, and while he waits the kernel keeps his end of the connection: a
//! server that was killed while it read its own disk would wait for ever. The keeper has no end of it. When the server dies,
//! however it does, the kernel fails what the keeper waits for; then its line ends, and it takes away what is left.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{NAME, unmount};
use crate::sys::{self, Apart, Loop};

/// Reads that measure the route.
const PROBES: usize = 401;

/// Length of such a read.
const LENGTH: usize = 4096;

/// Question to the keeper.
#[derive(Clone, Copy)]
pub(super) enum Ask {
    /// A loop device of so many bytes a block: its number.
    Block(u32),
    /// Median time of a read, ns.
    Probe,
    /// True when somebody has the loop device to himself.
    Mounted,
    /// The kernel forgets what it has read of it.
    Forget,
    /// The loop device goes, and the keeper.
    End,
}

impl Ask {
    fn bytes(self) -> [u8; 5] {
        let (kind, number) = match self {
            Ask::Block(size) => (0, size),
            Ask::Probe => (1, 0),
            Ask::Mounted => (2, 0),
            Ask::Forget => (3, 0),
            Ask::End => (4, 0),
        };
        let [a, b, c, d] = u32::to_ne_bytes(number);
        [kind, a, b, c, d]
    }

    fn read(from: &mut impl Read) -> io::Result<Ask> {
        let mut bytes = [0; 5];
        from.read_exact(&mut bytes)?;
        let [kind, a, b, c, d] = bytes;
        Ok(match kind {
            0 => Ask::Block(u32::from_ne_bytes([a, b, c, d])),
            1 => Ask::Probe,
            2 => Ask::Mounted,
            3 => Ask::Forget,
            _ => Ask::End,
        })
    }
}

/// The keeper, for its server.
#[derive(Debug)]
pub(super) struct Keeper(Apart);

impl Keeper {
    /// Starts it, before there is a connection of which it would have an end. `made` says that the directory goes with the mount.
    pub(super) fn start(directory: &Path, made: bool) -> io::Result<Keeper> {
        let directory = fs::canonicalize(directory)?;
        Ok(Keeper(sys::apart(move |line| keep(line, &directory, made))?))
    }

    pub(super) fn ask(&self, ask: Ask) -> io::Result<u64> {
        let mut line = &self.0.line;
        line.write_all(&ask.bytes())?;
        let (mut errno, mut value) = ([0; 4], [0; 8]);
        line.read_exact(&mut errno)?;
        line.read_exact(&mut value)?;
        match i32::from_ne_bytes(errno) {
            0 => Ok(u64::from_ne_bytes(value)),
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

/// Does what it is asked until it is to end, or until its server has died.
fn keep(mut line: UnixStream, directory: &Path, made: bool) {
    let mut keep = Keep { file: directory.join(NAME), over: None };
    while let Ok(ask) = Ask::read(&mut line) {
        let answer = keep.answer(ask);
        let errno = answer.as_ref().err().map_or(0, |error| error.raw_os_error().unwrap_or(libc::EIO));
        let bytes = [&errno.to_ne_bytes()[..], &answer.unwrap_or(0).to_ne_bytes()].concat();
        let told = line.write_all(&bytes);
        if matches!(ask, Ask::End) && told.is_ok() {
            return;
        }
    }
    drop(keep);
    unmount(directory);
    if made {
        let _others_may_use_it = fs::remove_dir(directory);
    }
}

struct Keep {
    file: PathBuf,
    over: Option<Loop>,
}

impl Keep {
    fn answer(&mut self, ask: Ask) -> io::Result<u64> {
        match ask {
            Ask::Block(size) => {
                let file = OpenOptions::new().read(true).write(true).open(&self.file)?;
                Ok(self.over.insert(Loop::over(&file, size)?).number)
            }
            Ask::Probe => probe(self.over.as_ref().map_or(&self.file, |over| &over.path)),
            Ask::Mounted => Ok(self.over.as_ref().is_some_and(Loop::is_mounted).into()),
            Ask::Forget => self.over.as_ref().map_or(Ok(()), Loop::forget).map(|()| 0),
            Ask::End => {
                self.over = None;
                Ok(0)
            }
        }
    }
}

/// Median time of a read, ns.
fn probe(path: &Path) -> io::Result<u64> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path)?;
    let mut room = vec![0; 2 * LENGTH];
    let first = room.as_ptr().align_offset(LENGTH);
    let into = &mut room[first..first + LENGTH];
    let mut took = (0..PROBES).map(|_| timed(&file, into)).collect::<io::Result<Vec<u64>>>()?;
    took.sort_unstable();
    Ok(took[PROBES / 2])
}

fn timed(file: &File, into: &mut [u8]) -> io::Result<u64> {
    let start = Instant::now();
    file.read_exact_at(into, 0)?;
    Ok(start.elapsed().as_nanos() as u64)
}

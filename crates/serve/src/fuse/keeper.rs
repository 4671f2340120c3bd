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

/// Question to the keeper. One that is none of the constants asks for a loop device of so many bytes a block: its number.
pub(super) type Ask = u32;
/// Asks for the median time of a read, ns.
pub(super) const PROBE: Ask = 1;
/// Asks whether somebody has the loop device to himself.
pub(super) const MOUNTED: Ask = 2;
/// Has the kernel forget what it has read of the loop device.
pub(super) const FORGET: Ask = 3;
/// Has the loop device go, and the keeper.
pub(super) const END: Ask = 4;

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
        let (mut line, mut answer) = (&self.0.line, [0; 8]);
        line.write_all(&ask.to_ne_bytes())?;
        line.read_exact(&mut answer)?;
        // A number, or a negative error.
        let answer = i64::from_ne_bytes(answer);
        u64::try_from(answer).map_err(|_| io::Error::from_raw_os_error(-answer as i32))
    }
}

/// Does what it is asked until it is to end, or until its server has died.
fn keep(mut line: UnixStream, directory: &Path, made: bool) {
    let mut keep = Keep { file: directory.join(NAME), over: None };
    let mut ask = [0; 4];
    while line.read_exact(&mut ask).is_ok() {
        let ask = Ask::from_ne_bytes(ask);
        let errno = |error: io::Error| -i64::from(error.raw_os_error().unwrap_or(libc::EIO));
        let answer = keep.answer(ask).map_or_else(errno, u64::cast_signed);
        if line.write_all(&answer.to_ne_bytes()).is_ok() && ask == END {
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
            PROBE => probe(self.over.as_ref().map_or(&self.file, |over| &over.path)),
            MOUNTED => Ok(self.over.as_ref().is_some_and(Loop::is_mounted).into()),
            FORGET => self.over.as_ref().map_or(Ok(()), Loop::forget).map(|()| 0),
            END => {
                self.over = None;
                Ok(0)
            }
            block_bytes => {
                let file = OpenOptions::new().read(true).write(true).open(&self.file)?;
                Ok(self.over.insert(Loop::over(&file, block_bytes)?).number)
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

//! How is a file read that keeps its reader waiting, such as a FIFO to which nobody writes?
//!
//! Until a signal wants the program to end; start reading at [`open`].

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::Ordering;

use crate::{signals, sys};

/// So often the flag is looked at, in case the signal came just before the wait.
const LOOK_EVERY_MS: i32 = 100;

struct Awaited(File);

/// Opens it for reading, which waits for nobody. Reading waits, and fails once [`signals::stop_flag`] is set.
pub fn open(path: &Path) -> io::Result<impl Read + use<>> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    Ok(Awaited(file))
}

impl Read for Awaited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stop = signals::stop_flag();
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(io::Error::other("interrupted"));
            }
            if sys::readable(&self.0, LOOK_EVERY_MS)? {
                match self.0.read(buffer) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    read => return read,
                }
            }
        }
    }
}

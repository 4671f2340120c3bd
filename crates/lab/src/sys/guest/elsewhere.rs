//! Other processors: this program is no guest of the lab there, and `Lab::open` says so.

use std::io;
use std::os::fd::RawFd;

const NO_GUEST: &str = "only an x86-64 program is the lab's guest";

pub(crate) fn write_port(_bytes: &[u8]) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, NO_GUEST))
}

pub(crate) fn stop_machine() -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, NO_GUEST))
}

macro_rules! mark {
    ($($name:ident)*) => {
        $(pub(crate) fn $name() {
            unreachable!("{NO_GUEST}");
        })*
    };
}

mark!(mark_begin mark_end mark_count mark_trace mark_dump mark_order);

pub(crate) fn ticks() -> u64 {
    unreachable!("{NO_GUEST}")
}

pub(crate) fn transfer(_write: bool, _file: RawFd, _buffer: &mut [u8], _offset: u64) -> i64 {
    unreachable!("{NO_GUEST}")
}

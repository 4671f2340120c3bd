//! Other processors: nothing is stepped there, and [`cost`](crate::cost) says so before it begins.

use std::io;

use super::Arguments;

fn unsupported<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn time_stamp() -> u64 {
    0
}

pub(crate) fn is_64_bit(_tid: i32) -> io::Result<bool> {
    unsupported()
}

pub(crate) fn instruction_pointer(_tid: i32) -> io::Result<u64> {
    unsupported()
}

pub(crate) fn arguments(_tid: i32) -> io::Result<Arguments> {
    unsupported()
}

pub(crate) fn result(_tid: i32) -> io::Result<i64> {
    unsupported()
}

pub(crate) fn show_clock(_tid: i32, _ticks: u64) -> io::Result<()> {
    unsupported()
}

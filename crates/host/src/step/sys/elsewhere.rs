//! Other processors: nothing is stepped there, and [`cost`](crate::step::cost) says so before it begins.

use std::io;

use super::Arguments;

fn unsupported<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(in crate::step) fn is_64_bit(_tid: i32) -> io::Result<bool> {
    unsupported()
}

pub(in crate::step) fn instruction_pointer(_tid: i32) -> io::Result<u64> {
    unsupported()
}

pub(in crate::step) fn arguments(_tid: i32) -> io::Result<Arguments> {
    unsupported()
}

pub(in crate::step) fn result(_tid: i32) -> io::Result<i64> {
    unsupported()
}

pub(in crate::step) fn show_clock(_tid: i32, _ticks: u64) -> io::Result<()> {
    unsupported()
}

//! What is a machine and its drive, in as few numbers as points can tell? And how fast would it be?
//!
//! | number | memory (`dram`) | flash | cloud (a disk in memory, `zero`: only the first two rows) |
//! | --- | --- | --- | --- |
//! | `Host`, `Switch`, `Uring`, `Aio` | clocks of an I/O, more where its thread slept, more by `io_uring`, by `libaio` | the same | the same |
//! | `CopyRead`, `CopyWrite` | - (a disk in memory: time of a byte that the caller copies) | - | - |
//! | `Delay` | time that keeps nobody busy | the same | latency of a read |
//! | `Command`, `WriteCommand` | the controller, one at a time | the same, and of a write | - |
//! | `Dies`, `Read`, `Write` | units, and their time for a page | dies; to sense, to program | -; -; latency of a write |
//! | `Byte` | time of a byte on the link | the same | a byte's tokens |
//! | `Cap` | - | - | an I/O's tokens |
//! | `Flush` | what a flush takes beyond the way of its writes | the same | the same |
//!
//! A number that is absent costs nothing; a write that has none costs what a read does.

use iostack_model::Engine;

use super::network::{Station, rate};
use super::points::Point;

/// Kind of the simulated drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drive {
    /// Written in place: `dram`.
    Memory,
    /// Behind a buffer and a translation layer, with pages of so many bytes.
    Flash(u64),
    /// Held back by tokens; I/Os that follow each other may share one.
    Cloud { merges: bool },
    /// A disk in memory whose caller moves the data: zram, brd.
    Copied,
}

/// A number of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Host,
    Switch,
    Uring,
    Aio,
    CopyRead,
    CopyWrite,
    Delay,
    Command,
    WriteCommand,
    Dies,
    Read,
    Write,
    Byte,
    Cap,
    Flush,
}

/// Count of the numbers.
pub(crate) const COUNT: usize = Number::Flush as usize + 1;

/// Values by number: ns, but for the dies; 0 is absent.
pub(crate) type Numbers = [f64; COUNT];

/// Page of a drive that is written in place.
pub(crate) const PAGE: u64 = 4096;
/// Bytes that share a token of a volume that merges.
pub(crate) const TOKEN: f64 = 262_144.0;
/// No drive has more dies.
pub(crate) const DIES_MOST: f64 = 1024.0;

impl Drive {
    /// Its name as a kind of sheet.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Drive::Memory => "dram",
            Drive::Flash(_) => "flash",
            Drive::Cloud { .. } => "cloud",
            Drive::Copied => "zero",
        }
    }

    /// Numbers that it has, and those among them that it cannot do without.
    pub(crate) fn numbers(self) -> (&'static [Number], &'static [Number]) {
        use Number::{
            Aio, Byte, Cap, Command, CopyRead, CopyWrite, Delay, Dies, Host, Read, Switch, Uring, Write,
            WriteCommand,
        };
        match self {
            Drive::Memory => {
                (&[Host, Switch, Uring, Aio, Delay, Command, Dies, Read, Write, Byte], &[Dies, Read])
            }
            Drive::Copied => (&[Host, Uring, Aio, CopyRead, CopyWrite], &[Host]),
            Drive::Flash(_) => (
                &[Host, Switch, Uring, Aio, Delay, Command, WriteCommand, Dies, Read, Write, Byte],
                &[Dies, Read],
            ),
            Drive::Cloud { .. } => (&[Host, Switch, Uring, Aio, Delay, Write, Byte, Cap], &[Delay]),
        }
    }

    /// I/Os a second of a load.
    pub(crate) fn iops(self, numbers: &Numbers, point: &Point, cores: u32) -> f64 {
        let of = |number: Number| numbers[number as usize];
        let (read, write, block) = (point.reads(), 1.0 - point.reads(), point.load.2);
        let or = |number: Number, other: Number| if of(number) > 0.0 { of(number) } else { of(other) };
        let threads = f64::from(point.load.4.min(cores.max(1)));
        let host = host(numbers, point);
        let seats = Station { service: host, servers: threads, used: 1.0, pooled: true };
        let dies = of(Number::Dies).max(1.0);
        let unit = match self {
            Drive::Flash(page) => page,
            _ => PAGE,
        };
        let pages = block.div_ceil(unit) as f64;
        let on_dies = |time: f64| Station {
            service: time * (pages / dies).max(1.0),
            servers: dies,
            used: pages.min(dies),
            pooled: point.load.1,
        };
        let link = |bytes: u64| Station::one(of(Number::Byte) * bytes as f64);
        let closed = |stations: &[Station], delay: f64| rate(stations, delay, point.in_flight(), true);
        1e9 * match self {
            Drive::Memory => {
                let page = read * of(Number::Read) + write * or(Number::Write, Number::Read);
                let moved = block.next_multiple_of(PAGE);
                closed(
                    &[seats, Station::one(of(Number::Command)), on_dies(page), link(moved)],
                    of(Number::Delay),
                )
            }
            Drive::Flash(page) => {
                let command = read * of(Number::Command) + write * or(Number::WriteCommand, Number::Command);
                let sense = Station { service: read * on_dies(of(Number::Read)).service, ..on_dies(0.0) };
                let programs = write * of(Number::Write) * block.max(PAGE) as f64 / page as f64 / dies;
                let most = 1.0 / (programs + read * of(Number::Read) * pages / dies).max(1e-9);
                closed(&[seats, Station::one(command), sense, link(block)], of(Number::Delay)).min(most)
            }
            Drive::Copied => closed(&[seats], 0.0),
            Drive::Cloud { merges } => {
                let latency = read * of(Number::Delay) + write * or(Number::Write, Number::Delay);
                let shares = if merges && point.load.1 { (block as f64 / TOKEN).min(1.0) } else { 1.0 };
                let tokens = (shares * of(Number::Cap)).max(of(Number::Byte) * block as f64);
                closed(&[seats], latency).min(1.0 / tokens.max(1e-9))
            }
        }
    }
}

/// Time of the host for an I/O. An interface whose own number is absent costs what the other does.
pub(crate) fn host(numbers: &Numbers, point: &Point) -> f64 {
    let of = |number: Number| numbers[number as usize];
    let or = |number: Number, other: Number| if of(number) > 0.0 { of(number) } else { of(other) };
    let several = match point.engine {
        Engine::Libaio => or(Number::Aio, Number::Uring),
        engine if engine.is_synchronous() => 0.0,
        _ => or(Number::Uring, Number::Aio),
    };
    let byte = point.reads() * of(Number::CopyRead)
        + (1.0 - point.reads()) * or(Number::CopyWrite, Number::CopyRead);
    of(Number::Host) + point.sleeps * of(Number::Switch) + several + byte * point.load.2 as f64
}

//! Which interface of the kernel carries the I/O?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::NameAct;

/// The kernel interface that carries the I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// pread/pwrite; depth is always 1.
    Psync,
    /// preadv2/pwritev2; depth is always 1. `hipri` polls for the completion.
    Pvsync2 {
        /// `RWF_HIPRI`: the call polls for its completion.
        hipri: bool,
    },
    /// `io_submit` and `io_getevents`.
    Libaio,
    /// `aio_read` and `aio_write` of the C library, whose threads make the calls.
    #[serde(rename = "posixaio")]
    PosixAio,
    /// Requests through the rings of `io_uring`.
    IoUring {
        /// Buffers registered once (`IORING_REGISTER_BUFFERS`).
        fixed_buffers: bool,
        /// Files registered once (`IORING_REGISTER_FILES`).
        registered_files: bool,
        /// `IORING_SETUP_IOPOLL`: completions are polled, needs poll queues.
        poll: bool,
        /// `IORING_SETUP_SQPOLL`: a kernel thread submits.
        submit_poll: bool,
    },
    /// memcpy from or to a shared mapping; depth is always 1.
    Mmap,
    /// Nothing is asked of anybody: each I/O is done at once, which leaves the cost of asking.
    Null,
    /// fallocate: reads within the file's length, writes also behind it, trims make holes.
    #[serde(rename = "falloc")]
    Fallocate,
    /// Each write cuts the file, or makes it longer, to where it begins.
    #[serde(rename = "ftruncate")]
    Truncate,
    /// No file is read or written: each I/O does this to one.
    Names(NameAct),
}

/// Facts of an engine by its kind alone.
struct Row {
    /// Engine with nothing registered or polled.
    engine: Engine,
    /// Its name: ours and fio's.
    name: &'static str,
    /// Further names that fio has for it.
    also: &'static [&'static str],
    /// One thread has at most one I/O in flight, whatever depth is asked.
    synchronous: bool,
    /// True when what is counted as bytes reaches a file or a device.
    moves_data: bool,
}

const fn row(engine: Engine, name: &'static str, synchronous: bool, moves_data: bool) -> Row {
    Row { engine, name, also: &[], synchronous, moves_data }
}

/// Every engine but those that act on names ([`NameAct`] names them).
const ROWS: [Row; 9] = [
    Row { also: &["sync"], ..row(Engine::Psync, "psync", true, true) },
    Row { also: &["vsync", "pvsync"], ..row(Engine::Pvsync2 { hipri: false }, "pvsync2", true, true) },
    row(Engine::Libaio, "libaio", false, true),
    row(Engine::PosixAio, "posixaio", false, true),
    row(Engine::IO_URING, "io_uring", false, true),
    row(Engine::Mmap, "mmap", true, true),
    row(Engine::Null, "null", false, false),
    row(Engine::Fallocate, "falloc", true, false),
    row(Engine::Truncate, "ftruncate", true, false),
];

impl Engine {
    /// `io_uring` with nothing registered or polled.
    pub const IO_URING: Engine =
        Engine::IoUring { fixed_buffers: false, registered_files: false, poll: false, submit_poll: false };

    /// True when one thread has at most one I/O in flight, whatever depth is asked.
    pub fn is_synchronous(self) -> bool {
        self.row().is_none_or(|row| row.synchronous)
    }

    /// True when what is counted as bytes reaches a file or a device.
    pub fn moves_data(self) -> bool {
        self.row().is_some_and(|row| row.moves_data)
    }

    /// The engine of this name, with nothing registered or polled.
    pub fn named(name: &str) -> Option<Engine> {
        let found = ROWS.iter().find(|row| row.name == name).map(|row| row.engine);
        found.or_else(|| NameAct::named(name).map(Engine::Names))
    }

    /// The engine that fio calls so, which has several names for some.
    pub fn named_by_fio(name: &str) -> Option<Engine> {
        let also = ROWS.iter().find(|row| row.also.contains(&name)).map(|row| row.engine);
        also.or_else(|| Engine::named(name))
    }

    /// The name of the engine, which is fio's too.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Names(act) => act.name(),
            other => other.row().map_or("", |row| row.name),
        }
    }

    /// Its row, whatever is registered or polled; none of what acts on names.
    fn row(self) -> Option<&'static Row> {
        ROWS.iter().find(|row| std::mem::discriminant(&row.engine) == std::mem::discriminant(&self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_that_of_its_engine_whatever_is_registered_or_polled() {
        for row in &ROWS {
            assert_eq!((Engine::named(row.name), row.engine.name()), (Some(row.engine), row.name));
        }
        let polled =
            Engine::IoUring { fixed_buffers: true, registered_files: true, poll: true, submit_poll: true };
        assert_eq!((polled.name(), Engine::Pvsync2 { hipri: true }.name()), ("io_uring", "pvsync2"));
        assert_eq!((Engine::named_by_fio("vsync"), Engine::named("vsync")), (Engine::named("pvsync2"), None));
        assert_eq!((Engine::named_by_fio("sync"), Engine::named_by_fio("no")), (Some(Engine::Psync), None));
    }

    #[test]
    fn what_holds_a_depth_and_what_moves_data_is_said_of_each() {
        let of = |asked: fn(Engine) -> bool| {
            let names = ROWS.iter().filter(|row| asked(row.engine)).map(|row| row.name);
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of(|engine| !engine.is_synchronous()), "libaio posixaio io_uring null");
        assert_eq!(of(|engine| !engine.moves_data()), "null falloc ftruncate");
        let act = Engine::Names(NameAct::named("filecreate").expect("fio's"));
        assert!(act.is_synchronous() && !act.moves_data());
    }
}

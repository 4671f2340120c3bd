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
        /// `RWF_HIPRI`.
        hipri: bool,
    },
    /// `io_submit` and `io_getevents`.
    Libaio,
    /// `aio_read` and `aio_write` of the C library, whose threads make the calls.
    #[serde(rename = "posixaio")]
    PosixAio,
    /// `io_uring`.
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

impl Engine {
    /// `io_uring` with nothing registered or polled.
    pub const IO_URING: Engine =
        Engine::IoUring { fixed_buffers: false, registered_files: false, poll: false, submit_poll: false };

    /// True when one thread has at most one I/O in flight, whatever depth is asked.
    pub const fn is_synchronous(self) -> bool {
        !matches!(self, Engine::Libaio | Engine::PosixAio | Engine::IoUring { .. } | Engine::Null)
    }

    /// True when what is counted as bytes reaches a file or a device.
    pub const fn moves_data(self) -> bool {
        !matches!(self, Engine::Null | Engine::Fallocate | Engine::Truncate | Engine::Names(_))
    }

    /// The engine of one of fio's names, with nothing registered or polled.
    pub fn named(name: &str) -> Option<Engine> {
        let plain = [
            Engine::Psync,
            Engine::Pvsync2 { hipri: false },
            Engine::Libaio,
            Engine::PosixAio,
            Engine::IO_URING,
            Engine::Mmap,
            Engine::Null,
            Engine::Fallocate,
            Engine::Truncate,
        ];
        let found = plain.into_iter().find(|engine| engine.name() == name);
        found.or_else(|| NameAct::named(name).map(Engine::Names))
    }

    /// fio's name of the engine.
    pub const fn name(self) -> &'static str {
        match self {
            Engine::Psync => "psync",
            Engine::Pvsync2 { .. } => "pvsync2",
            Engine::Libaio => "libaio",
            Engine::PosixAio => "posixaio",
            Engine::IoUring { .. } => "io_uring",
            Engine::Mmap => "mmap",
            Engine::Null => "null",
            Engine::Fallocate => "falloc",
            Engine::Truncate => "ftruncate",
            Engine::Names(act) => act.name(),
        }
    }
}

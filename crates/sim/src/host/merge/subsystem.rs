//! How does a request reach a drive?

use crate::adapter::Copies;

/// Way in which requests reach the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Subsystem {
    #[default]
    Async,
    Sync,
    Stm,
    Atm,
    Hybrid,
    /// The driver copies in the caller's context.
    Caller,
    /// A thread of the driver's copies.
    Worker,
}

impl Subsystem {
    pub(crate) fn named(word: &str, copies: Copies) -> Subsystem {
        match (copies, word) {
            (Copies::Caller, _) => Subsystem::Caller,
            (Copies::Thread, _) => Subsystem::Worker,
            (_, "sync") => Subsystem::Sync,
            (_, "stm") => Subsystem::Stm,
            (_, "atm") => Subsystem::Atm,
            (_, "hybrid") => Subsystem::Hybrid,
            _ => Subsystem::Async,
        }
    }

    /// Somebody polls, or spins in line; else it is an interrupt that brings the end.
    pub(crate) fn polls(self) -> bool {
        self != Subsystem::Async
    }

    /// The next command is prepared while the drive works on the present one.
    pub(super) fn stages(self) -> bool {
        self == Subsystem::Hybrid
    }

    /// Requests pass a queue, and its scheduler.
    pub(crate) fn queues(self) -> bool {
        matches!(self, Subsystem::Async | Subsystem::Atm | Subsystem::Worker)
    }

    /// Threads of the kernel's own that dispatch, for each drive.
    pub(super) fn workers(self) -> usize {
        match self {
            Subsystem::Atm | Subsystem::Worker => 1,
            // While one polls, the other prepares.
            Subsystem::Hybrid => 2,
            _ => 0,
        }
    }
}

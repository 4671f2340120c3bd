//! What is a die doing, and who waits for it?
//!
//! ```text
//!            ┌► Sensing ──► (Register) ──► Leaving ─┐        reads: cells, then the data leaves over the channel
//!     Idle ──┼► Programming ◄──► Suspended ─────────┼► Idle  writes: data comes over the channel, then cells
//!            └► Collecting: sense, leave, program, erase ┘   one step at a time, so that reads can come between
//! ```
//!
//! A die does one thing at a time and is busy until its data has left the page register.

use iostack_model::Stage;

use super::buffer::NONE;
use super::work::{Collector, PlaneWork};
use crate::engine::{Account, Time};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Idle,
    /// Host reads: the cells.
    Sensing,
    /// Sensed, but the cache register still holds what was sensed before.
    Register,
    /// Data of host reads leaves.
    Leaving,
    /// Pages of the write buffer.
    Programming,
    /// Blocks of a zone that is reset.
    Resetting,
    /// Pages to be moved: the cells.
    MoveSensing,
    /// Sensed pages leave.
    MoveLeaving,
    /// Moved pages are programmed elsewhere.
    MoveProgramming,
    Erasing,
    /// The same with pages of the blocks with one bit a cell, on their way to others.
    FoldSensing,
    FoldLeaving,
    FoldProgramming,
    FoldErasing,
    /// Interrupting a program or an erase.
    Suspending,
    /// Reading or programming pages of the mapping table.
    Table,
    /// Sensing a page for itself.
    Patrol,
}

/// Pages of the mapping table that a die has to read and to program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chores {
    pub(super) reads: u32,
    pub(super) programs: u32,
}

impl Phase {
    /// Garbage collection has the die.
    #[inline]
    pub(super) fn collects(self) -> bool {
        (Phase::MoveSensing as u8..=Phase::Erasing as u8).contains(&(self as u8))
    }

    /// Folding has the die.
    #[inline]
    pub(super) fn folds(self) -> bool {
        (Phase::FoldSensing as u8..=Phase::FoldErasing as u8).contains(&(self as u8))
    }
}

/// Times of collecting and of folding, ns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moves {
    pub(super) collected: u64,
    pub(super) folded: u64,
}

impl Moves {
    /// The time since then, as stages of whoever waited.
    #[inline]
    pub(super) fn since(self, then: Moves) -> [(Stage, u64); 2] {
        [(Stage::Collect, self.collected - then.collected), (Stage::Fold, self.folded - then.folded)]
    }
}

/// A read that waits for a die or is served by it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadSlot {
    pub(super) place: u32,
    pub(super) next: u32,
    /// Erases of the die when it was looked up.
    pub(super) erases: u32,
    pub(super) die: u16,
    /// A part of a larger request; not the first of them.
    pub(super) child: bool,
    pub(super) rest: bool,
    /// The page is in the blocks with one bit a cell.
    pub(super) slc: bool,
    /// It is a page of the mapping table.
    pub(super) table: bool,
    pub(super) since: Time,
    /// Time that moving had taken when the wait began: of the die for reads, of all dies for writes.
    pub(super) moved: Moves,
    /// Time of dies that wrote or collected, of all.
    pub(super) worked: u64,
}

impl ReadSlot {
    pub(super) const EMPTY: ReadSlot = ReadSlot {
        place: 0,
        next: NONE,
        erases: 0,
        die: 0,
        child: false,
        rest: false,
        slc: false,
        table: false,
        since: 0,
        moved: Moves { collected: 0, folded: 0 },
        worked: 0,
    };
}

#[derive(Clone, Debug, Default)]
pub(super) struct Die {
    pub(super) phase: Phase,
    /// End of the phase; a wake-up at another time is a stale one.
    pub(super) until: Time,
    pub(super) sensing_since: Time,
    /// Moment at which the data of a program was in the register.
    pub(super) cells_from: Time,
    pub(super) account: Account,
    pub(super) channel: u16,
    /// Place among the dies in the order of allocation.
    pub(super) rank: u16,
    /// Reads that wait: first and last.
    pub(super) reads: (u32, u32),
    /// Reads that are being served: first, and how many have not left.
    pub(super) active: u32,
    pub(super) left: u32,
    pub(super) register_until: Time,
    /// Pages of the write buffer that are being programmed.
    pub(super) group: Vec<u32>,
    /// The plane that the next program begins with.
    pub(super) turn: u32,
    /// Phase that was interrupted, and the time that its cells still need.
    pub(super) suspended: Option<(Phase, u64)>,
    /// So often it was.
    pub(super) suspensions: u32,
    /// Turns of its patrol that are through.
    pub(super) patrols: u64,
    /// Reads that were served while something else waited.
    pub(super) overtaken: u32,
    /// End of the last step that was no read.
    pub(super) worked_at: Time,
    pub(super) collector: Collector,
    pub(super) fold: Fold,
    /// A wake-up for the data of the present program was asked for.
    pub(super) asked: bool,
    /// There may be something to collect or to fold.
    pub(super) dirty: bool,
    pub(super) erases: u32,
    pub(super) chores: Chores,
    /// Time that collection and folding had the die, until the present step.
    moved: Moves,
    /// Start of the present step of theirs.
    moving_since: Time,
}

impl Die {
    pub(super) fn new(channel: u16, rank: u16, planes: usize) -> Die {
        let collector = Collector { planes: vec![PlaneWork::default(); planes], ..Collector::default() };
        Die { channel, rank, collector, reads: (NONE, NONE), active: NONE, dirty: true, ..Die::default() }
    }

    /// Time that collection and folding have had the die.
    #[inline]
    pub(super) fn moved(&self, now: Time) -> Moves {
        let mut moved = self.moved;
        if self.phase.collects() {
            moved.collected += now - self.moving_since;
        } else if self.phase.folds() {
            moved.folded += now - self.moving_since;
        }
        moved
    }

    #[inline]
    pub(super) fn turn_to(&mut self, phase: Phase, now: Time) {
        self.moved = self.moved(now);
        self.moving_since = now;
        self.phase = phase;
    }
}

/// Dies that are idle, by their rank.
#[derive(Clone, Debug)]
pub(super) struct Idle {
    words: Vec<u64>,
    count: u32,
}

impl Idle {
    /// All of them.
    pub(super) fn all(count: usize) -> Idle {
        let mut idle = Idle { words: vec![0; count.div_ceil(64)], count: 0 };
        (0..count as u16).for_each(|rank| idle.add(rank));
        idle
    }

    #[inline]
    pub(super) fn add(&mut self, rank: u16) {
        let word = &mut self.words[usize::from(rank / 64)];
        self.count += u32::from(*word >> (rank % 64) & 1 == 0);
        *word |= 1 << (rank % 64);
    }

    #[inline]
    pub(super) fn remove(&mut self, rank: u16) {
        let word = &mut self.words[usize::from(rank / 64)];
        self.count -= (*word >> (rank % 64) & 1) as u32;
        *word &= !(1 << (rank % 64));
    }

    /// The first from `rank` on.
    pub(super) fn from(&self, rank: usize) -> Option<u16> {
        if self.count == 0 || rank >= self.words.len() * 64 {
            return None;
        }
        let mut index = rank / 64;
        let mut word = self.words[index] & (u64::MAX << (rank % 64));
        while word == 0 {
            index += 1;
            word = *self.words.get(index)?;
        }
        Some((index * 64) as u16 + word.trailing_zeros() as u16)
    }
}

/// Meter of writing and moving, of all dies: it tells which share of a wait collection and folding caused.
#[derive(Clone, Debug, Default)]
pub(super) struct Meter {
    /// Dies at work, and those of them that collect and fold.
    working: u64,
    collecting: u64,
    folding: u64,
    worked: u64,
    moved: Moves,
    at: Time,
}

impl Meter {
    /// Times until now: of dies collecting and folding, and of dies writing or moving.
    pub(super) fn read(&mut self, now: Time) -> (Moves, u64) {
        // One step ends and the next begins at the same moment.
        if now == self.at {
            return (self.moved, self.worked);
        }
        let time = now - self.at;
        self.worked += self.working * time;
        self.moved.collected += self.collecting * time;
        self.moved.folded += self.folding * time;
        self.at = now;
        (self.moved, self.worked)
    }

    /// A die begins or ends a program or a step of moving.
    pub(super) fn change(&mut self, now: Time, begins: bool, phase: Phase) {
        self.read(now);
        let change = |count: &mut u64, by: bool| {
            *count = if begins { *count + u64::from(by) } else { *count - u64::from(by) };
        };
        change(&mut self.working, true);
        change(&mut self.collecting, phase.collects());
        change(&mut self.folding, phase.folds());
    }
}

/// Progress of folding in a die's log.
#[derive(Clone, Debug, Default)]
pub(super) struct Fold {
    /// Pages that were read: number, and place in the log.
    pub(super) held: Vec<(u32, u32)>,
    /// Pages of the log that these were among.
    pub(super) taken: u32,
    /// Pages of the log that are folded and not yet erased.
    pub(super) folded: u32,
    /// Pages that the host may write to the last room of the log before more is folded, in parts of [`PAGE`](super::work::PAGE).
    pub(super) earned: i64,
}

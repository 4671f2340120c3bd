//! What is a die doing, and who waits for it?
//!
//! ```text
//!            ┌► Sensing ──► (Register) ──► Leaving ─┐        reads: cells, then the data leaves over the channel
//!     Idle ──┼► Programming ◄──► Suspended ─────────┼► Idle  writes: data comes over the channel, then cells
//!            └► Collecting: sense, leave, program, erase ┘   one step at a time, so that reads can come between
//! ```
//!
//! A die does one thing at a time and is busy until its data has left the page register.

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
    /// Pages to be moved: the cells.
    MoveSensing,
    /// The same of pages of the blocks with one bit a cell, on their way to others.
    FoldSensing,
    /// Sensed pages leave, to be moved or folded.
    MoveLeaving,
    /// Moved or folded pages are programmed elsewhere.
    MoveProgramming,
    Erasing,
    FoldErasing,
    /// Interrupting a program or an erase.
    Suspending,
}

impl Phase {
    /// Garbage collection or folding has the die.
    #[inline]
    pub(super) fn collects(self) -> bool {
        (Phase::MoveSensing as u8..=Phase::FoldErasing as u8).contains(&(self as u8))
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
    pub(super) since: Time,
    /// Time that collection had taken when the wait began: of the die for reads, of all dies for writes.
    pub(super) collected: u64,
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
        since: 0,
        collected: 0,
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
    /// Time that collection had the die, until the present step.
    collected: u64,
    /// Start of the present step of collection.
    collecting_since: Time,
}

impl Die {
    pub(super) fn new(channel: u16, rank: u16, planes: usize) -> Die {
        let collector = Collector { planes: vec![PlaneWork::default(); planes], ..Collector::default() };
        Die { channel, rank, collector, reads: (NONE, NONE), active: NONE, dirty: true, ..Die::default() }
    }

    /// Time that collection has had the die.
    #[inline]
    pub(super) fn collected(&self, now: Time) -> u64 {
        self.collected + if self.phase.collects() { now - self.collecting_since } else { 0 }
    }

    #[inline]
    pub(super) fn turn_to(&mut self, phase: Phase, now: Time) {
        if self.phase.collects() || phase.collects() {
            self.collected = self.collected(now);
            self.collecting_since = now;
        }
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

/// Meter of writing and collecting, of all dies: it tells which share of a wait collection caused.
#[derive(Clone, Debug, Default)]
pub(super) struct Meter {
    working: u64,
    collecting: u64,
    worked: u64,
    collected: u64,
    at: Time,
}

impl Meter {
    /// Times until now: of dies collecting, and of dies writing or collecting.
    pub(super) fn read(&mut self, now: Time) -> (u64, u64) {
        // One step ends and the next begins at the same moment.
        if now == self.at {
            return (self.collected, self.worked);
        }
        self.worked += self.working * (now - self.at);
        self.collected += self.collecting * (now - self.at);
        self.at = now;
        (self.collected, self.worked)
    }

    /// A die begins or ends a program or a step of collection.
    pub(super) fn change(&mut self, now: Time, begins: bool, collects: bool) {
        self.read(now);
        let (working, collecting) = (1, u64::from(collects));
        if begins {
            (self.working, self.collecting) = (self.working + working, self.collecting + collecting);
        } else {
            (self.working, self.collecting) = (self.working - working, self.collecting - collecting);
        }
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
}

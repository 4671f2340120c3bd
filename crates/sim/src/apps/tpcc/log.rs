//! Who commits with whom?
//!
//! The redo log is a ring of blocks that is written in order. A commit is durable when everything up to it was written and
//! flushed. In a group, the first that finds nobody flushing writes for all that came until then; the others wait for the
//! next. In series, each holds a mutex from its first byte to its flush.

use iostack_model::Commit;

use crate::apps::application::{Part, Step};
use crate::apps::lock::Gate;

/// Of the log, a tenth is kept free, as `InnoDB` keeps it; pages are written when an eighth of the rest is left, and
/// transactions wait when a sixteenth is (`log_calc_max_ages` of log0log.c).
const USABLE: f64 = 0.9;

/// The redo log.
#[derive(Clone, Debug)]
pub(super) struct Log {
    first: u64,
    bytes: u64,
    block: u64,
    /// Bytes that transactions have put in, from 1 on so that 0 is no position.
    appended: u64,
    /// Bytes that are on the medium.
    flushed: u64,
    /// Somebody writes up to here.
    flushing: Option<u64>,
    waiting: Vec<u32>,
    /// The mutex of commits in series.
    pub(super) turn: Option<Gate>,
    aging: u64,
    old: u64,
}

impl Log {
    pub(super) fn new(commit: Commit, first: u64, bytes: u64, block: u64) -> Log {
        let usable = bytes as f64 * USABLE;
        Log {
            first,
            bytes,
            block,
            appended: 1,
            flushed: 1,
            flushing: None,
            waiting: Vec::new(),
            turn: (commit == Commit::Serial).then(|| Gate::new(1)),
            aging: (usable * 7.0 / 8.0) as u64,
            old: (usable * 15.0 / 16.0) as u64,
        }
    }

    /// Where the next byte goes: the position of a change that is made now.
    pub(super) fn position(&self) -> u64 {
        self.appended
    }

    /// A page changed at `since` should be written.
    pub(super) fn is_aging(&self, since: u64) -> bool {
        self.appended - since > self.aging
    }

    /// A page changed at `since` must be written before anything else is put in.
    pub(super) fn is_old(&self, since: u64) -> bool {
        self.appended - since > self.old
    }

    /// Puts the bytes of a transaction in. The position behind them.
    pub(super) fn append(&mut self, bytes: u32) -> u64 {
        self.appended += u64::from(bytes);
        self.appended
    }

    /// The same, and they are on the medium.
    pub(super) fn append_at_once(&mut self, bytes: u32) {
        self.flushed = self.append(bytes);
    }

    /// True when everything up to `position` is on the medium.
    pub(super) fn has(&self, position: u64) -> bool {
        self.flushed >= position
    }

    /// True when `actor` has to write now what [`Log::writes`] says; else it waits.
    pub(super) fn leads(&mut self, actor: u32) -> bool {
        if self.flushing.is_some() {
            self.waiting.push(actor);
            return false;
        }
        self.flushing = Some(self.appended);
        true
    }

    /// The writes that bring everything so far to the medium, last first: whole blocks, and two writes where the ring ends.
    pub(super) fn writes(&self, into: &mut Vec<Step>) {
        let target = self.flushing.expect("asked of whoever leads");
        let begin = self.flushed / self.block * self.block;
        let end = target.div_ceil(self.block) * self.block;
        let mut at = begin;
        let mut steps = Vec::new();
        while at < end {
            let place = at % self.bytes;
            let length = (end - at).min(self.bytes - place).min(1 << 20);
            steps.push(Step::Write { offset: self.first + place, length: length as u32, part: Part::Log });
            at += length;
        }
        into.extend(steps.into_iter().rev());
    }

    /// The flush is through: those who waited for it or for their turn.
    pub(super) fn flushed(&mut self) -> std::vec::Drain<'_, u32> {
        self.flushed = self.flushing.take().expect("somebody led");
        self.waiting.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(bytes: u64) -> Log {
        Log::new(Commit::Group, 1 << 20, bytes, 512)
    }

    #[test]
    fn a_ring_is_written_in_order_and_in_whole_blocks() {
        let mut log = log(8192);
        let mut covered = Vec::new();
        for turn in 0..100 {
            log.append(100 + turn * 7);
            assert!(log.leads(0));
            let mut steps = Vec::new();
            log.writes(&mut steps);
            for step in steps.iter().rev() {
                let Step::Write { offset, length, .. } = *step else { panic!("{step:?}") };
                assert!(offset % 512 == 0 && length % 512 == 0);
                assert!(offset >= 1 << 20 && offset + u64::from(length) <= (1 << 20) + 8192);
                covered.push((offset - (1 << 20), length));
            }
            log.flushed();
            assert!(log.has(log.position()));
        }
        // Each write begins in the last block of the one before, or behind it.
        for pair in covered.windows(2) {
            let end = (pair[0].0 + u64::from(pair[0].1)) % 8192;
            assert!(pair[1].0 == end || (pair[1].0 + 512) % 8192 == end, "{pair:?}");
        }
    }

    #[test]
    fn who_comes_while_it_is_flushed_shares_the_next_flush() {
        let mut log = log(1 << 20);
        let first = log.append(600);
        assert!(log.leads(1));
        let (second, third) = (log.append(10), log.append(10));
        assert!(!log.leads(2) && !log.leads(3));
        assert_eq!(log.flushed().collect::<Vec<_>>(), [2, 3]);
        assert!(log.has(first) && !log.has(second));
        assert!(log.leads(2) && !log.leads(3));
        assert_eq!(log.flushed().collect::<Vec<_>>(), [3]);
        assert!(log.has(third), "one flush for both");
    }

    #[test]
    fn an_old_change_is_seen_before_the_ring_overtakes_it() {
        let mut log = log(100_000);
        let since = log.position();
        log.append(80_000);
        assert!(log.is_aging(since) && !log.is_old(since));
        log.append(5_000);
        assert!(log.is_old(since));
    }
}

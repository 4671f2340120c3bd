//! What was written and is still to be read back?
//!
//! ```text
//!   write .. write (`writes` wait) ──► nothing in flight ──► read back `reads` ──► nothing in flight ──► write ..
//! ```
//!
//! fio reads back while it goes on writing, where its queue is deep; here the two are apart, so that no read meets a
//! write of the same place. One at a time, the order is fio's.

use std::collections::VecDeque;

use iostack_model::Backlog;
use iostack_workload::Op;

const READ: u8 = 0;

/// The blocks of one thread that wait, at most [`Backlog::writes`].
pub(crate) struct Waiting {
    asked: Backlog,
    written: VecDeque<Op>,
    /// So many more may be written before, or read in, this turn.
    left: u32,
    pub(crate) is_reading: bool,
}

impl Waiting {
    pub(crate) fn new(asked: Backlog) -> Waiting {
        Waiting { asked, written: VecDeque::new(), left: asked.writes, is_reading: false }
    }

    /// Reading and writing change places when nothing is in flight.
    pub(crate) fn is_due(&self) -> bool {
        self.left == 0 || self.is_reading && self.written.is_empty()
    }

    pub(crate) fn turn(&mut self) {
        self.is_reading = !self.is_reading;
        let room = self.asked.writes.saturating_sub(self.written.len() as u32).max(1);
        self.left = if self.is_reading { self.asked.reads } else { room };
    }

    /// From here on what waits is read back, to the last.
    pub(crate) fn finish(&mut self) {
        self.is_reading = true;
        self.left = u32::MAX;
    }

    /// A write is about to be submitted.
    pub(crate) fn submitting(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// A block was written.
    pub(crate) fn push(&mut self, op: &Op) {
        self.written.push_back(*op);
    }

    /// What is read back next.
    pub(crate) fn next(&mut self) -> Option<Op> {
        let op = if self.is_reading && self.left > 0 { self.written.pop_front()? } else { return None };
        self.left -= 1;
        Some(Op { direction: READ, ..op })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of `blocks` writes and their reads, each done before the next; those left over are behind `|`.
    fn order(writes: u32, reads: u32, blocks: u64) -> String {
        let (mut waiting, mut order) = (Waiting::new(Backlog { writes, reads }), String::new());
        let mut written = 0;
        loop {
            if waiting.is_due() {
                waiting.turn();
            } else if waiting.is_reading {
                let op = waiting.next().expect("else the turn is over");
                order += &op.offset.to_string();
            } else if written == blocks {
                break;
            } else {
                waiting.submitting();
                waiting.push(&Op { offset: written, length: 4096, direction: 1, file: 0 });
                (written, order) = (written + 1, order + "w");
            }
            assert!(waiting.written.len() <= writes as usize, "{order}");
        }
        waiting.finish();
        order
            + "|"
            + &std::iter::from_fn(|| waiting.next()).map(|op| op.offset.to_string()).collect::<String>()
    }

    #[test]
    fn what_was_written_is_read_back_in_turns_and_the_rest_at_the_end() {
        assert_eq!(order(4, 4, 9), "wwww0123wwww4567w|8");
        assert_eq!(order(4, 2, 9), "wwww01ww23ww45w|678");
        assert_eq!(order(4, 9, 8), "wwww0123wwww4567|", "there are no more than were written");
        assert_eq!(order(1, 1, 3), "w0w1w2|");
        assert_eq!(order(9, 9, 3), "www|012");
    }

    #[test]
    fn writes_that_failed_leave_nothing_to_read() {
        let mut waiting = Waiting::new(Backlog { writes: 1, reads: 1 });
        waiting.submitting();
        assert!(waiting.is_due());
        waiting.turn();
        assert!(waiting.is_reading && waiting.is_due());
        waiting.turn();
        assert!(!waiting.is_reading && !waiting.is_due());
    }
}

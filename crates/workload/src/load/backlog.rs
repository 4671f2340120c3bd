//! What was written and is still to be read back, or trimmed?
//!
//! ```text
//!   write .. write ──► nothing in flight ──► trim ──► nothing in flight ──► read back ──► nothing in flight ──► write ..
//! ```
//!
//! fio reads back and trims while it goes on writing, where its queue is deep; here they are apart, so that no read meets a
//! write or a trim of the same place. One at a time, the order of reads is fio's. Start reading at [`Waiting::turn`].

use std::collections::VecDeque;

use iostack_model::{Backlog, Trims, Verify};

use crate::{Op, Rng};

const READ: u8 = 0;
const TRIM: u8 = 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Turn {
    #[default]
    Write,
    Trim,
    Read,
}

/// Expected content of a block that is read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The data that was written there.
    Written,
    /// It was trimmed.
    Zeroes,
}

/// The blocks of one thread that wait: at most [`Backlog::writes`], or, where only trims are asked, all that it wrote, which
/// are no more than its region has, 16 bytes each.
#[derive(Default)]
pub(super) struct Waiting {
    backlog: Option<Backlog>,
    trims: Option<Trims>,
    seed: u64,
    /// The oldest first; a direction of [`TRIM`] marks what was trimmed.
    written: VecDeque<Op>,
    /// Number of blocks that have left `written`.
    gone: u64,
    /// Those to trim, counted from the first ever written.
    marked: VecDeque<u64>,
    /// Blocks that were trimmed and are being read.
    zeroes: Vec<(u16, u64)>,
    turn: Turn,
    /// Writes before the next turn to read, and to trim.
    until_read: u32,
    until_trim: u32,
    /// So many more in this turn.
    left: u32,
}

impl Waiting {
    /// The backlog of a job that verifies along the way; `None` for others.
    pub(super) fn of_verify(verify: &Verify, seed: u64) -> Option<Waiting> {
        let Verify { backlog, trims, .. } = *verify;
        (backlog.is_some() || trims.is_some()).then(|| Waiting {
            backlog,
            trims,
            seed,
            until_read: backlog.map_or(1, |backlog| backlog.writes),
            until_trim: trims.map_or(1, |trims| trims.writes),
            ..Waiting::default()
        })
    }

    /// True while blocks are read back between the writes.
    pub(super) fn is_reading(&self) -> bool {
        self.turn == Turn::Read
    }

    /// The turn is over, once nothing is in flight.
    pub(super) fn is_due(&self) -> bool {
        match self.turn {
            Turn::Write => self.until_read == 0 || self.until_trim == 0,
            Turn::Trim => self.left == 0 || self.marked.is_empty(),
            Turn::Read => self.left == 0 || self.written.is_empty(),
        }
    }

    pub(super) fn turn(&mut self) {
        self.turn = match self.turn {
            Turn::Write if self.until_trim == 0 => Turn::Trim,
            Turn::Write | Turn::Trim if self.until_read == 0 => Turn::Read,
            _ => Turn::Write,
        };
        match (self.turn, self.trims, self.backlog) {
            (Turn::Trim, Some(trims), _) => (self.until_trim, self.left) = (trims.writes, trims.blocks),
            (Turn::Read, _, Some(backlog)) => self.left = backlog.reads,
            (Turn::Write, _, Some(backlog)) => {
                self.until_read = backlog.writes.saturating_sub(self.written.len() as u32).max(1);
            }
            _ => {}
        }
    }

    /// Reads back whatever waits from here on, to the last.
    pub(super) fn finish(&mut self) {
        self.turn = Turn::Read;
        self.left = u32::MAX;
    }

    /// A write is about to be submitted.
    pub(super) fn submitting(&mut self) {
        self.until_read -= u32::from(self.backlog.is_some() && self.until_read > 0);
        self.until_trim -= u32::from(self.trims.is_some() && self.until_trim > 0);
    }

    /// A block was written.
    pub(super) fn push(&mut self, op: &Op) {
        // By its place: whatever completes first, the same blocks are trimmed.
        let drawn = Rng::from_seed(self.seed ^ op.offset ^ u64::from(op.file) << 48).below(100);
        if self.trims.is_some_and(|trims| drawn < u64::from(trims.percent)) {
            self.marked.push_back(self.gone + self.written.len() as u64);
        }
        self.written.push_back(*op);
    }

    /// The block that is trimmed or read back next.
    pub(super) fn next(&mut self) -> Option<Op> {
        if self.turn == Turn::Write || self.left == 0 {
            return None;
        }
        let op = if self.turn == Turn::Trim { self.next_trim() } else { self.next_read() }?;
        self.left -= 1;
        Some(op)
    }

    fn next_trim(&mut self) -> Option<Op> {
        loop {
            // What was read back meanwhile is not trimmed any more.
            let Some(at) = self.marked.pop_front()?.checked_sub(self.gone) else { continue };
            let op = self.written.get_mut(at as usize)?;
            op.direction = TRIM;
            return Some(*op);
        }
    }

    fn next_read(&mut self) -> Option<Op> {
        loop {
            let op = self.written.pop_front()?;
            self.gone += 1;
            if op.direction == TRIM {
                if !self.trims.is_some_and(|trims| trims.read_zeroes) {
                    continue;
                }
                self.zeroes.push((op.file, op.offset));
            }
            return Some(Op { direction: READ, ..op });
        }
    }

    /// Expected content of a block that was read.
    pub(super) fn expected(&mut self, op: &Op) -> Expected {
        match self.zeroes.iter().position(|&place| place == (op.file, op.offset)) {
            Some(at) => {
                self.zeroes.swap_remove(at);
                Expected::Zeroes
            }
            None => Expected::Written,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::VerifyMode;

    const WRITE: u8 = 1;

    fn waiting(backlog: Option<(u32, u32)>, trims: Option<(u8, u32, u32, bool)>) -> Waiting {
        let backlog = backlog.map(|(writes, reads)| Backlog { writes, reads });
        let trims = trims.map(|(percent, writes, blocks, read_zeroes)| Trims {
            percent,
            writes,
            blocks,
            read_zeroes,
        });
        let verify = Verify { backlog, trims, ..Verify::of_mode(VerifyMode::WriteThenRead) };
        Waiting::of_verify(&verify, 1).expect("something is asked")
    }

    /// The order of `blocks` writes, their reads, of trimmed ones in brackets, and trims, with a minus, each done before the
    /// next; those left over are behind `|`.
    fn order(mut waiting: Waiting, blocks: u64) -> String {
        let (mut written, mut order) = (0, String::new());
        loop {
            if waiting.is_due() {
                waiting.turn();
            } else if waiting.turn != Turn::Write {
                order += &told(&mut waiting);
            } else if written == blocks {
                break;
            } else {
                waiting.submitting();
                waiting.push(&Op { offset: written, length: 4096, direction: WRITE, file: 0 });
                (written, order) = (written + 1, order + "w");
            }
        }
        waiting.finish();
        order += "|";
        while !waiting.written.is_empty() {
            order += &told(&mut waiting);
        }
        order
    }

    fn told(waiting: &mut Waiting) -> String {
        let Some(op) = waiting.next() else { return String::new() };
        match (op.direction, waiting.expected(&op)) {
            (TRIM, _) => format!("-{}", op.offset),
            (_, Expected::Zeroes) => format!("({})", op.offset),
            _ => op.offset.to_string(),
        }
    }

    #[test]
    fn what_was_written_is_read_back_in_turns_and_the_rest_at_the_end() {
        let order = |writes, reads, blocks| order(waiting(Some((writes, reads)), None), blocks);
        assert_eq!(order(4, 4, 9), "wwww0123wwww4567w|8");
        assert_eq!(order(4, 2, 9), "wwww01ww23ww45w|678");
        assert_eq!(order(4, 9, 8), "wwww0123wwww4567|", "there are no more than were written");
        assert_eq!(order(1, 1, 3), "w0w1w2|");
        assert_eq!(order(9, 9, 3), "www|012");
    }

    #[test]
    fn what_was_trimmed_reads_as_zeroes_or_is_not_read() {
        let trimmed = |read_zeroes| order(waiting(None, Some((100, 4, 3, read_zeroes))), 9);
        assert_eq!(trimmed(true), "wwww-0-1-2wwww-3-4-5w|(0)(1)(2)(3)(4)(5)678");
        assert_eq!(trimmed(false), "wwww-0-1-2wwww-3-4-5w|678");
        assert_eq!(order(waiting(None, Some((0, 1, 1, true))), 3), "www|012");
    }

    #[test]
    fn what_was_read_back_is_not_trimmed_any_more() {
        let both = waiting(Some((2, 2)), Some((100, 3, 3, true)));
        assert_eq!(order(both, 5), "ww01w-2w(2)3w|4");
    }

    #[test]
    fn writes_that_failed_leave_nothing_to_read() {
        let mut waiting = waiting(Some((1, 1)), None);
        waiting.submitting();
        assert!(waiting.is_due());
        waiting.turn();
        assert!(waiting.is_reading() && waiting.is_due());
        waiting.turn();
        assert!(!waiting.is_reading() && !waiting.is_due());
    }
}

//! Does a read bring what was written?
//!
//! A simulated device carries no data. Under verification each write has a stamp (a number that never comes again), the
//! device keeps stamps where its data would be, and this shadow knows which stamp each block of 512 bytes must bring. Where
//! two writes of the same block were in flight together, either may have won.

use crate::engine::{Request, Stamps, Time};

const BLOCK: u64 = 512;

/// Two writes of this block were in flight together.
const EITHER: u32 = Request::TORN - 1;

/// Stamp that a read must bring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Expected {
    /// The stamp; 0 where nothing was written, [`Request::TORN`] when blocks differ.
    stamp: u32,
    /// It cannot be said for sure.
    either: bool,
    /// Some block holds nothing that a verifying job wrote.
    empty: bool,
}

/// Stamps that all blocks must bring.
#[derive(Debug, Default)]
pub(super) struct Proof {
    shadow: Stamps,
    /// Writes in flight, by block.
    writing: Stamps,
    generation: u32,
}

fn blocks(offset: u64, length: u32) -> impl Iterator<Item = u64> {
    (offset / BLOCK..(offset + u64::from(length)).div_ceil(BLOCK)).map(|block| block * BLOCK)
}

impl Proof {
    /// A write or trim is submitted; `proves` when its data carries a stamp, which is returned (0 for none).
    pub(super) fn writes(&mut self, offset: u64, length: u32, proves: bool) -> u32 {
        let stamp = if proves {
            self.generation += 1;
            assert!(self.generation < EITHER, "more than 2^32 verified writes");
            self.generation
        } else {
            0
        };
        for at in blocks(offset, length) {
            let others = self.writing.read(at, 1);
            self.writing.write(at, 1, others + 1);
            self.shadow.write(at, 1, if others == 0 { stamp } else { EITHER });
        }
        stamp
    }

    /// The write or trim has completed.
    pub(super) fn written(&mut self, offset: u64, length: u32) {
        for at in blocks(offset, length) {
            let writing = self.writing.read(at, 1);
            self.writing.write(at, 1, writing - 1);
        }
    }

    /// Stamp for a read of the range, asked when it is submitted and when it has completed.
    pub(super) fn expects(&self, offset: u64, length: u32) -> Expected {
        let mut expected: Option<Expected> = None;
        for at in blocks(offset, length) {
            let stamp = self.shadow.read(at, 1);
            let either = stamp == EITHER || self.writing.read(at, 1) > 0;
            let all = expected.get_or_insert(Expected { stamp, ..Expected::default() });
            all.stamp = if all.stamp == stamp { stamp } else { Request::TORN };
            all.either |= either;
            all.empty |= stamp == 0;
        }
        expected.unwrap_or_default()
    }
}

/// Fault of a read that brought `stamp`, in words; `None` when there is none.
pub(super) fn wrong(stamp: u32, before: Expected, after: Expected, offset: u64, now: Time) -> Option<String> {
    if before.either || after.either {
        return None;
    }
    let fits = stamp == before.stamp || stamp == after.stamp;
    match stamp {
        0 => Some(format!("offset {offset}: nothing where written data should be")),
        _ if fits && after.empty => {
            Some(format!("offset {offset}: part of it holds nothing that was written to be verified"))
        }
        _ if fits => None,
        Request::TORN => Some(format!("offset {offset}: blocks of different writes, at {now} ns")),
        _ => {
            Some(format!("offset {offset}: write {stamp} where write {} should be, at {now} ns", after.stamp))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_data_is_wrong_and_the_last_write_is_right() {
        let mut proof = Proof::default();
        let first = proof.writes(4096, 4096, true);
        proof.written(4096, 4096);
        let second = proof.writes(4096, 4096, true);
        proof.written(4096, 4096);
        let expected = proof.expects(4096, 4096);
        assert_eq!(wrong(second, expected, expected, 4096, 0), None);
        let text = wrong(first, expected, expected, 4096, 0).expect("old data");
        assert!(text.contains("write 1 where write 2"), "{text}");
        assert!(wrong(0, expected, expected, 4096, 0).is_some());
        assert!(wrong(Request::TORN, expected, expected, 4096, 0).is_some());
    }

    #[test]
    fn of_two_writes_together_either_may_win() {
        let mut proof = Proof::default();
        let first = proof.writes(0, 512, true);
        let second = proof.writes(0, 512, true);
        proof.written(0, 512);
        proof.written(0, 512);
        let expected = proof.expects(0, 512);
        assert_eq!(wrong(first, expected, expected, 0, 0), None);
        assert_eq!(wrong(second, expected, expected, 0, 0), None);
    }

    #[test]
    fn a_write_without_stamp_takes_the_proof_away() {
        let mut proof = Proof::default();
        proof.writes(0, 8192, true);
        proof.written(0, 8192);
        proof.writes(4096, 4096, false);
        proof.written(4096, 4096);
        let expected = proof.expects(0, 8192);
        assert!(wrong(Request::TORN, expected, expected, 0, 0).is_some_and(|text| text.contains("part")));
    }
}

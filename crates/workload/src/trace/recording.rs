//! A trace in memory: I/Os that a thread takes one after the other, with the moments that they are due at.

use iostack_model::{Bytes, Mix, Nanos, Recorded};

use super::{TraceError, TraceIo};
use crate::{Filled, Op};

const WRITE: u8 = 1;

/// Each disk of a trace that has a file of its own begins at a multiple of this, when all are laid on one line.
pub const FILE_SPAN: u64 = 1 << 48;

/// The I/Os of a trace. A flush is a write of no bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    ops: Vec<Op>,
    /// Time of issue of each, since the first.
    at: Vec<Nanos>,
    /// I/Os by direction.
    ios: [u64; 3],
    bytes: u64,
    end: u64,
    largest: u32,
    /// Every bit that is set in an offset or a length.
    bits: u64,
}

/// The I/Os that `recorded` leaves, at the places that it gives them.
pub fn kept<'a>(
    ios: impl Iterator<Item = Result<TraceIo, TraceError>> + 'a,
    recorded: &'a Recorded,
) -> impl Iterator<Item = Result<TraceIo, TraceError>> + 'a {
    const FLUSH: usize = 3;
    let is_kept = |io: &TraceIo| !recorded.skip[if io.flush { FLUSH } else { io.direction as usize }];
    let placed = |io: TraceIo| {
        let (file, offset) = (io.offset / FILE_SPAN, io.offset % FILE_SPAN);
        TraceIo { offset: file * FILE_SPAN + recorded.place(offset), ..io }
    };
    ios.filter(move |io| io.as_ref().map_or(true, is_kept)).map(move |io| io.map(placed))
}

impl Recording {
    /// Reads a trace to its end.
    pub fn read(ios: impl Iterator<Item = Result<TraceIo, TraceError>>) -> Result<Recording, TraceError> {
        let mut recording = Recording::default();
        for io in ios {
            recording.push(&io?);
        }
        Ok(recording)
    }

    fn push(&mut self, io: &TraceIo) {
        let direction = if io.flush { WRITE } else { io.direction as u8 };
        let (file, offset) = ((io.offset / FILE_SPAN) as u16, io.offset % FILE_SPAN);
        self.ops.push(Op { offset, length: io.length, direction, file });
        self.at.push(io.at);
        if io.flush {
            return;
        }
        self.ios[io.direction as usize] += 1;
        self.bytes += u64::from(io.length);
        self.end = self.end.max(offset + u64::from(io.length));
        self.largest = self.largest.max(io.length);
        self.bits |= offset | u64::from(io.length);
    }

    /// Reads, writes and trims.
    pub fn ios(&self) -> u64 {
        self.ios.iter().sum()
    }

    /// Bytes of all of them.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// First byte of a file behind all that is touched of any.
    pub fn end(&self) -> Bytes {
        Bytes(self.end)
    }

    /// Bytes of the largest.
    pub fn largest(&self) -> Bytes {
        Bytes(u64::from(self.largest))
    }

    /// The largest power of two that all offsets and lengths are multiples of; 0 without I/O.
    pub fn alignment(&self) -> Bytes {
        Bytes(self.bits & self.bits.wrapping_neg())
    }

    /// Time from the first to the last.
    pub fn span(&self) -> Nanos {
        self.at.last().copied().unwrap_or_default()
    }

    /// Time of issue of the I/O of this number, since the first; `None` behind the last.
    pub fn at(&self, number: usize) -> Option<Nanos> {
        self.at.get(number).copied()
    }

    /// Shares of the directions.
    pub fn mix(&self) -> Mix {
        Mix::of_counts(self.ios)
    }

    /// Adds the next operations to `ops`, at most so many, from `next` on.
    pub(crate) fn fill(&self, next: &mut usize, ops: &mut Vec<Op>, at_most: usize) -> Filled {
        let end = self.ops.len().min(*next + at_most);
        ops.extend_from_slice(&self.ops[*next..end]);
        *next = end;
        if end == self.ops.len() { Filled::RegionDone } else { Filled::More }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::Direction;

    fn io(at: u64, direction: Direction, offset: u64, flush: bool) -> TraceIo {
        let length = if flush { 0 } else { 4096 };
        TraceIo { at: Nanos(at), direction, offset, length, flush }
    }

    fn ios() -> impl Iterator<Item = Result<TraceIo, TraceError>> {
        let mut ios: Vec<_> = (0..999).map(|at| io(at, Direction::Read, at * 6144, false)).collect();
        ios.push(io(999, Direction::Write, 2 * FILE_SPAN + 512, false));
        ios.push(io(1000, Direction::Write, 0, true));
        ios.into_iter().map(Ok)
    }

    #[test]
    fn one_write_of_a_thousand_is_a_write() {
        let recording = Recording::read(ios()).expect("sound");
        assert_eq!(recording.mix(), Mix { read: 99, write: 1, trim: 0 });
        assert!(recording.mix().destroys());
        assert_eq!((recording.ios(), recording.bytes()), (1000, 1000 * 4096));
        assert_eq!((recording.end(), recording.alignment()), (Bytes(998 * 6144 + 4096), Bytes(512)));
        assert_eq!((recording.ops[999].file, recording.ops[999].offset), (2, 512));
        assert_eq!((recording.span(), recording.at(1001)), (Nanos(1000), None));
        for (ios, mix) in [
            ([u64::MAX, u64::MAX, 1], Mix { read: 50, write: 49, trim: 1 }),
            ([0, 0, 5], Mix::TRIM),
            ([0, 0, 0], Mix::READ),
            ([1, 0, u64::MAX], Mix { read: 1, write: 0, trim: 99 }),
        ] {
            assert_eq!(Mix::of_counts(ios), mix);
        }
    }

    #[test]
    fn what_is_left_out_is_gone_and_places_are_scaled_within_their_file() {
        let skip = [true, false, false, true];
        let recorded = Recorded { skip, scale: 2, align: Bytes(100), ..Recorded::default() };
        let left: Vec<u64> = kept(ios(), &recorded).map(|io| io.expect("sound").offset).collect();
        assert_eq!(left, [2 * FILE_SPAN + 200]);
        let all = Recorded::default();
        assert_eq!(kept(ios(), &all).map(|io| io.expect("sound").offset).nth(1), Some(6144));
    }
}

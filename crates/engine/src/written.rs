//! Which bytes were written since they were last sent on their way?

use iostack_model::RangeSync;
use iostack_workload::Op;

use crate::files::Files;

/// What a flush flushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flush {
    /// fsync.
    File,
    /// fdatasync.
    Data,
    /// `sync_file_range` of what was written since the last one.
    Range,
    /// Nothing: what was written is read back from here on, or no more. It waits for what is in flight, as flushes do.
    Nothing,
}

/// From the first to the last byte written of each file, as fio sends it.
pub(crate) struct Written {
    asked: RangeSync,
    writes: u32,
    ranges: Vec<(u64, u64)>,
}

impl Written {
    pub(crate) fn new(asked: RangeSync) -> Written {
        Written { asked, writes: 0, ranges: Vec::new() }
    }

    pub(crate) fn is_due(&self) -> bool {
        self.writes >= self.asked.every
    }

    pub(crate) fn clear(&mut self) {
        self.writes = 0;
        self.ranges.clear();
    }

    pub(crate) fn note(&mut self, op: &Op) {
        self.writes += 1;
        let file = usize::from(op.file);
        if self.ranges.len() <= file {
            self.ranges.resize(file + 1, (u64::MAX, 0));
        }
        let (first, end) = &mut self.ranges[file];
        (*first, *end) = ((*first).min(op.offset), (*end).max(op.offset + u64::from(op.length)));
    }

    /// 0, or `-errno` of the first file that failed.
    pub(crate) fn sync(&self, files: &Files) -> isize {
        let touched = self.ranges.iter().enumerate().filter(|(_, (first, end))| first < end);
        touched
            .map(|(file, &range)| files.sync_range(file, range, self.asked))
            .find(|&result| result < 0)
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_reaches_from_the_first_to_the_last_byte_of_each_file() {
        let mut written = Written::new(RangeSync { every: 3, ..RangeSync::default() });
        for (file, offset) in [(0, 8192), (2, 0), (0, 0)] {
            assert!(!written.is_due());
            written.note(&Op { offset, length: 4096, direction: 1, file });
        }
        assert!(written.is_due());
        assert_eq!(written.ranges, [(0, 12288), (u64::MAX, 0), (0, 4096)]);
        written.clear();
        assert!(!written.is_due() && written.ranges.is_empty());
    }
}

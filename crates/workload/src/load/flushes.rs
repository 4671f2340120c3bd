//! Which flush is due, and what was written since the last?

use iostack_model::{Job, RangeSync};

use crate::Op;

const WRITE: u8 = 1;

/// Kind of flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// A call of fsync.
    File,
    /// A call of fdatasync.
    Data,
    /// `sync_file_range` of [`Flushes::ranges`].
    Range,
}

/// The flushes between the I/Os of one thread.
#[derive(Debug, Default)]
pub(super) struct Flushes {
    fsync_every: u32,
    fdatasync_every: u32,
    since_fsync: u32,
    since_fdatasync: u32,
    /// The next of a trace is a flush.
    recorded: bool,
    range: RangeSync,
    since_range: u32,
    /// First and last byte written of each file, as fio sends it.
    written: Vec<(u64, u64)>,
    /// The same of the last flush.
    flushed: Vec<(u64, u64)>,
}

impl Flushes {
    pub(super) fn of_job(job: &Job) -> Flushes {
        Flushes {
            fsync_every: job.sync.fsync_every,
            fdatasync_every: job.sync.fdatasync_every,
            range: job.sync.range.unwrap_or(RangeSync { every: 0, ..RangeSync::default() }),
            ..Flushes::default()
        }
    }

    /// The flush that comes before the next I/O.
    #[inline]
    pub(super) fn due(&self) -> Option<Flush> {
        let is_due = |every: u32, since: u32| every > 0 && since >= every;
        if self.recorded || is_due(self.fsync_every, self.since_fsync) {
            Some(Flush::File)
        } else if is_due(self.fdatasync_every, self.since_fdatasync) {
            Some(Flush::Data)
        } else {
            is_due(self.range.every, self.since_range).then_some(Flush::Range)
        }
    }

    /// The flush is done, and counts anew.
    pub(super) fn done(&mut self, flush: Flush) {
        // As in fio: what flushes more stands for what flushes less.
        std::mem::swap(&mut self.flushed, &mut self.written);
        self.written.clear();
        self.since_range = 0;
        match flush {
            Flush::Range => {}
            Flush::Data => self.since_fdatasync = 0,
            Flush::File => (self.since_fsync, self.since_fdatasync, self.recorded) = (0, 0, false),
        }
    }

    /// A trace asks for a flush; it is due from now on.
    pub(super) fn record(&mut self) {
        self.recorded = true;
    }

    /// A write is about to be submitted.
    pub(super) fn writes(&mut self, op: &Op) {
        debug_assert_eq!(op.direction, WRITE);
        self.since_fsync += 1;
        self.since_fdatasync += 1;
        if self.range.every == 0 {
            return;
        }
        self.since_range += 1;
        let file = usize::from(op.file);
        if self.written.len() <= file {
            self.written.resize(file + 1, (u64::MAX, 0));
        }
        let (first, end) = &mut self.written[file];
        (*first, *end) = ((*first).min(op.offset), (*end).max(op.offset + u64::from(op.length)));
    }

    /// The files that the last flush concerns, from which to which byte.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (usize, (u64, u64))> {
        self.flushed.iter().copied().enumerate().filter(|(_, (first, end))| first < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::Sync;

    fn write(offset: u64, file: u16) -> Op {
        Op { offset, length: 4096, direction: WRITE, file }
    }

    #[test]
    fn a_range_reaches_from_the_first_to_the_last_byte_written_of_each_file() {
        let range = Some(RangeSync { every: 3, ..RangeSync::default() });
        let mut flushes = Flushes::of_job(&Job { sync: Sync { range, ..Sync::default() }, ..Job::default() });
        for (file, offset) in [(0, 8192), (2, 0), (0, 0)] {
            assert_eq!(flushes.due(), None);
            flushes.writes(&write(offset, file));
        }
        assert_eq!(flushes.due(), Some(Flush::Range));
        flushes.done(Flush::Range);
        assert_eq!(flushes.ranges().collect::<Vec<_>>(), [(0, (0, 12288)), (2, (0, 4096))]);
        assert_eq!(flushes.due(), None);
        flushes.done(Flush::Range);
        assert_eq!(flushes.ranges().count(), 0);
    }

    #[test]
    fn what_flushes_more_stands_for_what_flushes_less() {
        let sync = Sync { fsync_every: 5, fdatasync_every: 2, ..Sync::default() };
        let mut flushes = Flushes::of_job(&Job { sync, ..Job::default() });
        let mut order = String::new();
        for _ in 0..10 {
            flushes.writes(&write(0, 0));
            order.push('w');
            if let Some(flush) = flushes.due() {
                flushes.done(flush);
                order.push(if flush == Flush::File { 'F' } else { 'd' });
            }
        }
        assert_eq!(order, "wwdwwdwFwwdwwdwF");
        flushes.record();
        assert_eq!(flushes.due(), Some(Flush::File), "a trace asks for it");
        flushes.done(Flush::File);
        assert_eq!(flushes.due(), None);
    }
}

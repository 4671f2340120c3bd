//! Which I/Os failed, and how? Failures are rare or the job ends, so everything here may be slow.

use iostack_model::{Direction, Failure};
use iostack_workload::Op;

/// The failures of one thread, like ones together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures {
    list: Vec<Failure>,
    count: u64,
    /// Errors of reads, and of all others, that the job asks to ignore.
    ignores: [Vec<i32>; 2],
}

impl Failures {
    /// Those of a job that ignores these errors of reads, and of all others.
    pub(crate) fn ignoring(ignores: &[Vec<i32>; 2]) -> Failures {
        Failures { ignores: ignores.clone(), ..Failures::default() }
    }

    /// Notes an I/O that gave `result` instead of its length.
    #[cold]
    pub(crate) fn note(&mut self, op: &Op, result: isize) {
        let (errno, message) = match result {
            ..0 => {
                let errno = -result as i32;
                (errno, std::io::Error::from_raw_os_error(errno).to_string())
            }
            0 => (libc::ENODATA, "end of file: the file is shorter than it was".to_owned()),
            _ => (libc::ENODATA, format!("short: {result} of {} bytes", op.length)),
        };
        self.add(op.direction(), errno, op.offset, message);
    }

    /// Notes data that is not what was written.
    #[cold]
    pub(crate) fn note_mismatch(&mut self, op: &Op, message: String) {
        self.add(Direction::Read, 0, op.offset, message);
    }

    /// Notes that the storage did not keep to what was demanded; `ETIMEDOUT`, as in fio.
    #[cold]
    pub(crate) fn note_too_slow(&mut self, op: &Op, message: String) {
        self.add(op.direction(), libc::ETIMEDOUT, op.offset, message);
    }

    /// Notes that no depth was found in the time that there was.
    #[cold]
    pub(crate) fn note_unfound(&mut self, message: String) {
        self.add(Direction::Read, libc::ETIMEDOUT, 0, message);
    }

    /// Notes a flush that failed.
    #[cold]
    pub(crate) fn note_flush(&mut self, errno: i32) {
        let message = format!("flush: {}", std::io::Error::from_raw_os_error(errno));
        self.add(Direction::Write, errno, 0, message);
    }

    fn add(&mut self, direction: Direction, errno: i32, offset_first: u64, message: String) {
        let ignored = errno != 0 && self.ignores[usize::from(direction != Direction::Read)].contains(&errno);
        self.merge(&Failure { direction, errno, count: 1, offset_first, message, ignored });
    }

    /// Adds failures of another thread.
    pub(crate) fn merge(&mut self, failure: &Failure) {
        self.count += if failure.ignored { 0 } else { failure.count };
        let same = |f: &&mut Failure| f.direction == failure.direction && f.errno == failure.errno;
        match self.list.iter_mut().find(same) {
            Some(known) => known.count += failure.count,
            None => self.list.push(failure.clone()),
        }
    }

    /// Number of failures that are not ignored.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// All, commonest first.
    pub(crate) fn into_list(mut self) -> Vec<Failure> {
        self.list.sort_by_key(|failure| std::cmp::Reverse(failure.count));
        self.list
    }
}

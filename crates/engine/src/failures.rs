//! Which I/Os failed, and how? Failures are rare or the job ends, so everything here may be slow.

use iostack_model::{Direction, Failure};
use iostack_workload::Op;

/// The failures of one thread, like ones together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures {
    list: Vec<Failure>,
    /// Number of failures that are not ignored.
    pub(crate) count: u64,
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

    /// Notes one; an errno of 0 is data that is not what was written.
    #[cold]
    pub(crate) fn add(&mut self, direction: Direction, errno: i32, offset_first: u64, message: String) {
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

    /// All, commonest first.
    pub(crate) fn into_list(mut self) -> Vec<Failure> {
        self.list.sort_by_key(|failure| std::cmp::Reverse(failure.count));
        self.list
    }
}

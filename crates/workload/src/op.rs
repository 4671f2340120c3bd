//! What is one I/O, and which bytes may a thread touch?

use iostack_model::{Bytes, Direction, Job};

use crate::WorkloadError;

/// One I/O to do. 16 bytes, so that a batch of 256 fills 4 KiB of the first-level cache and no more.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// First byte, from the start of the file or device.
    pub offset: u64,
    /// Number of bytes.
    pub length: u32,
    /// 0 read, 1 write, 2 trim: the index in [`Direction::ALL`].
    pub direction: u8,
    /// Index of the thread's file, from 0.
    pub file: u16,
}

const _: () = assert!(size_of::<Op>() == 16);

impl Op {
    /// The direction as a word.
    pub const fn direction(&self) -> Direction {
        Direction::ALL[self.direction as usize]
    }
}

/// State that [`crate::Plan::fill`] left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// There is more to ask for.
    More,
    /// The pass over the region is complete; the batch may still hold its last operations.
    RegionDone,
}

/// Bytes of each file that a thread uses: `offset..offset + length`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First byte of the region.
    pub offset: u64,
    /// Bytes of the region.
    pub length: u64,
    /// Bytes of the whole file: a sequence with gaps begins again only behind its end.
    pub file_length: u64,
}

impl Region {
    /// A region that ends with its file.
    pub fn new(offset: u64, length: u64) -> Region {
        Region { offset, length, file_length: offset.saturating_add(length) }
    }
}

/// The region of one thread in each of its `files` files of `target_size` bytes.
///
/// It starts at `offset + thread * offset_increment`, as in fio; threads count from `job.thread_first`. `size` is shared out among the files, and in percent it
/// means a share of the target; without `size` the region ends with the target. The last block that does not fit whole
/// is left out by [`crate::Plan`].
pub fn region(job: &Job, target_size: Bytes, files: u16, thread: u32) -> Result<Region, WorkloadError> {
    let increment = job.offset_increment.0.saturating_mul(u64::from(job.thread_first) + u64::from(thread));
    let first = job.offset.of(target_size).0.saturating_add(increment);
    let length = match job.size {
        Some(iostack_model::Amount::Percent(_)) | None if first > target_size.0 => 0,
        Some(amount @ iostack_model::Amount::Percent(_)) => {
            amount.of(target_size).0.min(target_size.0 - first)
        }
        Some(amount) => amount.of(target_size).0 / u64::from(files.max(1)),
        None => target_size.0 - first,
    };
    let end = first.saturating_add(length);
    if end > target_size.0 || length == 0 {
        return Err(WorkloadError::BeyondTarget { thread, first, end, target: target_size.0 });
    }
    Ok(Region { offset: first, length, file_length: target_size.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::Amount;

    fn job(offset: u64, increment: u64, size: Option<Amount>) -> Job {
        Job {
            offset: Amount::Bytes(Bytes(offset)),
            offset_increment: Bytes(increment),
            size,
            ..Job::default()
        }
    }

    #[test]
    fn each_thread_starts_one_increment_later() {
        let job = job(100, 1000, Some(Amount::Bytes(Bytes(500))));
        for thread in 0..3 {
            let region = region(&job, Bytes(10_000), 1, thread).expect("fits");
            assert_eq!(
                region,
                Region { offset: 100 + 1000 * u64::from(thread), length: 500, file_length: 10_000 }
            );
        }
    }

    #[test]
    fn size_is_shared_by_the_files_and_percent_is_of_the_target() {
        let half = job(0, 0, Some(Amount::Percent(50.0)));
        assert_eq!(region(&half, Bytes(1000), 1, 0).map(|r| r.length), Ok(500));
        let shared = job(0, 0, Some(Amount::Bytes(Bytes(1000))));
        assert_eq!(region(&shared, Bytes(1000), 4, 0).map(|r| r.length), Ok(250));
        assert_eq!(region(&job(300, 0, None), Bytes(1000), 1, 0).map(|r| r.length), Ok(700));
    }

    #[test]
    fn a_region_behind_the_end_is_refused_with_its_bytes() {
        let error = region(&job(0, 600, Some(Amount::Bytes(Bytes(500)))), Bytes(1000), 1, 1).unwrap_err();
        assert_eq!(error, WorkloadError::BeyondTarget { thread: 1, first: 600, end: 1100, target: 1000 });
        region(&job(2000, 0, None), Bytes(1000), 1, 0).unwrap_err();
    }
}

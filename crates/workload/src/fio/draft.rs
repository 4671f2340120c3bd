//! What do a section's options add up to?
//!
//! Most options change the job at once, in the order of [`super::table::Row::leans_on`]. What several options make
//! together, whatever their order (a rate of the block size, files of their directory), a [`Draft`] keeps until
//! [`Draft::finish`]. What was not said stays as the job had it.

use std::path::PathBuf;

use iostack_model::{Access, Amount, Arrival, Bytes, Direction, Job, Mix, Rate, Verify, VerifyMode};

use crate::options::value::{Set, bad, refused};

/// A job in the making.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub(super) job: Job,
    pub(super) kb_base: u64,
    pub(super) rate_iops: [Option<f64>; 3],
    pub(super) rate_bytes: [Option<f64>; 3],
    pub(super) arrival: Option<Arrival>,
    pub(super) verify: Option<bool>,
    pub(super) do_verify: Option<bool>,
    pub(super) verify_only: Option<bool>,
    pub(super) verify_fatal: Option<bool>,
    pub(super) io_size: Option<Amount>,
    pub(super) file_size: Option<Bytes>,
    pub(super) filenames: Vec<String>,
    pub(super) directories: Vec<PathBuf>,
    pub(super) filename_format: Option<String>,
    pub(super) files_in_other_order: Option<String>,
    pub(super) clones: Option<u32>,
    pub(super) group_reporting: bool,
    pub(super) new_group: bool,
    pub(super) exit_all: bool,
    /// Log kinds whose prefix is the job's name: bandwidth, latency, iops.
    pub(super) logs_by_name: [bool; 3],
}

impl Draft {
    /// On top of `job`, which keeps what is not said.
    pub(super) fn new(job: Job) -> Draft {
        Draft { job, kb_base: 1024, ..Draft::default() }
    }

    /// What fio does when a section says nothing: sequential reads of 4 KiB through the page cache.
    pub(super) fn fio_default() -> Draft {
        let job = Job { access: Access::Sequential, direct: false, ..Job::default() };
        Draft::new(job)
    }

    /// Puts the parts together in `job`.
    pub(super) fn finish(&mut self) -> Set {
        self.finish_rate();
        self.finish_verify()?;
        self.finish_sizes()?;
        self.finish_files()
    }

    /// fio paces each direction by itself; we pace them together, at the rate at which none exceeds its own.
    fn finish_rate(&mut self) {
        let mut rate = f64::INFINITY;
        for direction in Direction::ALL {
            let index = direction as usize;
            let share = f64::from(self.job.mix.of(direction)) / 100.0;
            if share == 0.0 {
                continue;
            }
            let mean: f64 =
                self.job.block_sizes.of(direction).iter().map(|&(s, p)| s.0 as f64 * f64::from(p)).sum();
            let by_bytes = self.rate_bytes[index].map(|bytes| bytes / (mean / 100.0));
            for limit in [self.rate_iops[index], by_bytes].into_iter().flatten() {
                rate = rate.min(limit / share);
            }
        }
        let arrival = self.arrival.or(self.job.rate.map(|rate| rate.arrival)).unwrap_or(Arrival::Regular);
        if rate.is_finite() {
            self.job.rate = Some(Rate { iops: rate, arrival });
        } else if let Some(rate) = &mut self.job.rate {
            rate.arrival = arrival;
        }
    }

    fn finish_verify(&mut self) -> Set {
        let before = self.job.verify;
        let Some(true) = self.verify.or(before.map(|_| true)) else {
            if self.verify == Some(false) {
                self.job.verify = None;
            }
            return if self.verify_only == Some(true) {
                bad("verify_only needs verify=crc32c")
            } else {
                Ok(())
            };
        };
        let reads_only = self.job.mix == Mix::READ || self.verify_only == Some(true);
        let mode = match (reads_only, self.do_verify) {
            (true, _) => VerifyMode::ReadOnly,
            (false, Some(false)) => VerifyMode::WriteOnly,
            (false, _) => VerifyMode::WriteThenRead,
        };
        if self.verify_only == Some(true) {
            self.job.mix = Mix::READ;
        }
        let fatal = self.verify_fatal.or(before.map(|verify| verify.fatal)).unwrap_or(false);
        self.job.verify = Some(Verify { mode, fatal });
        Ok(())
    }

    fn finish_sizes(&mut self) -> Set {
        let files = if self.filenames.is_empty() {
            u64::from(self.job.file_count)
        } else {
            self.filenames.len() as u64
        };
        if let Some(file_size) = self.file_size {
            let region = Bytes(file_size.0.saturating_mul(files));
            match self.job.size {
                Some(Amount::Bytes(size)) if size < region => self.job.io_limit = Some(size),
                Some(Amount::Percent(_)) => {
                    return refused("size in percent with filesize; give both in bytes");
                }
                _ => {}
            }
            self.job.size = Some(Amount::Bytes(region));
        }
        match (self.io_size, self.job.size) {
            (Some(Amount::Bytes(limit)), _) => self.job.io_limit = Some(limit).filter(|limit| limit.0 > 0),
            (Some(share @ Amount::Percent(_)), Some(Amount::Bytes(size))) => {
                self.job.io_limit = Some(share.of(size));
            }
            (Some(Amount::Percent(_)), _) => return refused("io_size in percent needs `size` in bytes"),
            (None, _) => {}
        }
        Ok(())
    }

    /// Logs without a prefix have the job's name.
    pub(super) fn name_logs(&mut self) {
        let logs = &mut self.job.logs;
        let kinds = [&mut logs.bandwidth, &mut logs.latency, &mut logs.iops];
        for (log, by_name) in kinds.into_iter().zip(self.logs_by_name) {
            if by_name {
                *log = Some(PathBuf::from(&self.job.name));
            }
        }
    }

    fn finish_files(&mut self) -> Set {
        let first = self.directories.first();
        if !self.filenames.is_empty() {
            // As in fio: files that are named lie in the first directory, and their number is nrfiles.
            let place =
                |name: &String| first.map_or_else(|| PathBuf::from(name), |directory| directory.join(name));
            self.job.files = self.filenames.iter().map(place).collect();
            self.job.file_count = self.job.files.len() as u32;
            self.job.directory = None;
        } else if let Some(directory) = first {
            self.job.directory = Some(directory.clone());
        }
        self.name_logs();
        match &self.files_in_other_order {
            Some(order) if self.job.file_count > 1 => {
                refused(format!("file_service_type={order}: files take turns here; leave it out"))
            }
            _ => Ok(()),
        }
    }
}

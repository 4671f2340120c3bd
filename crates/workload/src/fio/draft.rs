//! What do a section's options add up to?
//!
//! fio's options lean on each other whatever their order: `rwmixread` on `rw`, `rate` on `bs`, `sqthread_poll` on `ioengine`.
//! A [`Draft`] keeps what was said; [`Draft::finish`] makes the job of it. What was not said stays as the job had it.

use std::path::PathBuf;

use iostack_model::{
    Access, Amount, Arrival, Bytes, Direction, Distribution, Engine, Job, Mix, Nanos, Order, Rate, Think,
    Verify, VerifyMode,
};

use crate::options::value::{Set, bad, refused};

/// A job in the making.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) job: Job,
    pub(super) kb_base: u64,
    pub(super) pattern: Option<Pattern>,
    pub(super) read_percent: Option<u8>,
    pub(super) order: Option<Order>,
    pub(super) distribution: Option<Distribution>,
    pub(super) engine: Option<EngineName>,
    pub(super) switches: Switches,
    pub(super) rate_iops: [Option<f64>; 3],
    pub(super) rate_bytes: [Option<f64>; 3],
    pub(super) arrival: Option<Arrival>,
    pub(super) think_time: Option<Nanos>,
    pub(super) think_spin: Option<Nanos>,
    pub(super) think_every: Option<u32>,
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

/// `rw=`: direction, random or not, and the bytes behind the colon.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pattern {
    pub(super) mix: Mix,
    pub(super) random: bool,
    pub(super) gap: u64,
}

/// `ioengine=`, before its switches are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EngineName {
    Psync,
    Pvsync2,
    Libaio,
    IoUring,
    Mmap,
}

/// Options of single engines; fio refuses them with others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Switches {
    pub(super) fixed_buffers: Option<bool>,
    pub(super) registered_files: Option<bool>,
    pub(super) poll: Option<bool>,
    pub(super) submit_poll: Option<bool>,
}

impl Draft {
    /// On top of `job`, which keeps what is not said.
    pub(super) fn new(job: Job) -> Draft {
        Draft {
            job,
            kb_base: 1024,
            pattern: None,
            read_percent: None,
            order: None,
            distribution: None,
            engine: None,
            switches: Switches::default(),
            rate_iops: [None; 3],
            rate_bytes: [None; 3],
            arrival: None,
            think_time: None,
            think_spin: None,
            think_every: None,
            verify: None,
            do_verify: None,
            verify_only: None,
            verify_fatal: None,
            io_size: None,
            file_size: None,
            filenames: Vec::new(),
            directories: Vec::new(),
            filename_format: None,
            files_in_other_order: None,
            clones: None,
            group_reporting: false,
            new_group: false,
            exit_all: false,
            logs_by_name: [false; 3],
        }
    }

    /// What fio does when a section says nothing: sequential reads of 4 KiB through the page cache.
    pub(super) fn fio_default() -> Draft {
        let job = Job { access: Access::Sequential, direct: false, ..Job::default() };
        Draft::new(job)
    }

    /// Puts the parts together in `job`.
    pub(super) fn finish(&mut self) -> Set {
        self.finish_access()?;
        self.finish_engine()?;
        self.finish_rate();
        self.finish_verify()?;
        self.finish_think();
        self.finish_sizes()?;
        self.finish_files()
    }

    fn finish_access(&mut self) -> Set {
        let job = &mut self.job;
        if let Some(Pattern { mix, random, gap }) = self.pattern {
            job.mix = mix;
            job.access = match (random, gap) {
                (true, 0) => {
                    Access::Random { order: Order::Permutation, distribution: Distribution::Uniform }
                }
                (true, _) => {
                    return refused("runs of sequential I/O at random places are not made; leave `:N` out");
                }
                (false, 0) => Access::Sequential,
                (false, gap) => Access::Strided { gap: Bytes(gap) },
            };
        }
        if let Some(percent) = self.read_percent
            && job.mix.read > 0
            && job.mix.write > 0
        {
            job.mix = Mix::reads(percent);
        }
        if let Access::Random { order, distribution } = &mut job.access {
            if let Some(typed) = self.order {
                *order = typed;
            }
            if let Some(typed) = &self.distribution {
                *distribution = typed.clone();
                if *typed != Distribution::Uniform {
                    *order = Order::Independent;
                }
            }
        }
        Ok(())
    }

    fn finish_engine(&mut self) -> Set {
        let engine = &mut self.job.engine;
        match self.engine {
            Some(EngineName::Psync) => *engine = Engine::Psync,
            Some(EngineName::Pvsync2) => *engine = Engine::Pvsync2 { hipri: false },
            Some(EngineName::Libaio) => *engine = Engine::Libaio,
            Some(EngineName::IoUring) => *engine = Engine::IO_URING,
            Some(EngineName::Mmap) => *engine = Engine::Mmap,
            None => {}
        }
        let Switches { fixed_buffers: fixed, registered_files: files, poll, submit_poll } = self.switches;
        match engine {
            Engine::IoUring { fixed_buffers, registered_files, poll: polled, submit_poll: submit_polled } => {
                *fixed_buffers = fixed.unwrap_or(*fixed_buffers);
                *registered_files = files.unwrap_or(*registered_files);
                *polled = poll.unwrap_or(*polled);
                *submit_polled = submit_poll.unwrap_or(*submit_polled);
                return Ok(());
            }
            Engine::Pvsync2 { hipri } => *hipri = poll.unwrap_or(*hipri),
            other if poll == Some(true) => {
                return bad(format!("hipri needs ioengine=io_uring or pvsync2, not {}", other.name()));
            }
            _ => {}
        }
        let given = [("fixedbufs", fixed), ("registerfiles", files), ("sqthread_poll", submit_poll)];
        match given.into_iter().find(|(_, on)| *on == Some(true)) {
            Some((name, _)) => bad(format!("{name} needs ioengine=io_uring, not {}", engine.name())),
            None => Ok(()),
        }
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

    fn finish_think(&mut self) {
        if self.think_time.is_none() && self.think_spin.is_none() && self.think_every.is_none() {
            return;
        }
        let before = self.job.think.unwrap_or(Think { time: Nanos(0), every: 1, spin: Nanos(0) });
        let time = self.think_time.unwrap_or(before.time);
        let spin = self.think_spin.unwrap_or(before.spin).min(time);
        let every = self.think_every.unwrap_or(before.every);
        self.job.think = (time.0 > 0).then_some(Think { time, every, spin });
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

//! What do a section's options add up to?
//!
//! Most options change the job at once, in the order of [`super::table::Row::leans_on`]. What several options make
//! together, whatever their order (a rate of the block size, files of their directory), a [`Draft`] keeps until
//! [`Draft::finish`]. What was not said stays as the job had it.

use std::path::PathBuf;

use iostack_model::{
    Access, Advice, Amount, Arrival, Backlog, Beforehand, BlockSizes, Bytes, Data, Direction, Distribution,
    Ends, Job, Mix, Order, Rate, Repeated, Trims, Verify, VerifyMode, WritePointers, Zone, Zones,
};

use crate::options::value::{Set, bad, refused};

/// The parts of [`Trims`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TrimsTyped {
    pub(super) percent: Option<u8>,
    pub(super) writes: Option<u32>,
    pub(super) blocks: Option<u32>,
    pub(super) read_zeroes: Option<bool>,
}

/// A job in the making.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub(super) job: Job,
    pub(super) kb_base: u64,
    pub(super) rate_iops: [Option<f64>; 3],
    pub(super) rate_bytes: [Option<f64>; 3],
    pub(super) arrival: Option<Arrival>,
    pub(super) verify_backlog: Option<u32>,
    pub(super) verify_backlog_batch: Option<u32>,
    pub(super) trims: TrimsTyped,
    pub(super) fills: bool,
    /// Each block once, whatever else is said of the order.
    pub(super) draws_once: bool,
    /// Fewer in flight than this before more are submitted.
    pub(super) low_water: Option<u32>,
    /// Accesses in percent and bytes of each zone.
    pub(super) zones_by_bytes: Vec<(f64, Bytes)>,
    pub(super) zone_mode: bool,
    pub(super) zone: [Bytes; 3],
    pub(super) zbd: bool,
    pub(super) pointers: WritePointers,
    pub(super) repeated: Repeated,
    pub(super) by_set: bool,
    pub(super) unlinks_each_loop: bool,
    /// Sizes of blocks are of I/O in order and at random, instead of reads and writes.
    pub(super) sizes_by_order: bool,
    pub(super) reads_nothing_back: bool,
    pub(super) verify_only: bool,
    pub(super) io_size: Option<Amount>,
    pub(super) file_size: Option<Bytes>,
    pub(super) filenames: Vec<String>,
    pub(super) directories: Vec<PathBuf>,
    pub(super) filename_format: Option<String>,
    pub(super) clones: Option<u32>,
    pub(super) group_reporting: bool,
    pub(super) exit_all: bool,
    pub(super) exit_what: Ends,
}

impl Draft {
    /// Makes a draft on top of `job`, which keeps what is not said.
    pub(super) fn new(job: Job) -> Draft {
        let repeated = match job.data {
            Data::Duplicate(percent) => Repeated { percent, ..Repeated::default() },
            Data::Repeated(repeated) => repeated,
            _ => Repeated::default(),
        };
        let pointers = job.write_pointers.unwrap_or_default();
        let draft = Draft { repeated, pointers, by_set: repeated.set_percent > 0, ..Draft::default() };
        Draft { job, kb_base: 1024, exit_what: Ends::Beside, ..draft }
    }

    /// The job of a section that says nothing: as in fio, sequential reads of 4 KiB through the page cache.
    pub(super) fn fio_default() -> Draft {
        let beforehand = Beforehand { advice: Some(Advice::ByAccess), ..Beforehand::default() };
        let job = Job { access: Access::Sequential, direct: false, beforehand, ..Job::default() };
        Draft::new(job)
    }

    /// Puts the parts together in `job`.
    pub(super) fn finish(&mut self) -> Set {
        if let Access::Random { order, distribution: Distribution::Uniform } = &mut self.job.access
            && self.draws_once
        {
            *order = Order::Permutation;
        }
        if self.sizes_by_order {
            let sizes = &mut self.job.block_sizes;
            let at_random = matches!(self.job.access, Access::Random { .. });
            let chosen = if at_random { sizes.write.clone() } else { sizes.read.clone() };
            if at_random && self.job.follow.random != [100; 3] {
                return refused("bs_is_seq_rand with percentage_random: a job has one order; make two of it");
            }
            *sizes = BlockSizes { read: chosen.clone(), write: chosen.clone(), trim: chosen };
        }
        if self.unlinks_each_loop && self.job.loops > 1 {
            return refused(
                "unlink_each_loop: files stay from pass to pass; write loops out as jobs with unlink and stonewall",
            );
        }
        self.finish_rate();
        self.finish_data();
        if self.exit_all {
            self.job.ends = self.exit_what;
        }
        // As in fio: without a duration nothing is looked at.
        self.job.until_steady = self.job.until_steady.filter(|goal| goal.window.0 > 0);
        self.finish_verify()?;
        self.finish_sizes()?;
        if self.fills {
            self.job.size = None;
        }
        self.finish_files();
        Ok(())
    }

    /// Puts together what repeats and what compresses, which may be both, as in fio.
    fn finish_data(&mut self) {
        let mut repeated = self.repeated;
        match self.job.data {
            _ if repeated.percent == 0 => return,
            Data::Compressible(percent) => (repeated.compressible, repeated.chunk) = (percent, 512),
            Data::CompressibleBy(percent, chunk) => {
                (repeated.compressible, repeated.chunk) = (percent, chunk);
            }
            Data::Random | Data::Duplicate(_) | Data::Repeated(_) => {}
            Data::Zeroes | Data::Pattern(_) => return,
        }
        repeated.set_percent = match repeated.set_percent {
            _ if !self.by_set => 0,
            0 => 5,
            percent => percent,
        };
        let plain = !self.by_set && repeated.compressible == 0;
        self.job.data = if plain { Data::Duplicate(repeated.percent) } else { Data::Repeated(repeated) };
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
        let Some(verify) = self.job.verify else {
            return if self.verify_only { bad("verify_only needs verify=crc32c") } else { Ok(()) };
        };
        let mode = match (self.job.mix == Mix::READ || self.verify_only, self.reads_nothing_back) {
            (true, _) => VerifyMode::ReadOnly,
            (false, true) => VerifyMode::WriteOnly,
            (false, false) => VerifyMode::WriteThenRead,
        };
        if self.verify_only {
            self.job.mix = Mix::READ;
        }
        if verify.pattern && !matches!(self.job.data, Data::Pattern(_)) {
            return bad("verify=pattern needs verify_pattern, like verify_pattern=0xdeadbeef");
        }
        let backlog = self.backlog(verify.backlog).filter(|_| mode == VerifyMode::WriteThenRead);
        let trims = self.trims(verify.trims).filter(|_| mode == VerifyMode::WriteThenRead);
        self.job.verify = Some(Verify { mode, backlog, trims, ..verify });
        Ok(())
    }

    /// The backlog of a verifying job. As in fio, as many are read back as were written, unless said otherwise.
    fn backlog(&self, kept: Option<Backlog>) -> Option<Backlog> {
        let writes = self.verify_backlog.unwrap_or(kept.map_or(0, |kept| kept.writes));
        let same = self.verify_backlog.is_none();
        let reads = self.verify_backlog_batch.or(kept.filter(|_| same).map(|kept| kept.reads));
        let reads = reads.filter(|&reads| reads > 0).unwrap_or(writes);
        (writes > 0).then_some(Backlog { writes, reads })
    }

    /// The trims of a verifying job. As in fio, nothing is trimmed without a percentage, or without a backlog.
    fn trims(&self, kept: Option<Trims>) -> Option<Trims> {
        let kept = kept.unwrap_or(Trims { percent: 0, writes: 0, blocks: 0, read_zeroes: true });
        let writes = self.trims.writes.unwrap_or(kept.writes);
        let blocks = self.trims.blocks.unwrap_or(if self.trims.writes.is_some() { 0 } else { kept.blocks });
        let trims = Trims {
            percent: self.trims.percent.unwrap_or(kept.percent),
            writes,
            blocks: if blocks == 0 { writes } else { blocks },
            read_zeroes: self.trims.read_zeroes.unwrap_or(kept.read_zeroes),
        };
        (trims.percent > 0 && writes > 0).then_some(trims)
    }

    fn finish_sizes(&mut self) -> Set {
        let files = if self.filenames.is_empty() {
            u64::from(self.job.file_count)
        } else {
            self.filenames.len() as u64
        };
        if let Some(file_size) = self.file_size {
            let region = Bytes(file_size.0.saturating_mul(files));
            match self.job.size.map(|size| Amount::Bytes(size.of(region))) {
                Some(Amount::Bytes(size)) if size < region => self.job.io_limit = Some(size),
                _ => {}
            }
            // Of each file only what lies behind the offset.
            let offset = self.job.offset.of(file_size);
            self.job.offset = Amount::Bytes(offset);
            let rest = file_size.0.saturating_sub(offset.0).saturating_mul(files);
            self.job.size = Some(Amount::Bytes(Bytes(rest)));
        }
        self.finish_zones()?;
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

    fn finish_zones(&mut self) -> Set {
        let [size, range, skip] = self.zone;
        if self.zone_mode {
            if size.is_zero() {
                return bad("zonemode=strided needs zonesize, like zonesize=1m");
            }
            let range = if range.is_zero() { size } else { range };
            self.job.zones = Some(Zones { size, range, skip });
        }
        if self.zbd {
            let capacity = if self.pointers.capacity.is_zero() { size } else { self.pointers.capacity };
            if size.is_zero() {
                return bad(
                    "zonemode=zbd needs zonesize, like zonesize=256m: zones of a drive are not looked at",
                );
            }
            if capacity > size {
                return bad("zonecapacity is larger than zonesize");
            }
            self.job.write_pointers = Some(WritePointers { zone: size, capacity, ..self.pointers });
            if !skip.is_zero() && self.job.access == Access::Sequential {
                self.job.zones = Some(Zones { size, range: size, skip });
            }
        }
        if self.zones_by_bytes.is_empty() {
            return Ok(());
        }
        let Some(Amount::Bytes(Bytes(whole))) = self.job.size else {
            return refused("zoned_abs needs `size` in bytes; or give the zones in percent, with zoned");
        };
        let share = |bytes: Bytes| bytes.0 as f64 * 100.0 / whole as f64;
        let mut zones: Vec<Zone> = self
            .zones_by_bytes
            .iter()
            .map(|&(access_percent, bytes)| Zone { access_percent, size_percent: share(bytes) })
            .collect();
        let told: f64 = zones.iter().map(|zone| zone.size_percent).sum();
        if told > 100.01 {
            return bad("the zones are larger than `size`");
        }
        // What lies behind them is not touched.
        zones.push(Zone { access_percent: 0.0, size_percent: 100.0 - told });
        zones.retain(|zone| zone.size_percent > 0.0);
        if let Access::Random { order, distribution } = &mut self.job.access {
            (*order, *distribution) = (Order::Independent, Distribution::Zoned(zones));
        }
        Ok(())
    }

    /// Bounds the batches as fio does: they are never larger than what may be in flight, and no more is submitted
    /// before `low_water`.
    pub(super) fn finish_depth(&mut self) {
        let Job { queue_depth: depth, batch, .. } = &mut self.job;
        batch.submit = batch.submit.min(*depth);
        batch.complete_min = batch.complete_min.min(*depth);
        if let Some(low) = self.low_water {
            batch.complete_min = batch.complete_min.max(depth.saturating_sub(low));
        }
    }

    fn finish_files(&mut self) {
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
    }
}

/// Gives logs without a prefix the job's name.
pub(super) fn name_logs(job: &mut Job) {
    let logs = &mut job.logs;
    let kinds = [&mut logs.bandwidth, &mut logs.latency, &mut logs.iops, &mut logs.histogram];
    for log in kinds.into_iter().flatten().filter(|log| log.as_os_str().is_empty()) {
        *log = PathBuf::from(&job.name);
    }
}

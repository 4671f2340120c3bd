//! Which measurements are points to fit, and what is wrong with the rest?
//!
//! A point is a closed loop of one pattern and one size, past the page cache, without flushes and without anybody looking
//! from inside. Points of one load are one; what was left out is counted by its reason.

use std::collections::BTreeMap;

use iostack_model::answers::{Check, Iolat, Probe, Series, StepKind, Sweep};
use iostack_model::{
    Access, Amount, Bins, BlockSizes, Bytes, Caveat, Direction, Distribution, Engine, Job, Machine, Mix,
    Nanos, Outcome, OutcomeFile, Storage, Sync,
};

/// Content of a file.
pub enum PointSource {
    /// An outcome of `iostack run`.
    Run(Box<OutcomeFile>),
    /// An outcome of `iostack check`.
    Check(Box<Check>),
    /// An outcome of `iostack iolat`.
    Iolat(Box<Iolat>),
    /// An outcome of `iostack probe`.
    Probe(Box<Probe>),
    /// An outcome of `iostack sim sweep`.
    Sweep(Box<Sweep>),
    /// fio's own JSON, as text.
    Fio(String),
    /// A table of a curve, as text.
    Curve(String),
}

/// Loads that differ in the interface of the kernel alone are one curve.
pub(crate) type Load = (u8, bool, u64, u32, u32);

/// Result of one measurement.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) file: String,
    pub(crate) load: Load,
    pub(crate) engine: Engine,
    pub(crate) sync: Sync,
    pub(crate) iops: f64,
    /// Shortest, median, 99th percentile and longest, ns, where there are enough I/Os for them.
    pub(crate) quantiles: Option<[f64; 4]>,
    /// CPU time of an I/O, ns.
    pub(crate) cpu: Option<f64>,
    pub(crate) region: Option<u64>,
    /// Share of its I/Os for which its thread slept, as far as CPU times tell.
    pub(crate) sleeps: f64,
    pub(crate) held_out: bool,
}

impl Point {
    /// Share of reads.
    pub(crate) fn reads(&self) -> f64 {
        f64::from(self.load.0) / 100.0
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.load.3.saturating_mul(self.load.4).max(1)
    }

    /// The job that asks for the same of a simulator; `region` is what the simulated drive has.
    pub(crate) fn job(&self, region: u64) -> Job {
        let (read, sequential, block, queue_depth, threads) = self.load;
        // Enough I/Os for a 99th percentile of each, and for all dies to have had some.
        let ios = (1_u64 << 30).div_ceil(block).clamp(400, 6000) as f64;
        let ios = ios.max(40.0 * f64::from(self.in_flight()));
        let runtime = Nanos((ios / self.iops * 1e9) as u64);
        Job {
            mix: Mix::reads(read),
            access: if sequential { Access::Sequential } else { Access::UNIFORM },
            block_sizes: BlockSizes::all(Bytes(block)),
            engine: self.engine,
            sync: self.sync,
            queue_depth,
            threads,
            size: Some(Amount::Bytes(Bytes(region))),
            runtime: Some(runtime),
            io_count: Some((4.0 * ios / f64::from(threads)) as u64),
            ramp: Nanos(runtime.0 / 5),
            slice: Nanos((runtime.0 / 10).max(1000)),
            time_based: true,
            ..Job::default()
        }
    }
}

/// Points of all files, and what was found on the way.
#[derive(Default)]
pub(crate) struct Gathered {
    pub(crate) points: Vec<Point>,
    /// Loads that flush: they tell what a flush costs, and nothing else.
    pub(crate) flushes: Vec<Point>,
    /// The probe of the drive, and its file.
    pub(crate) probe: Option<(String, Probe)>,
    pub(crate) doubts: Vec<String>,
    /// Reasons for which measurements were left out, and how many.
    pub(crate) left: BTreeMap<&'static str, u32>,
    /// Machine and target of each file, in words, with their number of points.
    pub(crate) origins: Vec<(String, String, usize)>,
    pub(crate) cores: Option<(u32, String)>,
    pub(crate) ghz: Option<(f64, String)>,
}

impl Gathered {
    pub(crate) fn doubt(&mut self, what: String) {
        if !self.doubts.contains(&what) {
            self.doubts.push(what);
        }
    }

    pub(crate) fn leave(&mut self, why: &'static str) {
        *self.left.entry(why).or_default() += 1;
    }

    /// Adds all of a file.
    pub(crate) fn add(&mut self, file: &str, source: &PointSource) -> anyhow::Result<()> {
        let before = self.points.len();
        let origin = match source {
            PointSource::Run(run) => {
                run.outcomes.iter().for_each(|outcome| self.outcome(file, outcome));
                let target = run.outcomes.first().map_or(String::new(), |first| first.target.to_string());
                self.machine(file, &run.machine, &target)
            }
            PointSource::Check(check) => {
                self.caveats(file, &check.caveats);
                let kept = check.steps.iter().filter(|step| is_of_speed(step.id));
                for point in kept.flat_map(|step| &step.points) {
                    if point.series == Series::RawDevice {
                        self.leave("past the file system");
                    } else {
                        self.outcome(file, &point.outcome);
                    }
                }
                self.machine(file, &check.machine, &check.target.to_string())
            }
            PointSource::Iolat(iolat) => {
                self.iolat(file, iolat);
                self.machine(file, &iolat.machine, &iolat.target.to_string())
            }
            PointSource::Probe(probe) => {
                super::probed::read(file, probe, self);
                self.machine(file, &probe.machine, &probe.target.to_string())
            }
            PointSource::Sweep(sweep) => {
                for point in &sweep.points {
                    let device = |(key, _): &(String, String)| key.contains('.') || key == "device";
                    if point.settings.iter().any(device) {
                        self.leave("of a device whose numbers were varied");
                    } else {
                        point.outcomes.iter().for_each(|outcome| self.outcome(file, outcome));
                    }
                }
                self.machine(file, &Machine::default(), &format!("sim:{}", sweep.device))
            }
            PointSource::Fio(text) => super::fio::read(file, text, self)?,
            PointSource::Curve(text) => super::curve::read(file, text, self)?,
        };
        self.origins.push((file.to_owned(), origin, self.points.len() - before));
        Ok(())
    }

    /// Keeps apart the machines that files are of.
    fn machine(&mut self, file: &str, machine: &Machine, target: &str) -> String {
        let cpu = &machine.cpu;
        let cores = if cpu.cores_usable > 0 { cpu.cores_usable } else { cpu.cores_online };
        if cores > 0 && self.cores.is_none() {
            self.cores = Some((cores, file.to_owned()));
        }
        let words = [cpu.model.as_str(), &machine.kernel.release, target];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
    }

    fn outcome(&mut self, file: &str, outcome: &Outcome) {
        let (job, latency) = (&outcome.job, outcome.latency());
        if let Some(why) = no_point(outcome) {
            return self.leave(why);
        }
        self.caveats(file, &outcome.caveats);
        self.storage(file, &outcome.storage);
        let cpu = outcome.cpu_ns_per_io().filter(|ns| *ns > 0.0);
        if let Some(ns) = cpu.filter(|_| outcome.cpu.clocks_per_io > 0.0 && self.ghz.is_none()) {
            self.ghz = Some((outcome.cpu.clocks_per_io / ns, file.to_owned()));
        }
        let whole = outcome.storage.top().map(|device| device.size);
        let region = job.size.and_then(|size| match (size, whole) {
            (Amount::Bytes(bytes), _) => Some(bytes),
            (share, whole) => Some(share.of(whole?)),
        });
        let list = if flush_every(job).is_some() { &mut self.flushes } else { &mut self.points };
        list.push(Point {
            file: file.to_owned(),
            load: (
                job.mix.read,
                matches!(job.access, Access::Sequential),
                job.block_sizes.largest().0,
                job.depth(),
                job.threads,
            ),
            engine: job.engine,
            sync: job.sync,
            iops: outcome.rate(),
            quantiles: quantiles(&latency),
            cpu,
            region: region.or(whole).map(|bytes| bytes.0),
            sleeps: 1.0,
            held_out: false,
        });
    }

    fn iolat(&mut self, file: &str, iolat: &Iolat) {
        self.storage(file, &iolat.storage);
        for test in &iolat.tests {
            if !test.direct || test.sync_every > 0 || test.ios < 100 || test.iops.mean <= 0.0 {
                self.leave("buffered, with flushes, or too short");
                continue;
            }
            self.caveats(file, &test.caveats);
            let hz = iolat.machine.cpu.tsc_hz as f64;
            let read = if test.direction == Direction::Read { 100 } else { 0 };
            self.points.push(Point {
                file: file.to_owned(),
                load: (read, false, test.bytes.0, 1, 1),
                engine: Engine::Psync,
                sync: Sync::default(),
                iops: test.iops.mean,
                quantiles: quantiles(&test.latency),
                cpu: (hz > 0.0 && test.clocks.mean > 0.0).then(|| test.clocks.mean / hz * 1e9),
                region: iolat.storage.top().map(|device| device.size.0),
                sleeps: 1.0,
                held_out: false,
            });
        }
    }

    pub(crate) fn storage(&mut self, file: &str, storage: &Storage) {
        if let Some(fs) = &storage.file_system {
            self.doubt(file_system(file, &fs.kind));
        }
    }

    /// Doubts that say more than how a figure was measured.
    pub(crate) fn caveats(&mut self, file: &str, caveats: &[Caveat]) {
        for caveat in caveats {
            let percent = |share: f64| format!("{:.0} %", 100.0 * share);
            let what = match caveat {
                Caveat::RateStep { before, after, .. } | Caveat::Cliff { before, after, .. } => format!(
                    "the rate fell or rose from {before:.0} to {after:.0} IOPS within a run: credits of a volume \
                     that ran out, or a cache that was full; the sheet answers their mean and knows no credits"
                ),
                Caveat::Slope { .. } | Caveat::Unstable { .. } | Caveat::Drift { .. } => {
                    "the rate drifted: there was no steady state, and the sheet answers the mean".to_owned()
                }
                Caveat::ForeignIo { .. } => "others used the device: it looks slower than it is".to_owned(),
                Caveat::ForeignCpu { share } | Caveat::Steal { share } => format!(
                    "others took {} of the CPU time: latency and clocks hold their waiting",
                    percent(*share)
                ),
                Caveat::IoLimit { line } => format!("the machine limits I/O ({line}): a cap is no drive's"),
                _ => continue,
            };
            // One line a file and kind, with the first figures.
            let begins = format!("`{file}`: {}", what.split([':', '(']).next().unwrap_or(&what));
            let key: String = begins.chars().filter(|each| !each.is_ascii_digit()).collect();
            let known =
                |line: &String| line.chars().filter(|each| !each.is_ascii_digit()).collect::<String>();
            if !self.doubts.iter().any(|line| known(line).starts_with(&key)) {
                self.doubts.push(format!("`{file}`: {what}"));
            }
        }
    }

    /// Leaves the points of the machine that has most; the others are named.
    pub(crate) fn one_machine(&mut self) {
        let mut sums: BTreeMap<String, usize> = BTreeMap::new();
        for (_, origin, count) in &self.origins {
            *sums.entry(origin.clone()).or_default() += count;
        }
        // fio says nothing of a machine but its name.
        let Some((most, _)) = sums.iter().max_by_key(|(_, count)| **count) else { return };
        let others: Vec<_> = self.origins.iter().filter(|(_, origin, _)| origin != most).cloned().collect();
        for (file, origin, count) in others {
            self.points.retain(|point| point.file != file);
            self.flushes.retain(|point| point.file != file);
            self.probe.take_if(|(probed, _)| *probed == file);
            self.doubt(format!(
                "two machines or targets are mixed: `{file}` is of {origin}, the sheet of {most}; its {count} points were left out"
            ));
        }
    }

    /// Points of one load and interface become one, their geometric mean; in the order of their loads.
    pub(crate) fn together(&mut self) {
        let mut all: Vec<Vec<Point>> = Vec::new();
        for point in std::mem::take(&mut self.points) {
            let same = |group: &&mut Vec<Point>| {
                group[0].load == point.load && group[0].engine.name() == point.engine.name()
            };
            match all.iter_mut().find(same) {
                Some(group) => group.push(point),
                None => all.push(vec![point]),
            }
        }
        self.points = all.iter().map(|group| merged(group)).collect();
        self.points.sort_by_key(|point| (100 - point.load.0, point.load));
    }
}

/// Doubt of a file that is of a file on `kind`.
pub(crate) fn file_system(file: &str, kind: &str) -> String {
    format!(
        "`{file}` is of a file on {kind}, not of a device: its clocks and its requests are part of every number"
    )
}

fn merged(group: &[Point]) -> Point {
    let mean = |values: &[f64]| {
        (!values.is_empty()).then(|| {
            (values.iter().map(|value| value.max(1e-9).ln()).sum::<f64>() / values.len() as f64).exp()
        })
    };
    let of = |pick: &dyn Fn(&Point) -> Option<f64>| mean(&group.iter().filter_map(pick).collect::<Vec<_>>());
    let quantile = |index: usize| of(&|point| point.quantiles.map(|all| all[index]));
    let mut one = group[0].clone();
    one.iops = of(&|point| Some(point.iops)).unwrap_or(one.iops);
    one.cpu = of(&|point| point.cpu);
    one.quantiles = quantile(0).map(|least| [least, 0.0, 0.0, 0.0]).map(|mut all| {
        for (index, place) in all.iter_mut().enumerate() {
            *place = quantile(index).unwrap_or(*place);
        }
        all
    });
    one
}

/// Says of each point how often its thread slept: always with one in flight; else by where its CPU time lies between the
/// least and the most of those that ask for several.
pub(crate) fn tell_sleep(points: &mut [Point]) {
    let several = points.iter().filter(|point| !point.engine.is_synchronous());
    let times: Vec<f64> = several.filter_map(|point| point.cpu).collect();
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    let most = times.iter().copied().fold(0.0, f64::max);
    for point in points.iter_mut().filter(|point| point.load.3 > 1) {
        let share = point.cpu.map_or(0.5, |own| (own - least) / (most - least).max(1e-9));
        point.sleeps = share.clamp(0.0, 1.0);
    }
}

/// Steps of a check that ask how fast it is, not how it ends or who is in the way.
fn is_of_speed(step: StepKind) -> bool {
    use StepKind::{Cells, Depth, Engines, Latency, Paths, Size, Sync, Threads};
    matches!(step, Latency | Depth | Cells | Size | Paths | Threads | Engines | Sync)
}

/// A flush after so many writes of one at a time, for which all that was written waits.
pub(crate) fn flush_every(job: &Job) -> Option<u32> {
    let Sync { fsync_every, fdatasync_every, .. } = job.sync;
    let every = fsync_every.max(fdatasync_every);
    let is_plain = Sync { fsync_every, fdatasync_every, ..Sync::default() } == job.sync;
    let is_told = is_plain && job.mix == Mix::WRITE && job.depth() == 1 && (job.direct || every == 1);
    (every > 0 && is_told).then_some(every)
}

/// The reason why an outcome is no point; `None` where it is one.
fn no_point(outcome: &Outcome) -> Option<&'static str> {
    let job = &outcome.job;
    let random = match &job.access {
        Access::Random { distribution, .. } => *distribution == Distribution::Uniform,
        Access::Sequential => true,
        _ => false,
    };
    let polls = matches!(
        job.engine,
        Engine::Pvsync2 { hipri: true }
            | Engine::IoUring { poll: true, .. }
            | Engine::IoUring { submit_poll: true, .. }
    );
    let plain = matches!(
        job.engine,
        Engine::Psync | Engine::Pvsync2 { .. } | Engine::Libaio | Engine::IoUring { .. }
    );
    let flushes = flush_every(job).is_some();
    let reasons = [
        (!job.direct && !flushes, "through the page cache"),
        (polls, "polled"),
        (!plain, "by an engine that the simulator has not"),
        (job.sync != Sync::default() && !flushes, "with flushes beside other I/Os"),
        (job.is_timed() || job.recorded.is_some(), "no closed loop"),
        (job.mix.trim > 0 || !random || job.zones.is_some(), "of a pattern that is not fitted"),
        (job.block_sizes.smallest() != job.block_sizes.largest(), "of several sizes"),
        (job.batch.submit > 1 || job.batch.complete_min > 1, "in batches"),
        (job.host.scheduler.is_some(), "with another scheduler"),
        (outcome.stages.is_some() || outcome.layers.is_some(), "looked at from inside"),
        (outcome.interrupted || !outcome.failures.is_empty(), "interrupted or failed"),
        (outcome.ios() < 100 || outcome.rate() <= 0.0, "of less than 100 I/Os"),
    ];
    reasons.into_iter().find_map(|(is, why)| is.then_some(why))
}

/// Figures of a latency that has I/Os enough for its 99th percentile.
fn quantiles(bins: &Bins) -> Option<[f64; 4]> {
    let at = |fraction| bins.quantile_ns(fraction).map(|ns| ns as f64);
    (bins.count >= 1000).then_some([bins.min_ns as f64, at(0.5)?, at(0.99)?, bins.max_ns as f64])
}

/// Every third load that is no end of its curve is held out: nothing is fitted to it, whatever interface it went by.
pub(crate) fn hold_out(points: &mut [Point]) {
    let loads: Vec<Load> = {
        let mut loads: Vec<Load> = points.iter().map(|point| point.load).collect();
        loads.sort_unstable();
        loads.dedup();
        loads
    };
    let flight = |load: &Load| load.3.saturating_mul(load.4);
    let inside = |load: &Load| {
        let curve: Vec<&Load> =
            loads.iter().filter(|other| (other.0, other.1, other.2) == (load.0, load.1, load.2)).collect();
        let sizes: Vec<&Load> = loads
            .iter()
            .filter(|other| (other.0, other.1, other.3, other.4) == (load.0, load.1, load.3, load.4))
            .collect();
        let between = |all: &[&Load], of: &dyn Fn(&Load) -> u64| {
            all.iter().any(|other| of(other) < of(load)) && all.iter().any(|other| of(other) > of(load))
        };
        between(&curve, &|load| u64::from(flight(load))) || between(&sizes, &|load| load.2)
    };
    let held: Vec<Load> = loads.iter().filter(|load| inside(load)).copied().skip(1).step_by(3).collect();
    for point in points {
        point.held_out = held.contains(&point.load);
    }
}

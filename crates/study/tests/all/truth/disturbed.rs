//! Does the verdict stay right where a check is disturbed? Each platform is measured once as it is; what it answered is then bent as
//! the world bends it, drawn by a seed, and the same check judges again.
//!
//! | disturbance | what it does | what a host sees of it |
//! | --- | --- | --- |
//! | noise | rates of runs and of their elements vary, neighbours alike | the scatter |
//! | storms | some runs in a row at a fraction of their rate | nothing |
//! | programs, steal | cores are taken away, always or at times | foreign time and waiting; stolen time |
//! | unseen steal | cores are taken away | nothing: its threads seem to run |
//! | cache, warming cache | a share of reads comes from memory, from the start or more and more | short latencies |
//! | neighbour | a second job in the same simulated world, always or at times | its traffic, or nothing |

use std::cell::RefCell;
use std::sync::atomic::AtomicBool;

use iostack_model::answers::Check;
use iostack_model::{
    Access, Bins, BlockSizes, Bytes, Caveat, CpuUse, Direction, Distribution, Engine, Heat, Job, Ladder, Mix,
    Nanos, Order, Outcome, OutcomeFile, bin_index, bin_middle,
};
use iostack_study::check::{self, CheckQuestion};
use iostack_target::{
    About, AnyTarget, Audience, Description, How, Measured, Session, Target, Wanted, Wishes,
};
use iostack_workload::Rng;

use super::platforms::{TRUTHS, Truth, between, drawn, opened};

/// Disturbance of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Disturbance {
    Nothing,
    LightNoise,
    Noise,
    Storms,
    Programs,
    Steal,
    UnseenSteal,
    Cache,
    WarmingCache,
    SeenNeighbour,
    Neighbour,
    NeighbourAtTimes,
}

use Disturbance::{
    Cache, LightNoise, Neighbour, NeighbourAtTimes, Noise, Nothing, Programs, SeenNeighbour, Steal, Storms,
    UnseenSteal, WarmingCache,
};

/// Those of every target, of a platform, whose cores can be taken, and of a drive, which can have a neighbour.
const ANYWHERE: [Disturbance; 6] = [Nothing, LightNoise, Noise, Storms, Cache, WarmingCache];
const OF_CORES: [Disturbance; 3] = [Programs, Steal, UnseenSteal];
const OF_NEIGHBOURS: [Disturbance; 3] = [SeenNeighbour, Neighbour, NeighbourAtTimes];

impl Disturbance {
    /// All of them.
    pub(crate) fn all() -> impl Iterator<Item = Disturbance> {
        ANYWHERE.into_iter().chain(OF_CORES).chain(OF_NEIGHBOURS)
    }

    /// Those of this target.
    pub(crate) fn of_truth(truth: &Truth) -> impl Iterator<Item = Disturbance> + use<> {
        let own = if truth.on == "sim:nvme-server" { OF_CORES } else { OF_NEIGHBOURS };
        ANYWHERE.into_iter().chain(own)
    }

    /// It is a second job in the same world, which may become what limits.
    pub(crate) fn is_real(self) -> bool {
        OF_NEIGHBOURS.contains(&self)
    }
}

/// A platform, and what it answered undisturbed, run by run.
pub(crate) struct Platform {
    target: AnyTarget,
    clean: RefCell<Vec<Outcome>>,
}

impl Platform {
    pub(crate) fn drawn(truth: &Truth, draw: u64) -> Platform {
        Platform { target: opened(truth.on, &drawn(truth, draw)), clean: RefCell::default() }
    }

    /// Checked while `what` disturbs it.
    pub(crate) fn checked(&self, truth: &Truth, what: Disturbance, draw: u64) -> Check {
        if self.clean.borrow().is_empty() && what != Nothing {
            self.checked(truth, Nothing, draw);
        }
        let asked = CheckQuestion { effort: truth.effort, size: None, seed: draw, against: None };
        let number = TRUTHS.iter().position(|other| other.name == truth.name).expect("one of them");
        let disturbed = Disturbed { platform: self, what, seed: draw * TRUTHS.len() as u64 + number as u64 };
        check::answer(&asked, &disturbed, &AtomicBool::new(false)).expect("it can be checked")
    }
}

struct Disturbed<'a> {
    platform: &'a Platform,
    what: Disturbance,
    seed: u64,
}

impl Target for Disturbed<'_> {
    fn describe(&self) -> &Description {
        self.platform.target.describe()
    }

    fn run(&self, jobs: &[Job], wanted: Wanted, audience: &dyn Audience) -> anyhow::Result<OutcomeFile> {
        self.platform.target.run(jobs, wanted, audience)
    }

    fn occupy<'a>(
        &'a self,
        wishes: &Wishes,
        audience: &dyn Audience,
    ) -> anyhow::Result<Box<dyn Session + 'a>> {
        let session = self.platform.target.occupy(wishes, audience)?;
        let weather = RefCell::new(Weather::drawn(self.what, self.seed));
        Ok(Box::new(HeldPlatform { platform: self.platform, session, weather }))
    }
}

/// The platform, held, and its weather.
struct HeldPlatform<'a> {
    platform: &'a Platform,
    session: Box<dyn Session + 'a>,
    weather: RefCell<Weather>,
}

impl HeldPlatform<'_> {
    /// Outcome of run `number` without disturbance.
    fn clean(&self, number: usize, job: &Job, how: How, audience: &dyn Audience) -> Result<Outcome, String> {
        if self.platform.clean.borrow().len() <= number {
            let outcome = self.session.run(job, how, audience)?.outcome;
            self.platform.clean.borrow_mut().push(Outcome { heat: Heat::default(), ..outcome });
        }
        let clean = self.platform.clean.borrow()[number].clone();
        assert_eq!(clean.job.seed, job.seed, "each check asks the same in the same order");
        Ok(clean)
    }

    /// Outcomes of the job and of another beside it in the same world.
    fn beside(&self, job: &Job, other: Job, audience: &dyn Audience) -> Result<[Outcome; 2], String> {
        let jobs = [Job { report_group: 0, ..job.clone() }, Job { report_group: 1, ..other }];
        let ran = self.platform.target.run(&jobs, Wanted::default(), audience);
        let [mut ours, theirs]: [Outcome; 2] = ran
            .map_err(|error| format!("{error:#}"))?
            .outcomes
            .try_into()
            .map_err(|_| "two jobs, two outcomes")?;
        ours.storage.clone_from(&self.session.about().storage);
        Ok([ours, theirs])
    }
}

impl Session for HeldPlatform<'_> {
    fn about(&self) -> &About {
        self.session.about()
    }

    fn ladder(&self) -> Ladder {
        self.session.ladder()
    }

    fn run(&self, job: &Job, how: How, audience: &dyn Audience) -> Result<Measured, String> {
        let mut weather = self.weather.borrow_mut();
        let number = weather.runs;
        weather.next();
        let outcome = match weather.neighbour(job) {
            // The first run tells how long the others are to be.
            Some(other) if number > 0 => {
                let [mut ours, theirs] = self.beside(job, other, audience)?;
                weather.see(&mut ours, &theirs);
                weather.bend(&mut ours, 1.0);
                ours
            }
            _ => {
                let mut outcome = self.clean(number, job, how, audience)?;
                if number > 0 && weather.what != Nothing {
                    weather.disturb(&mut outcome);
                }
                outcome
            }
        };
        Ok(Measured { outcome, notes: Vec::new() })
    }
}

/// State of the world while a check runs.
struct Weather {
    what: Disturbance,
    rng: Rng,
    /// Runs so far.
    runs: usize,
    /// Scatter of runs, as logarithms of rates, and the deviation of the present one.
    scatter: f64,
    off: f64,
    /// The disturbance is there now.
    there: bool,
    /// It is there all the time.
    stays: bool,
    /// The share that it takes: of the rate, of the cores, of the reads.
    share: f64,
    neighbour: Job,
}

/// Share of its deviation that a run hands to the next.
const MEMORY: f64 = 0.6;

/// A read from memory takes so long.
const FROM_MEMORY_NS: f64 = 8_000.0;

/// Runs after which a warming cache is warm.
const WARM: usize = 40;

impl Weather {
    fn drawn(what: Disturbance, seed: u64) -> Weather {
        let mut rng = Rng::stream(seed, what as u64);
        let scatter = match what {
            Noise => between(&mut rng, 0.02, 0.06),
            LightNoise => between(&mut rng, 0.003, 0.02),
            _ => between(&mut rng, 0.002, 0.01),
        };
        let share = match what {
            Storms => between(&mut rng, 0.15, 0.85),
            Programs | Steal | UnseenSteal => between(&mut rng, 0.05, 0.6),
            _ => between(&mut rng, 0.05, 0.7),
        };
        let at_times = matches!(what, Storms | NeighbourAtTimes);
        let stays = !at_times && (matches!(what, Neighbour) || rng.below(2) == 0);
        let sizes = [Bytes(4096), Bytes(16 << 10), Bytes(128 << 10)];
        let neighbour = Job {
            name: "neighbour".to_owned(),
            mix: [Mix::READ, Mix::reads(50), Mix::WRITE][rng.below(3) as usize],
            block_sizes: BlockSizes::all(sizes[rng.below(3) as usize]),
            queue_depth: 1 << rng.below(6),
            engine: Engine::IO_URING,
            ..Job::default()
        };
        Weather { what, rng, runs: 0, scatter, off: 0.0, there: stays, stays, share, neighbour }
    }

    /// A number of the normal distribution, nearly.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.rng.unit()).sum::<f64>() - 6.0
    }

    fn next(&mut self) {
        self.runs += 1;
        self.off = MEMORY * self.off + (1.0 - MEMORY * MEMORY).sqrt() * self.scatter * self.normal();
        let turns = self.rng.below(if self.there { 6 } else { 20 }) == 0;
        if !self.stays && turns {
            self.there = !self.there;
        }
    }

    /// Job of the neighbour, if it runs now.
    fn neighbour(&self, job: &Job) -> Option<Job> {
        (self.what.is_real() && self.there).then(|| Job {
            access: Access::Random { order: Order::Independent, distribution: Distribution::Uniform },
            direct: true,
            size: job.size,
            runtime: job.runtime,
            ramp: job.ramp,
            time_based: true,
            slice: job.slice,
            seed: !job.seed,
            ..self.neighbour.clone()
        })
    }

    /// Adds the doubt by which a host sees a neighbour.
    fn see(&self, ours: &mut Outcome, theirs: &Outcome) {
        let [mine, other] = [ours.bandwidth(), theirs.bandwidth()];
        let share = other / (mine + other);
        if self.what == SeenNeighbour && share > 0.05 {
            let device = ours.storage.devices[0].name.clone();
            ours.caveats.push(Caveat::ForeignIo { device, bytes: theirs.bytes(), share });
        }
    }

    /// Disturbs the outcome of a run.
    fn disturb(&mut self, outcome: &mut Outcome) {
        let share = if self.there { self.share } else { 0.0 };
        match self.what {
            Storms => self.bend(outcome, 1.0 - share),
            Programs | Steal | UnseenSteal => self.take_cores(outcome, share),
            Cache => self.answer_from_memory(outcome, self.share),
            WarmingCache => {
                let warm = (self.runs as f64 / WARM as f64).min(1.0);
                self.answer_from_memory(outcome, self.share * warm);
            }
            _ => self.bend(outcome, 1.0),
        }
    }

    /// The rate, `times` what it was, with its scatter. The depth stays, so that latencies go the other way; an I/O costs the
    /// processors what it did.
    fn bend(&mut self, outcome: &mut Outcome, times: f64) {
        let (level, mut off, mut old, mut new) = (times * self.off.exp(), 0.0, 0, 0);
        for element in &mut outcome.series {
            off = MEMORY * off + self.scatter * self.normal();
            let factor = level * f64::exp(off);
            for (ios, bytes) in element.ios.iter_mut().zip(&mut element.bytes) {
                let bent = (*ios as f64 * factor).round() as u64;
                *bytes = *bytes / (*ios).max(1) * bent;
                (old, new, *ios) = (old + *ios, new + bent, bent);
            }
            for time in [&mut element.p50, &mut element.p99, &mut element.max] {
                time.0 = (time.0 as f64 / factor) as u64;
            }
        }
        let factor = if old > 0 && new > 0 { new as f64 / old as f64 } else { level };
        // A core that is full stays so, whatever an I/O costs it.
        let busy = if outcome.cpu.busiest_thread >= 0.9 { times.min(1.0) } else { factor };
        for flow in [&mut outcome.read, &mut outcome.write] {
            flow.bytes.0 = (flow.bytes.0 as f64 * factor) as u64;
            flow.latency = scaled(&flow.latency, factor, 1.0 / factor);
        }
        outcome.sync = scaled(&outcome.sync, factor, 1.0 / factor);
        let cpu = &mut outcome.cpu;
        for time in [&mut cpu.user, &mut cpu.system, &mut cpu.workers] {
            time.0 = (time.0 as f64 * factor) as u64;
        }
        for count in [&mut cpu.syscalls, &mut cpu.switches_voluntary, &mut cpu.switches_involuntary] {
            *count = (*count as f64 * factor) as u64;
        }
        for share in [&mut cpu.busiest_thread, &mut cpu.wanted, &mut cpu.machine_busy] {
            *share = (*share * busy).min(1.0);
        }
        outcome.iops = iostack_stats::series_interval(&outcome.series);
        outcome.caveats.retain(|caveat| {
            use Caveat::{Cliff, FewSamples, RateStep, Slope, Unstable};
            !matches!(
                caveat,
                Unstable { .. } | FewSamples { .. } | RateStep { .. } | Cliff { .. } | Slope { .. }
            )
        });
        outcome.caveats.extend(iostack_stats::doubts_of_series(outcome));
    }

    /// Others have this share of each core.
    fn take_cores(&mut self, outcome: &mut Outcome, share: f64) {
        let (threads, cpu) = (f64::from(outcome.job.threads), &outcome.cpu);
        let of_thread = of_thread(outcome);
        let longer = share / (1.0 - share);
        let enough = ((1.0 - share) / cpu.busiest_thread.max(1e-9)).min(1.0);
        let alone = 1.0 / (1.0 + of_thread * longer);
        self.bend(outcome, if outcome.job.depth() == 1 { enough.min(alone) } else { enough });
        let elapsed = outcome.elapsed.0 as f64;
        let CpuUse { busiest_thread, wanted, waiting, foreign, machine_busy, steal, system, .. } =
            &mut outcome.cpu;
        let lacked = (*busiest_thread * longer).min(1.0 - *busiest_thread);
        match self.what {
            Programs => {
                (*foreign, *wanted) = (share, *busiest_thread + lacked);
                *waiting = Nanos((elapsed * threads * lacked) as u64);
                *machine_busy = (*machine_busy + share).min(1.0);
            }
            Steal => *steal = (*machine_busy * longer).min(1.0 - *machine_busy),
            _ => {
                *system = Nanos((system.0 as f64 * (1.0 + longer)) as u64);
                *busiest_thread += lacked;
                *wanted = *busiest_thread;
                *machine_busy = (*machine_busy * (1.0 + longer)).min(1.0);
            }
        }
    }

    /// This share of reads comes from memory on the way: what is full before it stays full.
    fn answer_from_memory(&mut self, outcome: &mut Outcome, share: f64) {
        let reads = outcome.flow(Direction::Read).latency.clone();
        if reads.count == 0 || outcome.job.block_sizes.largest() > Bytes(4096) {
            return self.bend(outcome, 1.0);
        }
        let hits = share * reads.count as f64 / outcome.ios() as f64;
        let quick = (FROM_MEMORY_NS / reads.mean_ns()).min(1.0);
        let before = ["core", "lock", "bucket"];
        let inside = outcome.inside.iter().flat_map(|inside| &inside.resources);
        let full = inside.filter(|part| before.contains(&part.name.as_str())).map(|part| part.busiest);
        let most = (1.0 / full.fold(of_thread(outcome), f64::max).max(1e-9)).max(1.0);
        let times = (1.0 / (1.0 - hits + hits * quick)).min(most);
        self.bend(outcome, times);
        let whole = &outcome.read.latency;
        let hit_ns = FROM_MEMORY_NS.min(whole.mean_ns());
        let slower = (whole.mean_ns() - share * hit_ns) / (1.0 - share) / whole.mean_ns();
        let mut split = scaled(whole, 1.0 - share, slower);
        let count = whole.count - split.count;
        let one = Bins {
            counts: vec![(bin_index(hit_ns as u64) as u32, count)],
            count,
            sum_ns: count * hit_ns as u64,
            sum_squares_ns2: count as f64 * hit_ns * hit_ns,
            min_ns: hit_ns as u64,
            max_ns: hit_ns as u64,
        };
        split.merge(&one);
        outcome.read.latency = split;
    }
}

/// Busy share of a core per thread, interrupts included.
fn of_thread(outcome: &Outcome) -> f64 {
    let host = outcome.inside.as_ref().and_then(|inside| inside.host.as_ref());
    let cores = f64::from(host.map_or(1, |host| host.cores));
    (outcome.cpu.machine_busy * cores / f64::from(outcome.job.threads)).min(1.0)
}

/// So many times as many, each so many times as long.
fn scaled(bins: &Bins, times: f64, longer: f64) -> Bins {
    let (mut seen, mut given) = (0.0, 0);
    let mut counts: Vec<(u32, u64)> = Vec::new();
    for &(index, count) in &bins.counts {
        let index = bin_index((bin_middle(index as usize) as f64 * longer) as u64) as u32;
        seen += count as f64 * times;
        let count = seen.round() as u64 - given;
        given += count;
        match counts.last_mut() {
            Some(last) if last.0 == index => last.1 += count,
            _ => counts.push((index, count)),
        }
    }
    counts.retain(|&(_, count)| count > 0);
    let long = |ns: u64| (ns as f64 * longer) as u64;
    Bins {
        counts,
        count: given,
        sum_ns: (bins.sum_ns as f64 * longer * given as f64 / bins.count.max(1) as f64) as u64,
        sum_squares_ns2: bins.sum_squares_ns2 * longer * longer * times,
        min_ns: long(bins.min_ns),
        max_ns: long(bins.max_ns),
    }
}

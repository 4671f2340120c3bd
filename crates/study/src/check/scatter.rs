//! How far do runs of the same job differ, and does the verdict stand whatever of that is chance? Pure.
//!
//! A check asks for the same reads in several steps. What their rates differ by, any other rate may be off by, too: so the rules judge
//! again and again with every rate moved by as much, at random but the same each time. Where they do not agree, nothing is said.

use iostack_model::answers::{Limit, Step, StepKind};
use iostack_model::{Heat, Job, Nanos, Outcome};
use iostack_workload::Rng;

use super::facts::{Facts, Finding};
use super::summary;

/// I/Os in flight from which on the scatter of single I/Os no longer shows.
pub(super) const MANY: u32 = 8;

/// Steps whose runs go the same way. Others are looked at from inside, go past the file or through the cache, or under another scheduler.
const ALIKE: [StepKind; 6] = [
    StepKind::Latency,
    StepKind::Depth,
    StepKind::Cells,
    StepKind::Size,
    StepKind::Threads,
    StepKind::Engines,
];

/// So many times what chance explains is seen in one of twenty cases, of seven or eight runs more than there are jobs.
const SURE: f64 = 2.0;

/// So often the rules judge again.
pub(super) const TRIALS: u64 = 40;

/// So many may find another limit: one in twenty.
pub(super) const DISSENT: usize = 2;

/// The verdict of `judge`, where it stands within what repeated runs differ by.
pub(super) fn firm(facts: &Facts<'_>, found: Finding, judge: impl Fn(&Facts<'_>) -> Limit) -> Finding {
    let scatter = facts.scatter;
    if found.0 == Limit::Unknown {
        return found;
    }
    let rates = light(facts.steps);
    let trials = (1..=TRIALS).map(|seed| {
        let steps = moved(&rates, scatter, &mut Rng::from_seed(seed));
        let summary = summary::summarise(&steps);
        judge(&Facts { steps: &steps, summary: &summary, ..*facts })
    });
    let Some(other) = trials.filter(|limit| *limit != found.0).nth(DISSENT) else { return found };
    let answer = format!(
        "Unknown: rates of the same reads differ by {:.1} %, and within that the limit may also be {}. As \
         they are: {}",
        scatter.few * 100.0,
        name(other),
        found.1
    );
    (Limit::Unknown, answer)
}

const fn name(limit: Limit) -> &'static str {
    match limit {
        Limit::Device => "the device",
        Limit::OneCore => "one core",
        Limit::AllCores => "the processors",
        Limit::OneQueue => "one queue",
        Limit::Scheduler => "the I/O scheduler",
        Limit::Engine => "the engine in use",
        Limit::Cap => "a cap",
        Limit::Generator => "the depth that was asked",
        Limit::Unknown => "another",
    }
}

/// Standard deviations of rates of the same job, as shares of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Scatter {
    /// Reads with few in flight, whose latencies differ by chance.
    pub(super) few: f64,
    /// Reads with many.
    pub(super) many: f64,
    /// Runs with writes, which may change the storage.
    pub(super) writes: f64,
}

impl Scatter {
    pub(crate) fn of_steps(steps: &[Step]) -> Scatter {
        let of = |wanted: fn(&Job) -> bool| deviation(&repeats(steps, wanted));
        let (few, few_beyond) = of(|job| !job.mix.destroys() && job.in_flight() < MANY);
        let (many, _) = of(|job| !job.mix.destroys() && job.in_flight() >= MANY);
        let (writes, _) = of(|job| job.mix.destroys() && job.in_flight() >= MANY);
        let many = many.max(few_beyond);
        Scatter { few: few.max(many), many, writes: writes.max(many) }
    }

    fn of_run(self, outcome: &Outcome) -> f64 {
        match (outcome.job.mix.destroys(), outcome.job.in_flight() < MANY) {
            (true, _) => self.writes,
            (false, true) => self.few,
            (false, false) => self.many,
        }
    }
}

/// The standard deviation of rates of the same reads, and how much of it is beyond the chance that the elements of each run show; 0
/// where none was repeated.
fn deviation(repeats: &[Vec<(f64, f64)>]) -> (f64, f64) {
    let (mut squares, mut chance, mut free) = (0.0, 0.0, 0);
    for runs in repeats {
        let mean = runs.iter().map(|run| run.0).sum::<f64>() / runs.len() as f64;
        squares += runs.iter().map(|run| (run.0 - mean).powi(2)).sum::<f64>();
        chance +=
            runs.iter().map(|run| run.1.powi(2)).sum::<f64>() / runs.len() as f64 * (runs.len() - 1) as f64;
        free += runs.len() - 1;
    }
    let of = |squares: f64| if free > 0 { (squares / free as f64).sqrt() } else { 0.0 };
    (of(squares), if squares > chance * SURE { of(squares - chance) } else { 0.0 })
}

/// Logarithms of the rates of each job that was run several times, with their chance error.
fn repeats(steps: &[Step], wanted: fn(&Job) -> bool) -> Vec<Vec<(f64, f64)>> {
    let mut jobs: Vec<(Job, Vec<(f64, f64)>)> = Vec::new();
    let points = steps.iter().filter(|step| ALIKE.contains(&step.id)).flat_map(|step| &step.points);
    for outcome in points.map(|point| &point.outcome).filter(|outcome| wanted(&outcome.job)) {
        // Half of a 95 % interval is two standard deviations.
        let run = (outcome.rate().max(1e-9).ln(), outcome.iops.relative() / 2.0);
        let asked = asked(outcome);
        match jobs.iter_mut().find(|(job, _)| *job == asked) {
            Some((_, runs)) => runs.push(run),
            None => jobs.push((asked, vec![run])),
        }
    }
    jobs.into_iter().map(|(_, runs)| runs).filter(|runs| runs.len() > 1).collect()
}

/// Job without its seed and times.
fn asked(outcome: &Outcome) -> Job {
    let none = Nanos(0);
    Job { seed: 0, runtime: None, ramp: none, slice: none, ..outcome.job.clone() }
}

/// The steps without what no rule looks at, so that copies are cheap.
fn light(steps: &[Step]) -> Vec<Step> {
    let mut steps = steps.to_vec();
    for outcome in steps.iter_mut().flat_map(|step| &mut step.points).map(|point| &mut point.outcome) {
        (outcome.heat, outcome.inside) = (Heat::default(), None);
        (outcome.series, outcome.log) = (Vec::new(), Vec::new());
    }
    steps
}

/// The steps with every rate off by chance.
fn moved(steps: &[Step], scatter: Scatter, rng: &mut Rng) -> Vec<Step> {
    let mut steps = steps.to_vec();
    for outcome in steps.iter_mut().flat_map(|step| &mut step.points).map(|point| &mut point.outcome) {
        // The sum of twelve numbers of 0..1 is nearly normal, with deviation 1.
        let normal = (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
        let times = (scatter.of_run(outcome) * normal).exp();
        let iops = &mut outcome.iops;
        (iops.mean, iops.low, iops.high) = (iops.mean * times, iops.low * times, iops.high * times);
        outcome.elapsed = Nanos((outcome.elapsed.0 as f64 / times) as u64);
    }
    steps
}

//! Would temporal merging pay on a simulated platform? In virtual time, one run for each cell.
//!
//! c and x are fitted to commands of 4 to 64 KiB, one at a time, through the platform as it stands. The subsystems are those that
//! the simulator knows; what they reach is held against the peak, large sequential requests of the drive alone.

use std::sync::atomic::Ordering;

use anyhow::{Context, bail};
use iostack_model::answers::{
    MergeAsk, MergeCell, MergePoint, MergeReport, MergeRound, MergeTable, MergeVerdict,
};
use iostack_model::{
    Access, BlockSizes, Bytes, Caveat, Direction, Engine, HostUse, Interval, Job, Machine, Mix, Nanos,
    Outcome, SCHEMA, Storage,
};
use iostack_target::{AnyTarget, Audience, Description, Target, Wanted};

use super::answer::MergeQuestion;
use super::plan::SIZES;
use super::{advice, fit, gather, report};
use crate::check::doubts::one_of_each;
use crate::sweep::pool::{self, Given, RunWindow, Task};

/// Bytes of a request.
const REQUEST: Bytes = Bytes(4096);
/// Virtual time of each cell.
const RUNTIME: Nanos = Nanos::millis(100);
/// Requests of the largest command that is fitted: 64 KiB.
const LARGEST: u32 = 16;
/// The key that chooses how requests come together.
const KEY: &str = "platform.subsystem";
/// The key that names the drive.
const DRIVE: &str = "platform.drive";

const HOW: &str = "one caller asks for 4 to 64 KiB at a time, through the platform as it stands";

/// Simulates all of it.
pub(crate) fn simulate(
    asked: &MergeQuestion<'_>,
    target: &dyn Target,
    talk: &dyn Audience,
) -> anyhow::Result<MergeReport> {
    let sheet = target.describe();
    let subsystem = sheet.number(KEY).filter(|_| merges(sheet));
    let words = subsystem.map_or(&[][..], |number| number.words);
    let sizes: Vec<u32> = SIZES.into_iter().filter(|&size| size <= LARGEST).collect();
    let of_fit = sizes.iter().map(|&size| task(asked, None, 1, Bytes(REQUEST.0 * u64::from(size))));
    let cells: Vec<(&str, u32)> =
        words.iter().flat_map(|word| SIZES.map(|callers| (*word, callers))).collect();
    let of_cells = cells.iter().map(|&(word, callers)| task(asked, Some(word), callers, REQUEST));
    let tasks: Vec<Task> = of_fit.chain(of_cells).collect();
    talk.say(&format!("{} runs in virtual time, some seconds", tasks.len()));
    let parallel = std::thread::available_parallelism().map_or(1, usize::from);
    let given = pool::run(&tasks, (parallel, asked.targets), talk.stop(), &mut |watched, _| {
        talk.live(&format!("{} of {} runs", watched.done, tasks.len()));
    });
    let outcomes: Vec<Option<Outcome>> = given.into_iter().map(outcome).collect::<anyhow::Result<_>>()?;
    let peak = peak(sheet, asked, talk)?;
    let (of_fit, of_cells) = outcomes.split_at(sizes.len());
    let points =
        sizes.iter().zip(of_fit).filter_map(|(&requests, outcome)| Some(point(requests, outcome.as_ref()?)));
    let fit = fit::of_points(points.collect(), HOW);
    let base = subsystem.map_or("async", |number| &number.text).to_owned();
    let cells = cells
        .iter()
        .zip(of_cells)
        .filter_map(|(&(word, callers), outcome)| Some(cell(word, callers, outcome.as_ref()?, peak)));
    let cells: Vec<MergeCell> = gather::held_against(&base, first(&base, cells.collect()));
    let tables: Vec<MergeTable> =
        if cells.is_empty() { Vec::new() } else { vec![MergeTable { ask: MergeAsk::Calls, base, cells }] };
    let verdicts = if words.is_empty() { vec![no_command(sheet)] } else { advice::verdicts(&tables, true) };
    let mut caveats = report::of_figures(fit.as_ref(), &tables);
    caveats.extend(doubts(outcomes.iter().flatten()));
    Ok(MergeReport {
        schema: SCHEMA,
        iostack: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms: 0,
        elapsed: Nanos(0),
        effort: asked.effort,
        seed: asked.seed,
        target: sheet.name.clone().context("a simulated target has a name")?,
        changes: asked.changes.to_vec(),
        machine: Machine::default(),
        storage: Storage::default(),
        scratch: None,
        request: REQUEST,
        direction: asked.direction,
        direct: true,
        fit,
        tables,
        verdicts,
        caveats,
        notes: Vec::new(),
        interrupted: talk.stop().load(Ordering::Relaxed),
    })
}

/// A platform, not a drive alone.
fn has_host(sheet: &Description) -> bool {
    sheet.number(DRIVE).is_some()
}

/// Its commands may carry several requests.
fn merges(sheet: &Description) -> bool {
    let text = |key: &str| sheet.number(key).map_or("", |number| &number.text);
    has_host(sheet) && (!matches!(text("platform.outstanding"), "" | "none") || text(KEY) != "async")
}

fn no_command(sheet: &Description) -> MergeVerdict {
    let why = if has_host(sheet) {
        "its driver has no command that takes several requests (platform.outstanding is not set), so no subsystem helps"
    } else {
        "it is a drive without a host, so there is no subsystem; name a platform (`iostack sim list`)"
    };
    MergeVerdict { ask: MergeAsk::Calls, policy: None, text: format!("nothing to merge with: {why}.") }
}

fn task(asked: &MergeQuestion<'_>, subsystem: Option<&str>, callers: u32, bytes: Bytes) -> Task {
    let mut changes = asked.changes.to_vec();
    changes.extend(subsystem.map(|word| (KEY.to_owned(), word.to_owned())));
    let job = Job {
        name: subsystem.unwrap_or("command").to_owned(),
        threads: callers,
        block_sizes: BlockSizes::all(bytes),
        ..job(asked)
    };
    Task { device: asked.on.to_owned(), changes, jobs: Ok(vec![job]), window: RunWindow::Own }
}

fn job(asked: &MergeQuestion<'_>) -> Job {
    Job {
        mix: if asked.direction == Direction::Write { Mix::WRITE } else { Mix::READ },
        engine: Engine::Psync,
        direct: true,
        seed: asked.seed,
        runtime: Some(RUNTIME),
        time_based: true,
        ..Job::default()
    }
}

fn outcome(given: Option<Given>) -> anyhow::Result<Option<Outcome>> {
    match given {
        Some(Ok(mut outcomes)) => Ok(outcomes.pop()),
        Some(Err(error)) => bail!("{error}"),
        None => Ok(None),
    }
}

/// Requests per second of the drive alone, asked for 1 MiB after the other.
fn peak(sheet: &Description, asked: &MergeQuestion<'_>, talk: &dyn Audience) -> anyhow::Result<f64> {
    let large = Job { access: Access::Sequential, block_sizes: BlockSizes::all(Bytes::mib(1)), ..job(asked) };
    let ran = drive(sheet, asked)?.run(&[large], Wanted::default(), talk)?;
    let outcome = ran.outcomes.first().context("a job has an outcome")?;
    Ok(outcome.bandwidth() / REQUEST.0 as f64)
}

/// The drive of a platform, as the platform has it; a drive alone is itself.
fn drive(sheet: &Description, asked: &MergeQuestion<'_>) -> anyhow::Result<AnyTarget> {
    let Some(named) = sheet.number(DRIVE) else {
        return asked.targets.open(Some(asked.on), asked.changes);
    };
    let word = asked.targets.word(&named.text);
    let plain = asked.targets.open(Some(&word), &[])?;
    let differs = sheet.numbers.iter().filter_map(|number| {
        let key = number.key.strip_prefix(DRIVE)?.strip_prefix('.')?;
        let same = plain.describe().number(key).is_some_and(|own| own.is_same(number));
        (!same && !number.text.is_empty()).then(|| (key.to_owned(), number.text.clone()))
    });
    asked.targets.open(Some(&word), &differs.collect::<Vec<_>>())
}

fn point(requests: u32, outcome: &Outcome) -> MergePoint {
    let latency = outcome.latency();
    MergePoint { requests, time: Interval::exact(latency.mean_ns()), commands: latency.count }
}

fn cell(word: &str, callers: u32, outcome: &Outcome, peak: f64) -> MergeCell {
    let host = outcome.inside.as_ref().and_then(|inside| inside.host.as_ref());
    let cpu_ns = host.map_or(0.0, |host: &HostUse| host.clocks_per_io / host.clock_hz * 1e9);
    let (ios, switches) = (outcome.ios(), host.map_or(0, |host| host.switches));
    let round = MergeRound {
        number: 0,
        ios,
        elapsed: outcome.elapsed,
        cpu: Nanos((cpu_ns * ios as f64).round() as u64),
        switches,
    };
    MergeCell {
        policy: word.to_owned(),
        column: callers,
        threads: callers,
        ios,
        rounds: vec![round],
        iops: Interval::exact(round.iops()),
        cpu_ns: Interval::exact(cpu_ns),
        switches: Interval::exact(round.switches_each()),
        latency: outcome.latency(),
        against: None,
        share_of_peak: (peak > 0.0).then(|| round.iops() / peak),
        failures: Vec::new(),
    }
}

/// The base before the others.
fn first(base: &str, cells: Vec<MergeCell>) -> Vec<MergeCell> {
    let (mut sorted, others): (Vec<_>, Vec<_>) = cells.into_iter().partition(|cell| cell.policy == base);
    sorted.extend(others);
    sorted
}

/// Doubts of the simulation itself, once.
fn doubts<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Vec<Caveat> {
    let of_all = |caveat: &&Caveat| {
        use Caveat::{NotSimulated, Simulated, StateByFormula};
        matches!(caveat, Simulated { .. } | NotSimulated { .. } | StateByFormula { .. })
    };
    one_of_each(outcomes.flat_map(|outcome| &outcome.caveats).filter(of_all))
}

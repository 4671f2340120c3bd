//! From what was asked to the report.

use std::ffi::OsStr;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use iostack_answers::{Against, Check, PathCost, Scratch, Step, Summary, Verdict};
use iostack_host::Journal;
use iostack_model::{Bytes, Effort, Machine, Nanos, SCHEMA};
use iostack_targets::Audience;
use iostack_targets::left;

use super::against::DataSheet;
use super::facts::Facts;
use super::measure::{self, Session};
use super::place::{self, Explored, Wishes};
use super::plan;
use super::planned::PlannedStep;
use super::{doubts, fill, path_costs, summary, verdict};

/// What is asked.
pub struct Asked<'a> {
    /// A directory, a file or a block device, as it was typed.
    pub target: &'a OsStr,
    /// How long it may take.
    pub effort: Effort,
    /// Size of the scratch file, or of the region to read.
    pub size: Option<Bytes>,
    /// Reproduces offsets and content.
    pub seed: u64,
    /// What exists may be written over.
    pub destroy_data: bool,
    /// A data sheet of the catalogue, or figures as typed.
    pub against: Option<&'a str>,
}

/// Explores, measures, sums up and judges.
pub fn answer(asked: &Asked<'_>, talk: &dyn Audience) -> anyhow::Result<Check> {
    let started = Instant::now();
    let started_unix_ms =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_millis() as u64);
    let stop = talk.stop();
    let sheet = asked.against.map(DataSheet::read).transpose()?;
    left::settings(&|text| talk.warn(text));
    let journal = Journal::open();
    if let Err(error) = &journal {
        talk.warn(&format!("schedulers are not compared: {error}"));
    }
    let target = iostack_host::resolve(asked.target)?;
    left::files(&target, &|text| talk.warn(text));
    let mut machine = iostack_host::machine();
    let wishes = Wishes { effort: asked.effort, size: asked.size, destroy_data: asked.destroy_data };
    let mut explored = place::explore(target, &machine, &wishes)?;
    machine.virtualisation.io_limit = iostack_host::cgroup_io_limit(&explored.storage);
    machine.virtualisation.io_limits = iostack_host::cgroup_io_limits(&explored.storage);
    let deadline = plan::promised(wishes.effort);
    // The report takes a moment too.
    let deadline = deadline.map(|promised| promised - Nanos::secs(2));
    if deadline.is_none() {
        let whole = expected(&plan::plan(&explored.place, wishes.effort, asked.seed, None));
        talk.say(&format!(
            "a full check: about {:.0} min, and the time to fill a scratch file",
            whole.as_secs_f64() / 60.0
        ));
    }
    let limit = place::fill_limit(asked.effort);
    let scratch = fill::fill(&mut explored, limit, talk, started)?;
    let session =
        Session { explored: &explored, stop, talk, started, deadline, journal: journal.as_ref().ok() };
    let spent = Nanos(started.elapsed().as_nanos() as u64);
    let for_paths = path_costs::allowed(wishes.effort);
    let available = deadline.map(|end| Nanos(end.0.saturating_sub(spent.0 + for_paths.0)));
    let plan = plan::plan(&explored.place, wishes.effort, asked.seed, available);
    let whole = expected(&plan) + for_paths;
    talk.say(&format!("checking {} for about {:.0} s", explored.target, whole.as_secs_f64()));
    let steps = measure::measure(&session, &plan);
    let path_costs = path_costs::measure(&session, for_paths);
    let interrupted = stop.load(Ordering::Relaxed);
    let against = sheet.map(|sheet| sheet.beside(&steps, &explored.storage));
    let found = Found { explored, machine, scratch, steps, path_costs, against, interrupted };
    Ok(judge(asked, found, started_unix_ms, started))
}

fn expected(plan: &[PlannedStep]) -> Nanos {
    Nanos(plan.iter().map(|step| step.expected().0).sum())
}

/// What was found, before it is judged.
struct Found {
    explored: Explored,
    machine: Machine,
    scratch: Option<Scratch>,
    steps: Vec<Step>,
    path_costs: Vec<PathCost>,
    against: Option<Against>,
    interrupted: bool,
}

fn judge(asked: &Asked<'_>, found: Found, started_unix_ms: u64, started: Instant) -> Check {
    let Found { explored, machine, scratch, mut steps, path_costs, against, interrupted } = found;
    let caveats = doubts::lift(&mut steps, &explored.storage, &machine, explored.place.region);
    let summary: Summary = summary::summarise(&steps);
    let verdict: Verdict = verdict::decide(&Facts {
        target: &explored.target,
        steps: &steps,
        summary: &summary,
        io_limits: &machine.virtualisation.io_limits,
        storage: &explored.storage,
        cores: machine.cpu.cores_usable,
        caveats: &caveats,
    });
    Check {
        schema: SCHEMA,
        iostack: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms,
        elapsed: Nanos(started.elapsed().as_nanos() as u64),
        effort: asked.effort,
        seed: asked.seed,
        target: explored.target,
        storage: explored.storage,
        machine,
        scratch,
        steps,
        summary,
        path_costs,
        against,
        verdict,
        caveats,
        interrupted,
    }
}

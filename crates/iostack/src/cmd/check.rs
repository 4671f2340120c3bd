//! `iostack check [TARGET]`: the main job.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use iostack_host::{Effort, Journal};
use iostack_model::{Bytes, Check, Machine, Nanos, PathCost, SCHEMA, Scratch, Step, Summary, Verdict};

use crate::check::measure::{self, Session};
use crate::check::place::{self, Explored, Wishes};
use crate::check::plan::{self, PlannedStep};
use crate::check::{doubts, fill, path_costs, summary, verdict};
use crate::exit::Ended;
use crate::left;
use crate::save;
use crate::talk::{self, Talk};

/// Arguments of `iostack check`.
#[derive(clap::Args)]
pub(crate) struct CheckArgs {
    /// A directory (a scratch file is made in it), a file or a block device
    /// (both only read).
    #[arg(default_value = ".")]
    target: OsString,
    /// At most 20 s.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// As long as the answers need; the time is said first.
    #[arg(long)]
    full: bool,
    /// Size of the scratch file, or of the region to read.
    #[arg(long)]
    size: Option<Bytes>,
    /// Reproduces offsets and content.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Allow writing over a file or device that exists: ITS DATA IS LOST.
    #[arg(long)]
    destroy_data: bool,
    /// Print the outcome as JSON instead of the screen.
    #[arg(long)]
    json: bool,
    /// Directory for the HTML report and the JSON outcome.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Write no files.
    #[arg(long, conflicts_with = "output")]
    no_files: bool,
    /// No progress on stderr.
    #[arg(long)]
    quiet: bool,
}

impl CheckArgs {
    fn effort(&self) -> Effort {
        match (self.quick, self.full) {
            (true, _) => Effort::Quick,
            (_, true) => Effort::Full,
            _ => Effort::Default,
        }
    }
}

/// Checks and prints. Exit 1 when I/Os failed, 0 otherwise.
pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<Ended> {
    let talk = Talk::new(args.quiet);
    let directory = if args.no_files { None } else { Some(directory(args)?) };
    let check = check(args, &talk)?;
    talk.clear();
    let json = serde_json::to_string(&check).context("an outcome is plain data")?;
    if args.json {
        talk::data(&(json.clone() + "\n"));
    } else {
        talk::data(&iostack_report::text::check(&check));
    }
    if let Some(directory) = directory {
        let (html, data) = write_files(&directory, &check, &json)?;
        let files = format!("Report: {}\nData:   {}", html.display(), data.display());
        if args.json {
            talk.say(&files);
        } else {
            talk::data(&format!("\n{files}\n"));
        }
    }
    let failed = check.steps.iter().flat_map(|step| &step.points).any(|p| !p.outcome.failures.is_empty());
    Ok(if failed { Ended::FoundProblem } else { Ended::Done })
}

/// The directory of the report, where files can be made.
fn directory(args: &CheckArgs) -> anyhow::Result<PathBuf> {
    let Some(directory) = args.output.clone() else { return Ok(save::output_directory()) };
    std::fs::create_dir_all(&directory)
        .with_context(|| format!("cannot make the directory `{}`", directory.display()))?;
    save::refuse_unwritable(&directory.join("iostack-check.html"))?;
    Ok(directory)
}

fn write_files(directory: &Path, check: &Check, json: &str) -> anyhow::Result<(PathBuf, PathBuf)> {
    let html = save::free_name(directory, "iostack-check", "html");
    let data = html.with_extension("json");
    let data = if data.exists() { save::free_name(directory, "iostack-check", "json") } else { data };
    save::new_file(&html, &iostack_report::html::check(check))?;
    save::new_file(&data, json)?;
    Ok((html, data))
}

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_millis() as u64)
}

fn check(args: &CheckArgs, talk: &Talk) -> anyhow::Result<Check> {
    let started = Instant::now();
    let started_unix_ms = unix_ms();
    let stop = iostack_host::signals::stop_flag();
    left::settings(&|text| talk.warn(text));
    let journal = Journal::open();
    if let Err(error) = &journal {
        talk.warn(&format!("schedulers are not compared: {error}"));
    }
    let target = iostack_host::resolve(&args.target)?;
    left::files(&target, &|text| talk.warn(text));
    let mut machine = iostack_host::machine();
    let wishes = Wishes { effort: args.effort(), size: args.size, destroy_data: args.destroy_data };
    let mut explored = place::explore(target, &machine, &wishes)?;
    machine.virtualisation.io_limit = iostack_host::cgroup_io_limit(&explored.storage);
    machine.virtualisation.io_limits = iostack_host::cgroup_io_limits(&explored.storage);
    let deadline = plan::promised(wishes.effort);
    // The report takes a moment too.
    let deadline = deadline.map(|promised| promised - Nanos::secs(2));
    if deadline.is_none() {
        let whole = expected(&plan::plan(&explored.place, wishes.effort, args.seed, None));
        talk.say(&format!(
            "a full check: about {:.0} min, and the time to fill a scratch file",
            whole.as_secs_f64() / 60.0
        ));
    }
    let limit = place::fill_limit(args.effort());
    let scratch = fill::fill(&mut explored, limit, talk, started)?;
    let session =
        Session { explored: &explored, stop, talk, started, deadline, journal: journal.as_ref().ok() };
    let spent = Nanos(started.elapsed().as_nanos() as u64);
    let for_paths = path_costs::allowed(wishes.effort);
    let available = deadline.map(|end| Nanos(end.0.saturating_sub(spent.0 + for_paths.0)));
    let plan = plan::plan(&explored.place, wishes.effort, args.seed, available);
    let whole = expected(&plan) + for_paths;
    talk.say(&format!("checking {} for about {:.0} s", explored.target, whole.as_secs_f64()));
    let steps = measure::measure(&session, &plan);
    let path_costs = path_costs::measure(&session, for_paths);
    let found = Found { explored, machine, scratch, steps, path_costs };
    Ok(judge(args, found, started_unix_ms, started))
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
}

fn judge(args: &CheckArgs, found: Found, started_unix_ms: u64, started: Instant) -> Check {
    let Found { explored, machine, scratch, mut steps, path_costs } = found;
    let caveats = doubts::lift(&mut steps, &explored.storage, &machine, explored.place.region);
    let summary: Summary = summary::summarise(&steps);
    let verdict: Verdict = verdict::decide(&verdict::Facts {
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
        effort: plan::name(args.effort()).to_owned(),
        seed: args.seed,
        target: explored.target,
        storage: explored.storage,
        machine,
        scratch,
        steps,
        summary,
        path_costs,
        verdict,
        caveats,
        interrupted: iostack_host::signals::stop_flag().load(std::sync::atomic::Ordering::Relaxed),
    }
}

//! `iostack run JOB --on TARGET`: one workload.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use iostack_engine::{Control, Work};
use iostack_model::{Job, Ladder, Nanos, Outcome, OutcomeFile, Progress, SCHEMA, TargetName};

use crate::exit::Ended;
use crate::job::files::{self, Ground};
use crate::job::flags::JobFlags;
use crate::job::gather;
use crate::lab::{self, LabFlags};
use crate::left;
use crate::save;
use crate::simulate::{self, SimFlags};
use crate::talk::{self, Talk};
use crate::trace::{Trace, Wanted};

/// What goes to stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people, 80 columns.
    Text,
    /// The outcome, every figure.
    Json,
    /// As fio's --output-format=json.
    FioJson,
    /// As fio's json+: with histogram bins.
    #[value(name = "fio-json+")]
    FioJsonPlus,
    /// As fio's --minimal, version 3.
    Terse,
}

/// Arguments of `iostack run`.
#[derive(clap::Args)]
pub(crate) struct RunArgs {
    /// Job files: fio's (any name) or iostack's (.toml). None: one job from
    /// flags.
    pub(crate) jobs: Vec<PathBuf>,
    /// What answers: a file, a directory (files are made in it), a block
    /// device, sim:DEVICE (`iostack sim list`) or lab:DEVICE (`iostack lab
    /// list`). Overrides what the job names.
    #[arg(long, value_name = "TARGET")]
    pub(crate) on: Option<OsString>,
    /// Run only this section of the job file; may be repeated.
    #[arg(long, value_name = "NAME")]
    section: Vec<String>,
    /// Skip options that are not supported instead of refusing the file.
    #[arg(long)]
    lenient: bool,
    /// Allow writing over a file or device that exists: ITS DATA IS LOST.
    #[arg(long)]
    destroy_data: bool,
    /// What goes to stdout.
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Short for --format json.
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Write stdout's content to a new file instead.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write an HTML report to a new file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Say where the latency goes, stage by stage.
    #[arg(long)]
    stages: bool,
    /// Say where the CPU clocks go, layer by layer.
    #[arg(long)]
    layers: bool,
    /// Samples per second and CPU for --layers [997].
    #[arg(long, value_name = "HZ", default_value_t = 0, hide_default_value = true)]
    sample_rate: u32,
    /// No progress on stderr.
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) sim: SimFlags,
    #[command(flatten)]
    pub(crate) lab: LabFlags,
    #[command(flatten)]
    pub(crate) flags: JobFlags,
}

impl RunArgs {
    /// The target, where it can be the name of a simulated device or one of the lab.
    fn on_text(&self) -> Option<&str> {
        self.on.as_deref().and_then(OsStr::to_str)
    }

    /// What is to be looked at while it runs.
    pub(crate) fn wanted(&self) -> Wanted {
        Wanted { stages: self.stages, layers: self.layers, sample_rate: self.sample_rate, rules: None }
    }
}

/// Runs and prints. Exit 1 when I/Os failed or data did not verify.
pub(crate) fn run(args: &RunArgs) -> anyhow::Result<Ended> {
    let talk = Talk::new(args.quiet);
    refuse_existing(args)?;
    let ran = execute(args, args.wanted(), &talk)?;
    talk.clear();
    write(args, &ran, &talk, iostack_report::text::outcome)
}

/// Refuses files that exist before anything is measured.
pub(crate) fn refuse_existing(args: &RunArgs) -> anyhow::Result<()> {
    save::refuse(args.output.iter().chain(&args.html).chain(&args.sim.timeline))
}

/// What came of a run, and what was asked: logs belong to jobs that an outcome holds together.
pub(crate) struct Ran {
    pub(crate) file: OutcomeFile,
    jobs: Vec<Job>,
}

/// Writes what was asked for, with `text` for people. What cannot be written does not keep the rest from being so.
pub(crate) fn write(
    args: &RunArgs,
    ran: &Ran,
    talk: &Talk,
    text: fn(&OutcomeFile) -> String,
) -> anyhow::Result<Ended> {
    let file = &ran.file;
    let format = if args.json { Format::Json } else { args.format };
    let text = match format {
        Format::Text => text(file),
        Format::Json => serde_json::to_string(file).context("an outcome is plain data")? + "\n",
        Format::FioJson => iostack_report::fio::json(file, false),
        Format::FioJsonPlus => iostack_report::fio::json(file, true),
        Format::Terse => iostack_report::fio::terse(file),
    };
    let answer: anyhow::Result<()> = if let Some(path) = &args.output {
        save::new_file(path, &text)
    } else {
        talk::data(&text);
        Ok(())
    };
    let page: anyhow::Result<()> = args.html.as_ref().map_or(Ok(()), |path| {
        save::new_file(path, &iostack_report::html::outcomes(file))?;
        talk.say(&format!("report: {}", path.display()));
        Ok(())
    });
    let logs = write_logs(ran, args.destroy_data, talk);
    answer.and(page).and(logs)?;
    let failed = file.outcomes.iter().any(|outcome| !outcome.failures.is_empty());
    Ok(if failed { Ended::FoundProblem } else { Ended::Done })
}

const NO_LAYERS: &str =
    "a simulated device has no CPU clocks to sample; leave --layers out, or name a real target";

/// Runs all jobs, looked at as `wanted`.
pub(crate) fn execute(args: &RunArgs, wanted: Wanted, talk: &Talk) -> anyhow::Result<Ran> {
    let cpus = iostack_host::machine().cpu.cores_online;
    let gathered = gather::gather(&args.jobs, &args.section, &args.flags.options, args.lenient, cpus)?;
    for line in &gathered.skipped {
        talk.warn(&format!("skipped {line}"));
    }
    let jobs = gathered.jobs;
    refuse_logs(&jobs, args.destroy_data)?;
    let file = on_target(args, &jobs, wanted, talk)?;
    Ok(Ran { file, jobs })
}

fn on_target(args: &RunArgs, jobs: &[Job], wanted: Wanted, talk: &Talk) -> anyhow::Result<OutcomeFile> {
    let stop = iostack_host::signals::stop_flag();
    if let Some(device) = simulate::device(args.on_text()) {
        anyhow::ensure!(!wanted.layers, NO_LAYERS);
        args.lab.refuse_elsewhere()?;
        return simulate::execute(device, jobs, &args.sim, stop, talk);
    }
    if let Some(device) = lab::device(args.on_text()) {
        let flags = (&args.lab, args.sim.set.as_slice());
        return lab::execute(device, jobs.to_vec(), wanted, flags, stop, talk);
    }
    args.sim.refuse_on_real()?;
    args.lab.refuse_elsewhere()?;
    let on: Option<TargetName> = args.on.as_deref().map(target).transpose()?;
    let live = |text: &str| talk.live(text);
    let live = talk.is_live().then_some(&live as &(dyn Fn(&str) + Sync));
    run_jobs(jobs.to_vec(), on.as_ref(), args.destroy_data, wanted, live, &|text| talk.say(text))
}

/// Runs jobs on a real target: `live` gets the line of progress, `say` what is worth knowing.
pub(crate) fn run_jobs(
    jobs: Vec<Job>,
    on: Option<&TargetName>,
    destroy_data: bool,
    wanted: Wanted,
    live: Option<&(dyn Fn(&str) + Sync)>,
    say: &dyn Fn(&str),
) -> anyhow::Result<OutcomeFile> {
    let machine = iostack_host::machine();
    let stop = iostack_host::signals::stop_flag();
    let report = live.map(|live| move |progress: &Progress| live(&iostack_report::text::live(progress)));
    let control = Control {
        stop,
        progress: report.as_ref().map(|report| report as &(dyn Fn(&Progress) + Sync)),
        progress_every: Nanos::millis(500),
        observer: None,
    };
    let started_unix_ms =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_millis() as u64);
    let ladder = wanted.any().then(iostack_attribute::ladder::probe);
    left::settings(say);
    let mut ground = Ground::new(destroy_data, &control);
    let mut outcomes = Vec::new();
    for group in gather::groups(jobs) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let mut works = Vec::new();
        for job in &group {
            let placement = files::place(job, on)?;
            left::files(&placement.target, say);
            works.push(ground.prepare(job, placement)?);
        }
        for (path, size) in ground.made.drain(..) {
            say(&format!("laid out {} with {size}; it is kept for the next run", path.display()));
        }
        outcomes.extend(run_together(&works, &control, wanted, ladder.as_ref())?);
        for held in works.iter().filter(|work| work.job.unlink).flat_map(|work| work.files.iter().flatten()) {
            if held.is_made() {
                let _ = held.remove();
            }
        }
    }
    let iostack = env!("CARGO_PKG_VERSION").to_owned();
    Ok(OutcomeFile { schema: SCHEMA, iostack, started_unix_ms, machine, outcomes })
}

/// Runs works between two stonewalls.
fn run_together(
    works: &[Work],
    control: &Control<'_>,
    wanted: Wanted,
    ladder: Option<&Ladder>,
) -> anyhow::Result<Vec<Outcome>> {
    let (Some(ladder), Some(first)) = (ladder, works.first()) else {
        return Ok(iostack_engine::run(works, control)?);
    };
    let trace = Trace::attach(wanted, &first.storage, ladder)?;
    let observer = trace.observer();
    let mut outcomes = iostack_engine::run(works, &Control { observer: Some(&observer), ..*control })?;
    trace.finish(&mut outcomes);
    Ok(outcomes)
}

/// A target that exists, or a file that is to be made in a directory that exists.
pub(crate) fn target(typed: &OsStr) -> anyhow::Result<TargetName> {
    let bare = typed.as_bytes().strip_prefix(b"file:").map_or(typed, OsStr::from_bytes);
    let path = std::path::absolute(bare)?;
    let new_file = !bare.as_bytes().contains(&b':')
        && !path.exists()
        && path.parent().is_some_and(std::path::Path::is_dir);
    if new_file {
        return Ok(TargetName { kind: iostack_model::TargetKind::File, path });
    }
    Ok(iostack_host::resolve(typed)?)
}

/// Refuses logs that exist, before the run: fio writes over them, and nothing is written over here without
/// `--destroy-data`.
fn refuse_logs(jobs: &[Job], destroy_data: bool) -> anyhow::Result<()> {
    for path in iostack_report::fio::log_names(jobs) {
        anyhow::ensure!(
            destroy_data || path.symlink_metadata().is_err(),
            "the log `{}` exists and is not overwritten; remove it, name another prefix, or pass --destroy-data",
            path.display()
        );
        save::refuse_unwritable(&path)?;
    }
    Ok(())
}

/// fio-style logs, where jobs ask for them.
fn write_logs(ran: &Ran, destroy_data: bool, talk: &Talk) -> anyhow::Result<()> {
    for (path, content) in iostack_report::fio::logs(&ran.jobs, &ran.file.outcomes) {
        if destroy_data {
            save::replace(&path, &content)?;
        } else {
            save::new_file(&path, &content)?;
        }
        talk.say(&format!("log: {}", path.display()));
    }
    Ok(())
}

//! `iostack run JOB --on TARGET`: one workload.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use iostack::targets::{SimFlags, TargetFlags, TargetTable};
use iostack_attribute::classify::Rules;
use iostack_host::save::{self, Output, Taken};
use iostack_model::{Job, OutcomeFile};
use iostack_report::fio;
use iostack_study::prediction::{Draws, MeasuredPoint, band_outcomes, score};
use iostack_study::sweep::pool::{RunWindow, Task};
use iostack_target::{AnyTarget, Audience as _, EXAMPLE, Targets as _, Wanted, changes};
use iostack_workload::gather;

use crate::cmd::predicted;
use crate::exit::Ended;
use crate::flags::JobFlags;
use crate::talk::Talk;
use crate::written::{self, AnswerArgs};

/// Arguments of `iostack run`.
#[derive(clap::Args)]
pub(crate) struct RunArgs {
    /// Job files: fio's (any name) or iostack's (.toml). None: one job from
    /// flags, for 10 s where these name no end.
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
    /// Say where the latency goes, stage by stage.
    #[arg(long)]
    stages: bool,
    /// Say where the CPU clocks go, layer by layer.
    #[arg(long)]
    layers: bool,
    /// Samples per second and CPU for --layers [997].
    #[arg(long, value_name = "HZ", default_value_t = 0, hide_default_value = true)]
    sample_rate: u32,
    /// Show what was predicted beside what is measured: JSON of `iostack sim
    /// what-if SHEET`, or of a run or a check of a sheet.
    #[arg(long, value_name = "FILE")]
    prediction: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
    #[command(flatten)]
    pub(crate) target: TargetFlags,
    #[command(flatten)]
    pub(crate) flags: JobFlags,
}

impl RunArgs {
    pub(crate) fn wanted(&self) -> Wanted {
        Wanted { stages: self.stages, layers: self.layers, sample_rate: self.sample_rate, status: None }
    }
}

/// Runs and prints. Exit 1 when I/Os failed or data did not verify.
pub(crate) fn run(args: &RunArgs) -> anyhow::Result<Ended> {
    load(args, args.wanted(), None)
}

/// Runs all jobs, looked at as `wanted`, and prints. `rules` give functions their layers.
pub(crate) fn load(args: &RunArgs, wanted: Wanted, rules: Option<&'static Rules>) -> anyhow::Result<Ended> {
    load_beside(args, wanted, rules, [], |_, _| Ok(()))
}

/// The same with more files beside the answer, which `write` writes.
pub(crate) fn load_beside<'a>(
    args: &'a RunArgs,
    wanted: Wanted,
    rules: Option<&'static Rules>,
    files: impl IntoIterator<Item = Output<'a>>,
    write: impl FnOnce(&OutcomeFile, &Talk) -> anyhow::Result<()>,
) -> anyhow::Result<Ended> {
    let talk = args.answer.talk();
    let cpus = iostack_host::machine().cpu.cores_online;
    let gathered = gather::gather(&args.jobs, &args.section, &args.flags.options, args.lenient, cpus)?;
    for line in &gathered.skipped {
        talk.warn(&format!("skipped {line}"));
    }
    let mut jobs = gathered.jobs;
    for job in &mut jobs {
        job.split_latency |= args.answer.is_fio();
    }
    let predictions = args.prediction.as_deref().map(predicted::read).transpose()?;
    if let Some(predictions) = &predictions {
        predictions.refuse_others(&jobs)?;
    }
    let logs = fio::log_names(&jobs);
    let mut wanted_files: Vec<Output<'_>> = outputs(args).collect();
    for file in files {
        wanted_files.push(file);
    }
    save::refuse(wanted_files.into_iter().chain(log_outputs(&logs, args.destroy_data)))?;
    let table = TargetTable::new(args.target.clone(), args.destroy_data).with_rules(rules);
    let target = table.target(args.on.as_deref())?;
    // What a file says is meant as it says it.
    for job in jobs.iter_mut().filter(|_| args.jobs.is_empty()) {
        if let Some(line) = table.give_end(job, target.describe())? {
            talk.say_once_begun(line);
        }
    }
    let mut ran = FinishedRun::of_jobs(jobs, target, args.destroy_data, wanted, &talk)?;
    ran.give_bands(args.on.as_deref(), &args.target.sim, &talk)?;
    let measured: Vec<MeasuredPoint<'_>> = ran.file.outcomes.iter().map(Into::into).collect();
    ran.file.prediction = predictions.map(|predictions| score(&predictions, &measured));
    let told = args.answer.tell_but_page(&ran.file, &talk).and(write(&ran.file, &talk));
    ran.end(told, args.answer.html.as_ref(), &talk)
}

/// Output files except logs.
pub(crate) fn outputs(args: &RunArgs) -> impl Iterator<Item = Output<'_>> {
    let timeline = Output::new("--timeline", args.target.sim.timeline.as_ref());
    args.answer.files().chain(timeline)
}

/// Logs: fio writes over them, and nothing is written over here without `--destroy-data`.
pub(crate) fn log_outputs<'a>(
    names: &'a [(&'static str, PathBuf)],
    destroy_data: bool,
) -> impl Iterator<Item = Output<'a>> {
    let taken = if destroy_data { Taken::Replaced } else { Taken::KeptUnlessAllowed };
    names.iter().map(move |(option, path)| Output { option, path, taken })
}

/// Outcomes of a run with its jobs, which the logs need.
pub(crate) struct FinishedRun {
    target: AnyTarget,
    pub(crate) file: OutcomeFile,
    jobs: Vec<Job>,
    destroy_data: bool,
}

impl FinishedRun {
    /// Runs all jobs, looked at as `wanted`.
    pub(crate) fn of_jobs(
        jobs: Vec<Job>,
        target: AnyTarget,
        destroy_data: bool,
        wanted: Wanted,
        talk: &Talk,
    ) -> anyhow::Result<FinishedRun> {
        let file = target.run(&jobs, wanted, talk)?;
        talk.clear();
        Ok(FinishedRun { target, file, jobs, destroy_data })
    }

    /// Gives each outcome its band, where draws are asked for; a run that was cut short has none.
    fn give_bands(&mut self, on: Option<&OsStr>, sim: &SimFlags, talk: &Talk) -> anyhow::Result<()> {
        let count = sim.draws.unwrap_or(0);
        let Some(on) = on.and_then(OsStr::to_str).filter(|_| count > 0) else { return Ok(()) };
        if self.file.outcomes.iter().any(|outcome| outcome.interrupted) {
            return Ok(());
        }
        // Without the flags of this run: its timeline is of no draw.
        let table = TargetTable::default();
        let (device, changes) = (table.bare(on).to_owned(), changes(&sim.set, EXAMPLE)?);
        let draws = Draws { count, seed: self.jobs.first().map_or(1, |job| job.seed) };
        let same = Task { device, changes, jobs: Ok(self.jobs.clone()), window: RunWindow::Own };
        band_outcomes(&same, &mut self.file.outcomes, draws, &table, talk);
        Ok(())
    }

    /// Writes what belongs beside the outcomes.
    fn beside(&self, talk: &Talk) -> anyhow::Result<()> {
        let Some(beside) = self.target.beside() else { return Ok(()) };
        save::new_file(&beside.path, &beside.text)?;
        talk.say(&beside.said);
        Ok(())
    }

    /// The answer was told, or not; writes what goes beside it. What cannot be written does not keep the rest from being
    /// so.
    pub(crate) fn end(
        &self,
        answer: anyhow::Result<()>,
        html: Option<&PathBuf>,
        talk: &Talk,
    ) -> anyhow::Result<Ended> {
        let page = written::page(html, || iostack_report::run(&self.file).html(), talk);
        let logs = write_logs(self, talk);
        answer.and(page).and(logs).and(self.beside(talk))?;
        let mut failures = self.file.outcomes.iter().flat_map(|outcome| &outcome.failures);
        let failed = failures.any(|failure| !failure.ignored);
        Ok(if failed { Ended::FoundProblem } else { Ended::Done })
    }
}

/// fio-style logs, where jobs ask for them.
fn write_logs(ran: &FinishedRun, talk: &Talk) -> anyhow::Result<()> {
    for (path, content) in fio::logs(&ran.jobs, &ran.file.outcomes) {
        if ran.destroy_data {
            save::replace(&path, &content)?;
        } else {
            save::new_file(&path, &content)?;
        }
        talk.say(&format!("log: {}", path.display()));
    }
    Ok(())
}

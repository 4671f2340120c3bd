//! `iostack merge [TARGET]`: does temporal merging pay on this device?

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail, ensure};
use iostack_host::Effort;
use iostack_merge::Policy;
use iostack_model::{Bytes, Direction, MergeReport, Nanos, TargetKind, TargetName};

use crate::check::fill;
use crate::check::place::{self, Explored, Wishes};
use crate::check::plan::name as plan_name;
use crate::exit::Ended;
use crate::left;
use crate::merge::content::Content;
use crate::merge::load::Bench;
use crate::merge::plan::Plan;
use crate::merge::simulated::{self, Asked};
use crate::merge::{measure, report};
use crate::save;
use crate::talk::{self, Talk};
use crate::target::simulated::changes;
use crate::target::{self, Scheme};

/// Arguments of `iostack merge`.
#[derive(clap::Args)]
pub(crate) struct MergeArgs {
    /// A directory (a scratch file is made in it), a file or a block device
    /// (both only read), or sim:PLATFORM (`iostack sim list`).
    #[arg(default_value = ".")]
    target: OsString,
    /// About 15 s.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// As long as the answers need; the time is said first.
    #[arg(long)]
    full: bool,
    /// Measure writes instead of reads.
    #[arg(long)]
    write: bool,
    /// Size of the scratch file, or of the region to use.
    #[arg(long)]
    size: Option<Bytes>,
    /// Reproduces offsets and content.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Allow --write over a file or device that exists: ITS DATA IS LOST.
    #[arg(long, requires = "write")]
    destroy_data: bool,
    /// Change a number of a simulated platform, such as
    /// `platform.cores=4`; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Write stdout's content to a new file instead.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write an HTML report to a new file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// No progress on stderr.
    #[arg(long)]
    quiet: bool,
}

impl MergeArgs {
    fn effort(&self) -> Effort {
        match (self.quick, self.full) {
            (true, _) => Effort::Quick,
            (_, true) => Effort::Full,
            _ => Effort::Default,
        }
    }

    fn direction(&self) -> Direction {
        if self.write { Direction::Write } else { Direction::Read }
    }
}

/// Measures and prints. Exit 1 when a request failed or brought wrong data.
pub(crate) fn run(args: &MergeArgs) -> anyhow::Result<Ended> {
    save::refuse(args.output.iter().chain(&args.html))?;
    let talk = Talk::new(args.quiet);
    let merge = answer(args, &talk)?;
    talk.clear();
    let text = if args.json {
        serde_json::to_string(&merge).context("a report is plain data")? + "\n"
    } else {
        iostack_report::text::merge(&merge)
    };
    match &args.output {
        Some(path) => save::new_file(path, &text)?,
        None => talk::data(&text),
    }
    if let Some(path) = &args.html {
        save::new_file(path, &iostack_report::html::merge(&merge))?;
        talk.say(&format!("report: {}", path.display()));
    }
    let failed = merge.tables.iter().flat_map(|table| &table.cells).any(|cell| !cell.failures.is_empty());
    Ok(if failed { Ended::FoundProblem } else { Ended::Done })
}

fn answer(args: &MergeArgs, talk: &Talk) -> anyhow::Result<MergeReport> {
    let text = args.target.to_str().unwrap_or_default();
    let name = match target::scheme(text) {
        (Scheme::Simulated, name) => name,
        (Scheme::Lab, device) => bail!(
            "`lab:{device}` is measured job by job: iostack run JOB.fio --on lab:{device} --set sysfs.tmerge/subsystem=stm; \
             docs/lab.md says more"
        ),
        (Scheme::Path, _) => {
            ensure!(
                args.set.is_empty(),
                "`--set` is for simulated platforms; name one as sim:PLATFORM (`iostack sim list`)"
            );
            return real(args, talk);
        }
    };
    ensure!(
        args.size.is_none(),
        "`--size` is for real targets; a simulated one has the size that its sheet says"
    );
    let asked = Asked {
        name,
        changes: changes(&args.set, "platform.cores=4")?,
        direction: args.direction(),
        seed: args.seed,
        effort: plan_name(args.effort()),
    };
    simulated::simulate(&asked, iostack_host::signals::stop_flag(), talk)
}

fn real(args: &MergeArgs, talk: &Talk) -> anyhow::Result<MergeReport> {
    let started = Instant::now();
    let started_unix_ms =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_millis() as u64);
    let stop = iostack_host::signals::stop_flag();
    let target = iostack_host::resolve(&args.target)?;
    refuse_writes(args, &target)?;
    left::settings(&|text| talk.warn(text));
    left::files(&target, &|text| talk.warn(text));
    let machine = iostack_host::machine();
    let plan = Plan::of(args.effort());
    talk.say(&format!("about {:.0} s, and the time to fill a scratch file", plan.expected().as_secs_f64()));
    let effort = if args.full { Effort::Default } else { Effort::Quick };
    let wishes = Wishes { effort, size: args.size, destroy_data: args.destroy_data };
    let mut explored = place::explore(target, &machine, &wishes)?;
    let scratch = fill::fill_stamped(&mut explored, place::fill_limit(effort), talk, started)?;
    let request = explored.place.logical_block.0.max(4096);
    let blocks = explored.place.region.0 / request;
    let file = open(args, &explored)?;
    let content = if scratch.is_some() || args.write {
        Content::Stamped
    } else {
        Content::sample(&file, blocks, request as usize, args.seed)
            .with_context(|| format!("cannot read `{}`", explored.held.path().display()))?
    };
    let bench = Bench::new(&file, args.direction(), content, (blocks, request as usize), args.seed, stop)?;
    let cpu_before = iostack_host::counters::cpu();
    talk.say(&format!("measuring {} for about {:.0} s", explored.target, plan.expected().as_secs_f64()));
    let found = measure::measure(&bench, &plan, talk, started);
    let auto = bench.file(Policy::Auto);
    let advice = auto.advice();
    let facts = report::Facts {
        backend: auto.backend().to_owned(),
        auto: format!("{}, because {}", advice.policy.name(), advice.why),
        cpu: iostack_host::counters::cpu().since(cpu_before),
        explored,
        machine,
        scratch,
        effort: args.effort(),
        seed: args.seed,
        direction: args.direction(),
        request: Bytes(request),
        started_unix_ms,
        elapsed: Nanos(started.elapsed().as_nanos() as u64),
        interrupted: bench.stopped(),
    };
    Ok(report::assemble(facts, &found))
}

/// What exists is written to only when both flags say so.
fn refuse_writes(args: &MergeArgs, target: &TargetName) -> anyhow::Result<()> {
    let exists = target.kind != TargetKind::Directory;
    if exists && args.write && !args.destroy_data {
        bail!(
            "`{}` exists: --write would write over it; add --destroy-data if its data may be lost",
            args.target.display()
        );
    }
    Ok(())
}

fn open(args: &MergeArgs, explored: &Explored) -> anyhow::Result<File> {
    let held = &explored.held;
    let flags = if explored.place.direct { libc::O_DIRECT } else { 0 };
    let opened = held.reopen(OpenOptions::new().read(true).write(args.write).custom_flags(flags));
    opened.with_context(|| format!("cannot open `{}`", held.path().display()))
}

//! From what was asked to the report.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail, ensure};
use iostack_merge::Policy;
use iostack_model::answers::MergeReport;
use iostack_model::{Bytes, Direction, Effort, Nanos, TargetKind, TargetName, Verify, VerifyMode};
use iostack_target::{Audience, Session as _, Wishes};
use iostack_targets::occupied::Occupied;
use iostack_targets::simulated::changes;
use iostack_targets::{self as target, Scheme};

use super::content::Content;
use super::load::Bench;
use super::plan::Plan;
use super::{measure, report, simulated};
use crate::check::fill;
use crate::check::plan::fill_limit;

/// What is asked.
pub struct Asked<'a> {
    /// A directory, a file, a block device or `sim:PLATFORM`, as it was typed.
    pub target: &'a OsStr,
    /// How long it may take.
    pub effort: Effort,
    /// Reads or writes.
    pub direction: Direction,
    /// Size of the scratch file, or of the region to use.
    pub size: Option<Bytes>,
    /// Reproduces offsets and content.
    pub seed: u64,
    /// What exists may be written over.
    pub destroy_data: bool,
    /// Changes of a simulated platform, each `KEY=VALUE`.
    pub set: &'a [String],
    /// Every stretch is so many times shorter: where no neighbour disturbs, and time is dear.
    pub shorter: u64,
}

/// Measures, on whatever is named.
pub fn answer(asked: &Asked<'_>, talk: &dyn Audience) -> anyhow::Result<MergeReport> {
    let text = asked.target.to_str().unwrap_or_default();
    let name = match target::scheme(text) {
        (Scheme::Simulated, name) => name,
        (Scheme::Lab, device) => bail!("`lab:{device}` is measured from within"),
        (Scheme::Path, _) => {
            ensure!(
                asked.set.is_empty(),
                "`--set` is for simulated platforms; name one as sim:PLATFORM (`iostack sim list`)"
            );
            return real(asked, talk);
        }
    };
    ensure!(
        asked.size.is_none(),
        "`--size` is for real targets; a simulated one has the size that its sheet says"
    );
    let simulated = simulated::Asked {
        name,
        changes: changes(asked.set, "platform.cores=4")?,
        direction: asked.direction,
        seed: asked.seed,
        effort: asked.effort,
    };
    simulated::simulate(&simulated, talk)
}

fn real(asked: &Asked<'_>, talk: &dyn Audience) -> anyhow::Result<MergeReport> {
    let started = Instant::now();
    let started_unix_ms =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_millis() as u64);
    let stop = talk.stop();
    let target = iostack_host::resolve(asked.target)?;
    refuse_writes(asked, &target)?;
    let plan = Plan::of(asked.effort).shorter(asked.shorter);
    talk.say(&format!("about {:.0} s, and the time to fill a scratch file", plan.expected().as_secs_f64()));
    let effort = if asked.effort == Effort::Full { Effort::Default } else { Effort::Quick };
    let wishes = Wishes { effort, size: asked.size };
    let mut occupied = Occupied::new(target, &wishes, asked.destroy_data, None, talk)?;
    let stamped = Verify::of(VerifyMode::WriteOnly);
    let scratch = fill::fill(&mut occupied, fill_limit(effort), Some(stamped), talk)?;
    let request = occupied.about().place.logical_block.0.max(4096);
    let blocks = occupied.about().place.region.0 / request;
    let file = open(asked, &occupied)?;
    let content = if scratch.is_some() || asked.direction == Direction::Write {
        Content::Stamped
    } else {
        Content::sample(&file, blocks, request as usize, asked.seed)
            .with_context(|| format!("cannot read `{}`", occupied.held().path().display()))?
    };
    let bench = Bench::new(&file, asked.direction, content, (blocks, request as usize), asked.seed, stop)?;
    let cpu_before = iostack_host::counters::cpu();
    talk.say(&format!(
        "measuring {} for about {:.0} s",
        occupied.about().name,
        plan.expected().as_secs_f64()
    ));
    let found = measure::measure(&bench, &plan, talk, started);
    let auto = bench.file(Policy::Auto);
    let advice = auto.advice();
    let facts = report::Facts {
        backend: auto.backend().to_owned(),
        auto: format!("{}, because {}", advice.policy.name(), advice.why),
        cpu: iostack_host::counters::cpu().since(cpu_before),
        occupied,
        scratch,
        effort: asked.effort,
        seed: asked.seed,
        direction: asked.direction,
        request: Bytes(request),
        started_unix_ms,
        elapsed: Nanos(started.elapsed().as_nanos() as u64),
        interrupted: bench.stopped(),
    };
    Ok(report::assemble(facts, &found))
}

/// What exists is written to only when both flags say so.
fn refuse_writes(asked: &Asked<'_>, target: &TargetName) -> anyhow::Result<()> {
    let exists = target.kind != TargetKind::Directory;
    if exists && asked.direction == Direction::Write && !asked.destroy_data {
        bail!(
            "`{}` exists: --write would write over it; add --destroy-data if its data may be lost",
            asked.target.display()
        );
    }
    Ok(())
}

fn open(asked: &Asked<'_>, occupied: &Occupied) -> anyhow::Result<File> {
    let held = occupied.held();
    let flags = if occupied.about().place.direct { libc::O_DIRECT } else { 0 };
    let opened = held
        .reopen(OpenOptions::new().read(true).write(asked.direction == Direction::Write).custom_flags(flags));
    opened.with_context(|| format!("cannot open `{}`", held.path().display()))
}

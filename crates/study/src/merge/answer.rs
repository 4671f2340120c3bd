//! From what was asked to the report.

use anyhow::{bail, ensure};
use iostack_model::answers::MergeReport;
use iostack_model::{Bytes, Direction, Effort, TargetKind, Verify, VerifyMode};
use iostack_target::{Audience, RunClock, Target, Targets, Wishes};

use super::plan::{expected, measurement};
use super::{report, simulated};
use crate::check::measure::{how_long, started_unix_ms};
use crate::check::{fill, plan};

/// Question with all that it needs.
pub struct MergeQuestion<'a> {
    /// The target, as it was typed.
    pub on: &'a str,
    /// Time that it may take.
    pub effort: Effort,
    /// Reads or writes.
    pub direction: Direction,
    /// Size of the scratch file, or of the region to use.
    pub size: Option<Bytes>,
    /// Reproduces offsets and content.
    pub seed: u64,
    /// Existing data may be written over.
    pub destroy_data: bool,
    /// Changes of the target, each a key and its value.
    pub changes: &'a [(String, String)],
    /// Table of targets.
    pub targets: &'a dyn Targets,
}

/// Factor by which plans are shorter in virtual time, where nobody disturbs and each instruction takes time of ours.
const SHORTER: u64 = 10;

/// Measures, on whatever is named.
pub fn answer(asked: &MergeQuestion<'_>, talk: &dyn Audience) -> anyhow::Result<MergeReport> {
    let target = asked.targets.open(Some(asked.on), asked.changes)?;
    if asked.targets.kind(asked.on).has_numbers {
        ensure!(
            asked.size.is_none(),
            "`--size` is for real targets; a simulated one has the size that its sheet says"
        );
        return simulated::simulate(asked, &*target, talk);
    }
    refuse_writes(asked, &*target)?;
    let effort = if asked.effort == Effort::Full { Effort::Default } else { Effort::Quick };
    let mut session = target.occupy(&Wishes { effort, size: asked.size }, talk)?;
    let started = started_unix_ms(&*session);
    let times = if session.about().place.clock == RunClock::Virtual { SHORTER } else { 1 };
    let stamped = Verify::of_mode(VerifyMode::WriteOnly);
    let scratch = fill::fill(&mut *session, plan::fill_limit(effort), Some(stamped), talk)?;
    let (place, name) = (&session.about().place, &session.about().name);
    let request = place.logical_block.0.max(4096);
    let merging = measurement(asked.effort, times, (asked.direction, request), scratch.is_some(), asked.seed);
    talk.say(&format!("measuring {name} {}", how_long(&*session, expected(&merging))));
    let found = session.merge(&merging, talk)?;
    Ok(report::assemble(asked, session.about(), (started, scratch, Bytes(request)), &merging, &found))
}

/// Refuses to write to what exists, unless both flags allow it.
fn refuse_writes(asked: &MergeQuestion<'_>, target: &dyn Target) -> anyhow::Result<()> {
    let kind = target.describe().name.as_ref().map(|name| name.kind);
    let exists = matches!(kind, Some(TargetKind::File | TargetKind::Block));
    if exists && asked.direction == Direction::Write && !asked.destroy_data {
        bail!(
            "`{}` exists: --write would write over it; add --destroy-data if its data may be lost",
            asked.on
        );
    }
    Ok(())
}

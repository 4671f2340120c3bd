//! What is in the scratch file? Random data, written by us, so that reads are of something that was written.

use std::time::Instant;

use iostack_answers::Scratch;
use iostack_model::{Access, Amount, BlockSizes, Bytes, Engine, Job, Mix, Nanos, Verify, VerifyMode};
use iostack_targets::Audience;

use super::measure::Session;
use super::place::Explored;

/// Fills the scratch file, where there is one, and sets the region to what could be filled within `limit`.
pub(crate) fn fill(
    explored: &mut Explored,
    limit: Option<Nanos>,
    talk: &dyn Audience,
    started: Instant,
) -> anyhow::Result<Option<Scratch>> {
    fill_with(explored, limit, talk, started, None)
}

/// The same with data of which each sector says where it belongs.
pub(crate) fn fill_stamped(
    explored: &mut Explored,
    limit: Option<Nanos>,
    talk: &dyn Audience,
    started: Instant,
) -> anyhow::Result<Option<Scratch>> {
    let stamped = Verify::of(VerifyMode::WriteOnly);
    fill_with(explored, limit, talk, started, Some(stamped))
}

fn fill_with(
    explored: &mut Explored,
    limit: Option<Nanos>,
    talk: &dyn Audience,
    started: Instant,
    verify: Option<Verify>,
) -> anyhow::Result<Option<Scratch>> {
    let Some((size, reason)) = explored.scratch_plan.clone() else { return Ok(None) };
    talk.say(&format!("scratch file: {size} of random data, {reason}"));
    let before = Instant::now();
    let session = Session { explored, stop: talk.stop(), talk, started, deadline: None, journal: None };
    let filled = write(&session, (size, limit), verify)?;
    let filled = Bytes(filled.0 & !((1 << 20) - 1));
    anyhow::ensure!(filled >= Bytes::mib(1), "interrupted before the scratch file held anything");
    let mut reason = reason;
    if filled < size {
        reason = format!("{reason}; {filled} of {size} could be written in the time allowed");
        talk.say(&format!("the scratch file holds {filled}: the time for filling it was over"));
    }
    explored.place.region = filled;
    // An empty file takes no data without waiting, so only now can it be asked.
    explored.place.nowait = iostack_host::supports_nowait(&explored.held.handle()).unwrap_or(false);
    Ok(Some(Scratch { size: filled, reason, fill: Nanos(before.elapsed().as_nanos() as u64) }))
}

/// Fills the scratch file with incompressible data, front to back, for at most `limit`. Returns the bytes that were
/// written: the region of the check.
fn write(
    session: &Session<'_>,
    (size, limit): (Bytes, Option<Nanos>),
    verify: Option<Verify>,
) -> anyhow::Result<Bytes> {
    let engine = if session.explored.place.libaio { Engine::Libaio } else { Engine::Psync };
    let job = Job {
        name: "fill".to_owned(),
        mix: Mix::WRITE,
        access: Access::Sequential,
        block_sizes: BlockSizes::all(Bytes::mib(1)),
        engine,
        queue_depth: 8,
        direct: session.explored.place.direct,
        size: Some(Amount::Bytes(size)),
        runtime: limit,
        verify,
        sync: iostack_model::Sync { end_fsync: true, ..iostack_model::Sync::default() },
        ..Job::default()
    };
    let outcome = session.run(session.work(job)).map_err(anyhow::Error::msg)?;
    if let Some(failure) = outcome.failures.first() {
        anyhow::bail!(
            "the scratch file could not be filled at offset {}: {}; free some space or name a smaller --size",
            failure.offset_first,
            failure.message
        );
    }
    Ok(outcome.bytes())
}

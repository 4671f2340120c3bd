//! What is in the scratch file? Random data, written by us, so that reads are of something that was written.

use std::time::Instant;

use iostack_model::answers::Scratch;
use iostack_model::{Access, Amount, BlockSizes, Bytes, Engine, Job, Mix, Nanos, Outcome, Verify};
use iostack_target::{Audience, How, RunClock, Session};

/// Fills the scratch file, where there is one, and keeps to what could be filled within `limit`. With `verify` each sector
/// says where it belongs.
pub(crate) fn fill(
    session: &mut dyn Session,
    limit: Option<Nanos>,
    verify: Option<Verify>,
    talk: &dyn Audience,
) -> anyhow::Result<Option<Scratch>> {
    let place = &session.about().place;
    let (size, Some(reason)) = (place.region, place.to_fill.clone()) else {
        return Ok(None);
    };
    talk.say(&format!("scratch file: {size} of random data, {reason}"));
    let before = Instant::now();
    let outcome = write(session, (size, limit), verify, talk)?;
    let fill = match place.clock {
        RunClock::Wall => Nanos(before.elapsed().as_nanos() as u64),
        RunClock::Virtual => outcome.elapsed,
    };
    let filled = Bytes(outcome.bytes().0 & !((1 << 20) - 1));
    anyhow::ensure!(filled >= Bytes::mib(1), "interrupted before the scratch file held anything");
    let mut reason = reason;
    if filled < size {
        reason = format!("{reason}; {filled} of {size} could be written in the time allowed");
        talk.say(&format!("the scratch file holds {filled}: the time for filling it was over"));
    }
    session.keep(filled);
    Ok(Some(Scratch { size: filled, reason, fill }))
}

/// Fills the scratch file with incompressible data, front to back, for at most `limit`. The bytes that were written are the
/// region of the check.
fn write(
    session: &dyn Session,
    (size, limit): (Bytes, Option<Nanos>),
    verify: Option<Verify>,
    talk: &dyn Audience,
) -> anyhow::Result<Outcome> {
    let engine = if session.about().place.libaio { Engine::Libaio } else { Engine::Psync };
    let job = Job {
        name: "fill".to_owned(),
        mix: Mix::WRITE,
        access: Access::Sequential,
        block_sizes: BlockSizes::all(Bytes::mib(1)),
        engine,
        queue_depth: 8,
        direct: session.about().place.direct,
        size: Some(Amount::Bytes(size)),
        runtime: limit,
        verify,
        sync: iostack_model::Sync { end_fsync: true, ..iostack_model::Sync::default() },
        ..Job::default()
    };
    let outcome = session.run(&job, How::default(), talk.stop()).map_err(anyhow::Error::msg)?.outcome;
    if let Some(failure) = outcome.failures.first() {
        anyhow::bail!(
            "the scratch file could not be filled at offset {}: {}; free some space or name a smaller --size",
            failure.offset_first,
            failure.message
        );
    }
    Ok(outcome)
}

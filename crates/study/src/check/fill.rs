//! What is in the scratch file? Random data, written by us, so that reads are of something that was written.

use std::time::Instant;

use iostack_model::answers::Scratch;
use iostack_model::{Access, Amount, BlockSizes, Bytes, Engine, Failure, Job, Mix, Nanos, Sync, Verify};
use iostack_target::{Audience, How, Place, RunClock, Session};

/// Fills the scratch file, where there is one, and keeps to what could be filled within `limit`. With `verify` each sector
/// says where it belongs.
pub(crate) fn fill(
    session: &mut dyn Session,
    limit: Option<Nanos>,
    verify: Option<Verify>,
    talk: &dyn Audience,
) -> anyhow::Result<Option<Scratch>> {
    let place = &session.about().place;
    let (size, Some(mut reason)) = (place.region, place.to_fill.clone()) else { return Ok(None) };
    talk.say(&format!("scratch file: {size} of random data, {reason}"));
    let before = Instant::now();
    let ran = session.run(&job(place, limit, verify), How::default(), talk.stop());
    let outcome = ran.map_err(anyhow::Error::msg)?.outcome;
    if let Some(Failure { offset_first, message, .. }) = outcome.failures.first() {
        anyhow::bail!(
            "the scratch file could not be filled at offset {offset_first}: {message}; free some space or name a smaller --size"
        );
    }
    let fill = match place.clock {
        RunClock::Wall => Nanos(before.elapsed().as_nanos() as u64),
        RunClock::Virtual => outcome.elapsed,
    };
    let filled = Bytes(outcome.bytes().0 & !((1 << 20) - 1));
    anyhow::ensure!(filled >= Bytes::mib(1), "interrupted before the scratch file held anything");
    if filled < size {
        reason = format!("{reason}; {filled} of {size} could be written in the time allowed");
        talk.say(&format!("the scratch file holds {filled}: the time for filling it was over"));
    }
    session.keep(filled);
    Ok(Some(Scratch { size: filled, reason, fill }))
}

/// Fills the region of the place with incompressible data, front to back, for at most `limit`.
fn job(place: &Place, limit: Option<Nanos>, verify: Option<Verify>) -> Job {
    Job {
        name: "fill".to_owned(),
        mix: Mix::WRITE,
        access: Access::Sequential,
        block_sizes: BlockSizes::all(Bytes::mib(1)),
        engine: if place.libaio { Engine::Libaio } else { Engine::Psync },
        queue_depth: 8,
        direct: place.direct,
        size: Some(Amount::Bytes(place.region)),
        runtime: limit,
        verify,
        sync: Sync { end_fsync: true, ..Sync::default() },
        ..Job::default()
    }
}

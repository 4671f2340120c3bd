//! When is what was written read back?
//!
//! ```text
//!   write a pass ──► read it back ──► write the next ──► read it back ──► .. ──► write the last ──► all have ended: read it back
//!                    └──── no time of the job's ────┘
//! ```
//!
//! As fio does with `loops`; in a job without them, only the last. Start reading at [`load_passes`].

use iostack_model::Job;
use iostack_workload::load::is_read_by_pass;
use iostack_workload::{Plan, Source};

use crate::EngineError;
use crate::backend::Station;
use crate::tally::BackTally;

/// Runs the loop of a thread once, to measure or, where true, to read back.
type RunLoad<'a> = &'a mut dyn FnMut(&mut Station<'_>, bool) -> Result<(), EngineError>;

/// Begins reading back: what was written is read from here on, and nothing measured. Gives what was asked until now.
fn begin(station: &mut Station<'_>, plan: Plan, job: &Job) -> Source {
    station.extras.proving.read_back();
    station.load.read_back(plan, job, true)
}

/// Runs the loop, with [`is_read_by_pass`] once for each pass; all but the last are read back here, and `repeat` is left to
/// repeat that one. As in fio a pass that held something wrong is the last.
pub(crate) fn load_passes(
    station: &mut Station<'_>,
    job: &Job,
    repeat: &mut Option<Plan>,
    back: &mut Option<BackTally>,
    load: RunLoad<'_>,
) -> Result<(), EngineError> {
    load(station, false)?;
    let passes = if is_read_by_pass(job) { job.loops } else { 1 };
    for _ in 1..passes {
        let is_over = |station: &Station<'_>| {
            station.meter.interrupted || station.meter.stopped || station.meter.failures.count > 0
        };
        let Some(plan) = repeat.take_if(|_| !is_over(station)) else { return Ok(()) };
        let (paused, lane) = (station.meter.pause(), station.lane.take());
        let mut source = begin(station, plan, job);
        load(station, true)?;
        add(back, station.meter.resume(&paused));
        if is_over(station) {
            return Ok(());
        }
        station.extras.proving.write_again();
        *repeat = source.next_pass();
        station.load.write_again(source);
        station.lane = lane;
        load(station, false)?;
    }
    Ok(())
}

/// Reads back the last pass, or the only one.
pub(crate) fn read_last(
    station: &mut Station<'_>,
    plan: Plan,
    job: &Job,
    back: &mut Option<BackTally>,
    load: RunLoad<'_>,
) -> Result<(), EngineError> {
    begin(station, plan, job);
    station.meter.silence();
    let first = station.meter.clock.now();
    let outcome = load(station, true);
    add(back, station.meter.read_back(first));
    outcome
}

/// Adds what was read: the time between is not counted.
fn add(back: &mut Option<BackTally>, one: BackTally) {
    match back {
        Some(all) => {
            all.latency.absorb(&one.latency);
            all.bytes += one.bytes;
            all.last += one.last - one.first;
        }
        None => *back = Some(one),
    }
}

//! How fast, and how fast must it be?

use iostack_model::{Arrival, LatencyGoal, Nanos, Share};

use super::{MILLISECOND, Row, row};
use crate::fio::set::{by_direction, set_steady, set_think_time};
use crate::fio::units::{microseconds, seconds, size, time};
use crate::options::value::{ValueError, assign, bad, count, positive, put, switch, within};

pub(super) const ROWS: &[Row] = &[
    row("rate", |draft, text| assign(&mut draft.rate_bytes, limits(text, draft.kb_base)))
        .says("Bytes per second of each direction, paced by the clock", "1m"),
    row("rate_iops", |draft, text| assign(&mut draft.rate_iops, limits(text, 1000)))
        .says("I/Os per second of each direction, paced by the clock", "1000"),
    row("rate_process", put!(arrival, of [("linear", Arrival::Regular), ("poisson", Arrival::Poisson)]))
        .says("Distances between I/Os: linear or poisson", "linear, poisson"),
    row("flow", |draft, text| {
        let weight = within::<0, 1000>(text)?;
        draft.job.share = (weight > 0).then_some(Share { group: 0, weight, nap: Nanos(0) });
        Ok(())
    })
    .says("This job's weight among those that share I/Os in proportion; 0: none", "3"),
    row("flow_id", put!(job.share => group, count))
        .says("Jobs with this number share", "1")
        .leaning_on("flow"),
    row("flow_sleep", put!(job.share => nap, microseconds))
        .says("How long one that is ahead sleeps; a bare number is microseconds", "100")
        .leaning_on("flow"),
    row("rate_min", |draft, text| assign(&mut draft.job.demand.bytes, least(text, draft.kb_base)))
        .says("Fail when a direction moves fewer bytes per second", "1m")
        .or(&["ratemin"]),
    row("rate_iops_min", |draft, text| assign(&mut draft.job.demand.iops, least(text, 1000)))
        .says("Fail when a direction makes fewer I/Os per second", "1000"),
    row("rate_cycle", |draft, text| assign(&mut draft.job.demand.cycle, time(text, MILLISECOND)))
        .says("How often rate_min is looked at; a bare number is milliseconds", "1000")
        .or(&["ratecycle"]),
    row("steadystate", set_steady)
        .says("End when iops, bw, or their slope, changes by less", "iops:0.3%, bw_slope:0.1%")
        .or(&["ss"]),
    row("steadystate_duration", put!(job.until_steady => window, seconds))
        .says("Steady over this time; a bare number is seconds", "30s")
        .or(&["ss_dur"])
        .leaning_on("steadystate"),
    row("steadystate_ramp_time", put!(job.until_steady => after, seconds))
        .says("What came earlier does not count", "10s")
        .or(&["ss_ramp"])
        .leaning_on("steadystate"),
    row("latency_target", |draft, text| {
        let latency = microseconds(text)?;
        let goal = LatencyGoal { latency, percent: 100.0, window: Nanos(0), goes_on: false };
        draft.job.latency_goal = (latency.0 > 0).then_some(goal);
        Ok(())
    })
    .says(
        "Search the deepest queue, up to iodepth, that keeps this latency; a bare number is microseconds",
        "500us",
    ),
    row("latency_window", put!(job.latency_goal => window, microseconds))
        .says("How long a depth is tried before it is judged; a bare number is microseconds", "100ms")
        .leaning_on("latency_target"),
    row("latency_percentile", put!(job.latency_goal => percent, percent))
        .says("Percent of the I/Os that must keep it", "99.9")
        .leaning_on("latency_target"),
    row("latency_run", put!(job.latency_goal => goes_on, switch))
        .says("Search until the job ends, instead of measuring the depth found", "1")
        .leaning_on("latency_target"),
    row("max_latency", put!(job.demand.latency, microseconds))
        .says("Fail when an I/O takes longer; a bare number is microseconds", "50ms"),
    row("thinktime", set_think_time).says("Pause between I/Os; a bare number is microseconds", "100, 10ms"),
    row("thinktime_spin", |draft, text| {
        let spin = microseconds(text)?;
        draft.job.think.iter_mut().for_each(|think| think.spin = spin.min(think.time));
        Ok(())
    })
    .says("Part of the pause that burns CPU", "10")
    .leaning_on("thinktime"),
    row("thinktime_blocks", put!(job.think => every, positive))
        .says("I/Os between two pauses", "8")
        .leaning_on("thinktime"),
];

/// A limit for each direction; 0 is none.
fn limits(text: &str, base: u64) -> Result<[Option<f64>; 3], ValueError> {
    let limits = by_direction(text, |part| Ok(size(part, base)?.0 as f64))?;
    Ok(limits.map(|limit| limit.filter(|&limit| limit > 0.0)))
}

fn least(text: &str, base: u64) -> Result<[u64; 3], ValueError> {
    Ok(by_direction(text, |part| Ok(size(part, base)?.0))?.map(Option::unwrap_or_default))
}

fn percent(text: &str) -> Result<f64, ValueError> {
    text.parse()
        .ok()
        .filter(|percent| (0.0..=100.0).contains(percent))
        .map_or_else(|| bad("give 0 to 100"), Ok)
}

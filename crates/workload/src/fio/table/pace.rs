//! How fast, and how fast must it be?

use iostack_model::{Arrival, LatencyGoal, Nanos, Share};

use super::{MICROSECOND, MILLISECOND, Row, value};
use crate::fio::set::{by_direction, set_steady, set_think_time};
use crate::fio::units::{microseconds, seconds, size, time};
use crate::options::value::{bad, count, positive, switch, whole_u32};

pub(super) const ROWS: &[Row] = &[
    value("rate", "Bytes per second of each direction, paced by the clock", "1m", |draft, text| {
        let kb_base = draft.kb_base;
        let limits = by_direction(text, |part| Ok(size(part, kb_base)?.0 as f64))?;
        draft.rate_bytes = limits.map(|limit| limit.filter(|&limit| limit > 0.0));
        Ok(())
    }),
    value("rate_iops", "I/Os per second of each direction, paced by the clock", "1000", |draft, text| {
        let limits = by_direction(text, |part| Ok(size(part, 1000)?.0 as f64))?;
        draft.rate_iops = limits.map(|limit| limit.filter(|&limit| limit > 0.0));
        Ok(())
    }),
    value("rate_process", "Distances between I/Os: linear or poisson", "linear, poisson", |draft, text| {
        draft.arrival = Some(match text {
            "linear" => Arrival::Regular,
            "poisson" => Arrival::Poisson,
            _ => return bad("give linear or poisson"),
        });
        Ok(())
    }),
    value(
        "flow",
        "This job's weight among those that share I/Os in proportion; 0: none",
        "3",
        |draft, text| {
            let weight = whole_u32(text, 0, 1000)?;
            draft.job.share = (weight > 0).then_some(Share { group: 0, weight, nap: Nanos(0) });
            Ok(())
        },
    ),
    value("flow_id", "Jobs with this number share", "1", |draft, text| {
        let group = count(text)?;
        draft.job.share.iter_mut().for_each(|share| share.group = group);
        Ok(())
    })
    .leaning_on("flow"),
    value(
        "flow_sleep",
        "How long one that is ahead sleeps; a bare number is microseconds",
        "100",
        |draft, text| {
            let nap = time(text, MICROSECOND)?;
            draft.job.share.iter_mut().for_each(|share| share.nap = nap);
            Ok(())
        },
    )
    .leaning_on("flow"),
    value("rate_min", "Fail when a direction moves fewer bytes per second", "1m", |draft, text| {
        let kb_base = draft.kb_base;
        let least = by_direction(text, |part| Ok(size(part, kb_base)?.0))?;
        draft.job.demand.bytes = least.map(Option::unwrap_or_default);
        Ok(())
    })
    .or(&["ratemin"]),
    value("rate_iops_min", "Fail when a direction makes fewer I/Os per second", "1000", |draft, text| {
        let least = by_direction(text, |part| Ok(size(part, 1000)?.0))?;
        draft.job.demand.iops = least.map(Option::unwrap_or_default);
        Ok(())
    }),
    value(
        "rate_cycle",
        "How often rate_min is looked at; a bare number is milliseconds",
        "1000",
        |draft, text| {
            draft.job.demand.cycle = time(text, MILLISECOND)?;
            Ok(())
        },
    )
    .or(&["ratecycle"]),
    value(
        "steadystate",
        "End when iops, bw, or their slope, changes by less",
        "iops:0.3%, bw_slope:0.1%",
        set_steady,
    )
    .or(&["ss"]),
    value(
        "steadystate_duration",
        "Steady over this time; a bare number is seconds",
        "30s",
        put!(steady_window, seconds),
    )
    .or(&["ss_dur"]),
    value("steadystate_ramp_time", "What came earlier does not count", "10s", put!(steady_after, seconds))
        .or(&["ss_ramp"]),
    value(
        "latency_target",
        "Search the deepest queue, up to iodepth, that keeps this latency; a bare number is microseconds",
        "500us",
        |draft, text| {
            let latency = time(text, MICROSECOND)?;
            let goal = LatencyGoal { latency, percent: 100.0, window: Nanos(0), goes_on: false };
            draft.job.latency_goal = (latency.0 > 0).then_some(goal);
            Ok(())
        },
    ),
    value(
        "latency_window",
        "How long a depth is tried before it is judged; a bare number is microseconds",
        "100ms",
        |draft, text| {
            let window = time(text, MICROSECOND)?;
            draft.job.latency_goal.iter_mut().for_each(|goal| goal.window = window);
            Ok(())
        },
    )
    .leaning_on("latency_target"),
    value("latency_percentile", "Percent of the I/Os that must keep it", "99.9", |draft, text| {
        let percent: f64 = match text.parse() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => percent,
            _ => return bad("give 0 to 100"),
        };
        draft.job.latency_goal.iter_mut().for_each(|goal| goal.percent = percent);
        Ok(())
    })
    .leaning_on("latency_target"),
    value(
        "latency_run",
        "Search until the job ends, instead of measuring the depth found",
        "1",
        |draft, text| {
            let goes_on = switch(text)?;
            draft.job.latency_goal.iter_mut().for_each(|goal| goal.goes_on = goes_on);
            Ok(())
        },
    )
    .leaning_on("latency_target"),
    value(
        "max_latency",
        "Fail when an I/O takes longer; a bare number is microseconds",
        "50ms",
        put!(job.demand.latency, microseconds),
    ),
    value("thinktime", "Pause between I/Os; a bare number is microseconds", "100, 10ms", |draft, text| {
        set_think_time(draft, time(text, MICROSECOND)?);
        Ok(())
    }),
    value("thinktime_spin", "Part of the pause that burns CPU", "10", |draft, text| {
        let spin = time(text, MICROSECOND)?;
        draft.job.think.iter_mut().for_each(|think| think.spin = spin.min(think.time));
        Ok(())
    })
    .leaning_on("thinktime"),
    value("thinktime_blocks", "I/Os between two pauses", "8", |draft, text| {
        let every = positive(text)?;
        draft.job.think.iter_mut().for_each(|think| think.every = every);
        Ok(())
    })
    .leaning_on("thinktime"),
];

//! How can a reader recompute a figure?
//!
//! Each outcome as JSON: its histogram in fio's geometry (0..127 ns exact, then 64 buckets to the octave), its counts
//! and its CPU time. `bins` is a flat list of `step, count`: the bucket is the one before plus the step, which keeps
//! a page of a hundred histograms small. Time series and whatever else is drawn is in `plots` already.

use iostack_model::{Bins, Direction, Inside, Layers, Outcome, Stages};
use serde_json::{Map, Value, json};

use super::escape;

/// A JSON array of named outcomes.
pub(crate) fn outcomes<'a>(named: impl Iterator<Item = (String, &'a Outcome)>) -> String {
    escape::script(&named.map(|(name, outcome)| one(&name, outcome)).collect())
}

fn one(name: &str, outcome: &Outcome) -> Value {
    let (job, cpu) = (&outcome.job, &outcome.cpu);
    let iops = [outcome.iops.mean, outcome.iops.low, outcome.iops.high].map(escape::number);
    let mut all = json!({
        "name": name,
        "rw": job.rw_name(),
        "engine": job.engine.name(),
        "queue_depth": job.depth(),
        "threads": job.threads,
        "block_size_max": job.block_sizes.largest().0,
        "seed": job.seed,
        "elapsed_ns": outcome.elapsed.0,
        "iops": iops,
        "depth_achieved": escape::number(outcome.depth_achieved),
    });
    if let Some(inside) = &outcome.inside {
        all["inside"] = of_inside(inside);
    } else {
        all["cpu_ns"] = json!([cpu.user.0, cpu.system.0, cpu.workers.0]);
        all["syscalls"] = json!(cpu.syscalls);
    }
    for direction in Direction::ALL {
        let flow = outcome.flow(direction);
        if flow.latency.count > 0 {
            all[direction.name()] = bins(&flow.latency);
            all[direction.name()]["bytes"] = json!(flow.bytes.0);
        }
    }
    if outcome.sync.count > 0 {
        all["sync"] = bins(&outcome.sync);
    }
    if outcome.stages.is_some() || outcome.layers.is_some() {
        all["attribution"] = attribution(outcome.stages.as_ref(), outcome.layers.as_ref());
    }
    all
}

fn by_name<'a>(each: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    Value::Object(each.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
}

/// Resources and stages of a simulation; flash and values over time are on the page.
fn of_inside(inside: &Inside) -> Value {
    let resources = inside.resources.iter().map(|resource| {
        json!({
            "name": resource.name,
            "count": resource.count,
            "busy": escape::number(resource.busy),
            "visits": resource.visits,
            "service_ns": escape::number(resource.service_ns),
            "wait_ns": escape::number(resource.wait_ns),
        })
    });
    let flows = inside.flows.iter().map(|flow| {
        (flow.direction.name(), by_name(flow.stages.iter().map(|(stage, own)| (stage.name(), bins(own)))))
    });
    json!({
        "device": inside.device,
        "state": inside.state,
        "seed": inside.seed,
        "resources": resources.collect::<Value>(),
        "stages": by_name(flows),
    })
}

/// The whole and the stages of each way of a trace, the time of each layer of a profile.
fn attribution(stages: Option<&Stages>, layers: Option<&Layers>) -> Value {
    let ways = stages.into_iter().flat_map(|stages| &stages.ways).map(|way| {
        let stages = by_name(way.stages.iter().map(|(stage, own)| (stage.name(), bins(own))));
        json!({"way": way.way.name(), "whole": bins(&way.whole), "stages": stages})
    });
    let rows = layers
        .into_iter()
        .flat_map(|layers| &layers.rows)
        .map(|row| json!({"layer": row.layer, "time_ns": row.time.0, "samples": row.samples}));
    ways.chain(rows).collect()
}

fn bins(bins: &Bins) -> Value {
    let mut before = 0;
    let steps = bins.counts.iter().flat_map(|&(index, count)| {
        let step = index - std::mem::replace(&mut before, index);
        [u64::from(step), count]
    });
    json!({
        "count": bins.count,
        "sum_ns": bins.sum_ns,
        "min_ns": bins.min_ns,
        "max_ns": bins.max_ns,
        "bins": steps.collect::<Vec<u64>>(),
    })
}

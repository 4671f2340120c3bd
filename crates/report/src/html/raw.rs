//! How can a reader recompute a figure?
//!
//! Each outcome as JSON: its histogram in fio's geometry (0..127 ns exact, then 64 buckets to the octave), its counts
//! and its CPU time. `bins` is a flat list of `step, count`: the bucket is the one before plus the step, which keeps
//! a page of a hundred histograms small. Time series and whatever else is drawn is in `plots` already.

use iostack_model::{Bins, Direction, Inside, IoCost, Layers, Outcome, Stages};

use super::escape;
use crate::iocost::{circumstances, place, subject};

/// A JSON array of named outcomes.
pub(super) fn outcomes<'a>(named: impl Iterator<Item = (String, &'a Outcome)>) -> String {
    let all: Vec<String> = named.map(|(name, outcome)| one(&name, outcome)).collect();
    format!("[{}]", all.join(",\n"))
}

fn one(name: &str, outcome: &Outcome) -> String {
    let job = &outcome.job;
    let mut fields = vec![
        format!("\"name\":{}", escape::json(name)),
        format!("\"rw\":\"{}\"", job.rw_name()),
        format!("\"engine\":\"{}\"", job.engine.name()),
        format!("\"queue_depth\":{}", job.depth()),
        format!("\"threads\":{}", job.threads),
        format!("\"block_size_max\":{}", job.block_sizes.largest().0),
        format!("\"seed\":{}", job.seed),
        format!("\"elapsed_ns\":{}", outcome.elapsed.0),
        format!(
            "\"iops\":[{}]",
            [outcome.iops.mean, outcome.iops.low, outcome.iops.high].map(escape::number).join(",")
        ),
        format!("\"depth_achieved\":{}", escape::number(outcome.depth_achieved)),
    ];
    match &outcome.inside {
        Some(inside) => fields.push(format!("\"inside\":{}", of_inside(inside))),
        None => fields.extend([
            format!("\"cpu_ns\":[{},{},{}]", outcome.cpu.user.0, outcome.cpu.system.0, outcome.cpu.workers.0),
            format!("\"syscalls\":{}", outcome.cpu.syscalls),
        ]),
    }
    for direction in Direction::ALL {
        let flow = outcome.flow(direction);
        if flow.latency.count > 0 {
            fields.push(format!(
                "\"{}\":{{\"bytes\":{},{}}}",
                direction.name(),
                flow.bytes.0,
                bins(&flow.latency)
            ));
        }
    }
    if outcome.sync.count > 0 {
        fields.push(format!("\"sync\":{{{}}}", bins(&outcome.sync)));
    }
    if outcome.stages.is_some() || outcome.layers.is_some() {
        let went = attribution(outcome.stages.as_ref(), outcome.layers.as_ref());
        fields.push(format!("\"attribution\":{went}"));
    }
    format!("{{{}}}", fields.join(","))
}

/// What a simulation saw; what it says of flash and over time is on the page.
fn of_inside(inside: &Inside) -> String {
    let resources = inside.resources.iter().map(|resource| {
        format!(
            "{{\"name\":{},\"count\":{},\"busy\":{},\"visits\":{},\"service_ns\":{},\"wait_ns\":{}}}",
            escape::json(&resource.name),
            resource.count,
            escape::number(resource.busy),
            resource.visits,
            escape::number(resource.service_ns),
            escape::number(resource.wait_ns)
        )
    });
    let flows = inside.flows.iter().map(|flow| {
        let each = flow.stages.iter().map(|(stage, own)| format!("\"{}\":{{{}}}", stage.name(), bins(own)));
        format!("\"{}\":{{{}}}", flow.direction.name(), each.collect::<Vec<_>>().join(","))
    });
    format!(
        "{{\"device\":{},\"state\":{},\"seed\":{},\"resources\":[{}],\"stages\":{{{}}}}}",
        escape::json(&inside.device),
        escape::json(&inside.state),
        inside.seed,
        resources.collect::<Vec<_>>().join(","),
        flows.collect::<Vec<_>>().join(",")
    )
}

/// What a trace and a profile counted: each way's whole and stages, each layer's time.
pub(super) fn attribution(stages: Option<&Stages>, layers: Option<&Layers>) -> String {
    let ways = stages.into_iter().flat_map(|stages| &stages.ways).map(|way| {
        let each = way.stages.iter().map(|(stage, own)| format!("\"{}\":{{{}}}", stage.name(), bins(own)));
        let each: Vec<String> = each.collect();
        format!(
            "{{\"way\":\"{}\",\"whole\":{{{}}},\"stages\":{{{}}}}}",
            way.way.name(),
            bins(&way.whole),
            each.join(",")
        )
    });
    let rows = layers.into_iter().flat_map(|layers| &layers.rows).map(|row| {
        format!(
            "{{\"layer\":{},\"time_ns\":{},\"samples\":{}}}",
            escape::json(&row.layer),
            row.time.0,
            row.samples
        )
    });
    format!("[{}]", ways.chain(rows).collect::<Vec<_>>().join(",\n"))
}

fn bins(bins: &Bins) -> String {
    let mut before = 0;
    let mut counts = Vec::with_capacity(bins.counts.len());
    for &(index, count) in &bins.counts {
        counts.push(format!("{},{count}", index - before));
        before = index;
    }
    format!(
        "\"count\":{},\"sum_ns\":{},\"min_ns\":{},\"max_ns\":{},\"bins\":[{}]",
        bins.count,
        bins.sum_ns,
        bins.min_ns,
        bins.max_ns,
        counts.join(",")
    )
}

/// Exact costs but for the calls.
pub(super) fn costs(costs: &[&IoCost]) -> String {
    let all: Vec<String> = costs.iter().map(|cost| one_cost(cost)).collect();
    format!("[{}]", all.join(",\n"))
}

fn one_cost(cost: &IoCost) -> String {
    let list = |items: Vec<String>| items.join(",");
    let name = format!("{}, {}", subject(&cost.case), circumstances(&cost.case));
    let layers = cost.layers.iter().map(|row| format!("[{},{}]", escape::json(&row.layer), row.instructions));
    let functions = cost.functions.iter().map(|one| {
        let calls = one.calls.map_or("null".to_owned(), |calls| calls.to_string());
        let words = [&one.name, &one.layer, place(one)].map(escape::json).join(",");
        format!("[{words},{},{calls}]", one.instructions)
    });
    let modes = cost.modes.iter().map(|mode| format!("[{},{}]", mode.instructions, mode.ios));
    let registers = cost.mmio.as_ref().map(|uses| {
        let each = uses.iter().map(|one| {
            let words = [&one.function, &one.region].map(|word| escape::json(word)).join(",");
            format!("[{words},{},{},{}]", one.address, one.reads, one.writes)
        });
        format!("[{}]", list(each.collect()))
    });
    format!(
        "{{\"case\":{},\"ios\":{},\"instructions\":{},\"modes\":[{}],\"layers\":[{}],\"functions\":[{}],\
         \"registers\":{}}}",
        escape::json(&name),
        cost.ios,
        cost.instructions,
        list(modes.collect()),
        list(layers.collect()),
        list(functions.collect()),
        registers.unwrap_or_else(|| "null".to_owned()),
    )
}

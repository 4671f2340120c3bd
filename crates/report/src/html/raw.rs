//! How can a reader recompute a figure?
//!
//! Each outcome as JSON: its histogram in fio's geometry (0..127 ns exact, then 64 buckets to the octave), its counts
//! and its CPU time. `bins` is a flat list of `step, count`: the bucket is the one before plus the step, which keeps
//! a page of a hundred histograms small. Time series and whatever else is drawn is in `plots` already.

use iostack_model::{Bins, Direction, Inside, Layers, Outcome, Stages};

use super::escape;

/// A JSON array of named outcomes.
pub(crate) fn outcomes<'a>(named: impl Iterator<Item = (String, &'a Outcome)>) -> String {
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
fn attribution(stages: Option<&Stages>, layers: Option<&Layers>) -> String {
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

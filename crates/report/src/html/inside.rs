//! What happened inside the simulated device, and why is it as fast as it is?
//!
//! The answer in sentences; every resource with its busy share, the limiting one in colour; the mean I/O of each
//! direction as a line cut into stages; what flash management did. Start reading at [`body`].

use iostack_model::{Bins, FlashUse, Inside, InsideFlow, Interval, Outcome, OutcomeFile, ResourceUse, Stage};

use super::bars::{Bar, Bars, Column, Row};
use super::escape;
use super::numbers::{NOTHING, Quantity, grouped, significant};
use super::sheet::{Sheet, span};
use super::stages::{percent, ruler, stage_row, timeline};
use super::table::pairs;
use crate::inside;

/// The colour of what limits, and of the rest.
const LIMITS: usize = 1;
const OTHERS: usize = 6;

/// The sentences, first of all below the figures of a job.
pub(super) fn reasons(outcome: &Outcome) -> String {
    let Some(inside) = &outcome.inside else { return String::new() };
    let told = inside::reasons(outcome, inside);
    let told: Vec<(&str, String)> =
        told.into_iter().map(|(label, sentence)| (label, escape::text(&sentence))).collect();
    format!("<h3>Why it is as fast as it is</h3><div class=\"reasons\">{}</div>", pairs(&told))
}

/// Name and value of the tiles that stand where a real run has its CPU time.
pub(super) fn tiles(inside: &Inside) -> Vec<(&'static str, String, String)> {
    let mut tiles = Vec::new();
    if let Some((limit, used_up)) = inside::busiest(inside) {
        let what = if used_up { "limited by" } else { "busiest part" };
        tiles.push((what, escape::text(&limit.name), format!("{} busy", percent(limit.busy))));
    }
    if let Some(flash) = inside.flash.as_ref().filter(|flash| flash.pages_host > 0) {
        tiles.push((
            "write amplification",
            significant(flash.write_amplification),
            format!("{} of {} blocks free", grouped(flash.blocks_free), grouped(flash.blocks)),
        ));
    }
    tiles
}

/// What was simulated, as a list.
pub(super) fn device(inside: &Inside) -> String {
    let text = |words: Option<String>| words.map_or(String::new(), |words| escape::text(&words));
    pairs(&[
        ("Device", escape::text(&format!("sim:{}", inside.device))),
        ("Is", escape::text(&inside.title)),
        ("Capacity", inside.capacity.to_string()),
        ("Numbers", escape::text(&inside.origin)),
        ("Changed for this run", text(inside::changed(inside))),
        ("State at the start", text(inside::state(inside))),
        ("Seed", format!("{} (gives every figure again, to the last digit)", inside.seed)),
        (
            "Simulated",
            format!(
                "{} requests in {} events, ramp included",
                grouped(inside.requests),
                grouped(inside.events)
            ),
        ),
    ])
}

/// Resources, stages and flash management, below headings.
pub(super) fn body(outcome: &Outcome, sheet: &mut Sheet) -> String {
    let Some(inside) = &outcome.inside else { return String::new() };
    let mut out = String::new();
    if !inside.resources.is_empty() {
        out += &format!("<h3>Which part was busy</h3>{}", resources(outcome, inside, sheet));
    }
    if let Some(host) = &inside.host {
        let hosts = [(inside.device.clone(), host)];
        out += &format!("<h3>Clocks of an I/O by layer</h3>{}", super::platform::clocks_bars(&hosts));
    }
    let flows: Vec<&InsideFlow> = inside.flows.iter().filter(|flow| flow.whole.count > 0).collect();
    if !flows.is_empty() {
        let pictures: String = flows.iter().map(|flow| picture(outcome, flow, sheet)).collect();
        out += &format!("<h3>Where the latency went</h3><div class=\"figures\">{pictures}</div>");
    }
    out + &inside.flash.as_ref().map_or(String::new(), flash)
}

const BUSY: Column =
    Column { label: "busy (% of the time)", quantity: Quantity::Percent, parts: &[], most: Some(100.0) };

fn resources(outcome: &Outcome, inside: &Inside, sheet: &Sheet) -> String {
    let limit = inside::busiest(inside).filter(|(_, used_up)| *used_up).map(|(limit, _)| limit.name.as_str());
    let rows = inside.resources.iter().map(|resource| row(resource, limit == Some(&resource.name))).collect();
    let caption = format!(
        "{} of simulated time; those alike together, the share is their mean; wait: before it is used; waiting: mean \
         number, of all together",
        span(outcome.elapsed)
    );
    Bars {
        of: "resource".to_owned(),
        columns: vec![BUSY],
        details: vec!["how many", "busiest", "uses", "each takes", "wait", "waiting"],
        groups: vec![(String::new(), rows)],
        caption: sheet.note(&caption),
    }
    .figure()
}

fn row(resource: &ResourceUse, limits: bool) -> Row {
    Row {
        name: if limits { format!("{} (limits)", resource.name) } else { resource.name.clone() },
        slot: if limits { LIMITS } else { OTHERS },
        bars: vec![Bar::whole(Interval::exact(resource.busy * 100.0))],
        details: vec![
            grouped(u64::from(resource.count)),
            percent(resource.busiest),
            Quantity::Count.show(resource.visits as f64),
            Quantity::Nanos.show(resource.service_ns),
            Quantity::Nanos.show(resource.wait_ns),
            significant(resource.waiting),
        ],
        doubts: String::new(),
    }
}

/// The mean I/O of one direction as a line, and its numbers.
fn picture(outcome: &Outcome, flow: &InsideFlow, sheet: &Sheet) -> String {
    let own: Vec<(Stage, &Bins)> = flow.stages.iter().map(|(stage, bins)| (*stage, bins)).collect();
    format!(
        "<figure class=\"wide stagepicture\"><h4>The mean {direction} from start to end</h4>{line}{ruler}{numbers}\
         <figcaption>{caption}</figcaption></figure>",
        direction = flow.direction.name(),
        line = timeline(&own, flow.whole.mean_ns(), 46),
        ruler = ruler(flow.whole.mean_ns()),
        numbers = numbers(flow),
        caption = sheet.note(&format!(
            "{} {}s in {}; sums are exact",
            grouped(flow.whole.count),
            flow.direction.name(),
            span(outcome.elapsed)
        )),
    )
}

fn numbers(flow: &InsideFlow) -> String {
    let whole_ns = flow.whole.mean_ns();
    let mut rows = String::new();
    for (stage, bins) in flow.stages.iter().filter(|(_, bins)| bins.sum_ns > 0) {
        let key = format!("<span class=\"swatch {}\">{}</span>", hue(*stage), stage.name());
        rows += &stage_row(("", &key, stage.meaning()), bins, whole_ns);
    }
    rows += &stage_row(("partsum", "sum", "what the caller waited"), &flow.whole, whole_ns);
    format!(
        "<div class=\"scroll\"><table class=\"numbers parts-table\"><thead><tr><th>stage</th><th class=\"words\">what \
         happens in it</th><th>mean</th><th>share</th><th>p50</th><th>p99</th><th>p99.9</th></tr></thead>\
         <tbody>{rows}</tbody></table></div>"
    )
}

/// The colour of a stage: inside a device each has one of its own (flash and disk share them), elsewhere its part's.
pub(super) fn hue(stage: Stage) -> &'static str {
    match stage {
        Stage::Channel => "s0",
        Stage::Collect | Stage::Rotate | Stage::Throttle => "s1",
        Stage::Die | Stage::Medium => "s2",
        Stage::Controller | Stage::Seek => "s3",
        Stage::Link => "s4",
        Stage::Buffer => "s5",
        Stage::Admit => "s6",
        Stage::DieWait | Stage::ArmWait => "s7",
        other => other.part().name(),
    }
}

fn flash(used: &FlashUse) -> String {
    let per_host = |pages: u64| match used.pages_host {
        0 => NOTHING.to_owned(),
        host => significant(pages as f64 / host as f64),
    };
    let factor = if used.pages_host > 0 { significant(used.write_amplification) } else { NOTHING.to_owned() };
    let own = if used.pages_host > 0 { significant(used.collector_factor()) } else { NOTHING.to_owned() };
    let list = pairs(&[
        ("Write amplification", format!("{factor} bytes written to flash per byte the host wrote")),
        ("Collector's factor", format!("{own} pages written to flash per page written for the host")),
        ("Page", format!("{}, the unit of mapping", used.page)),
        ("Written by the host", used.bytes_host.to_string()),
        ("Written to flash for it", format!("{} pages", grouped(used.pages_host))),
        ("Written to flash in all", format!("{} pages", grouped(used.pages_programmed))),
        (
            "Moved by garbage collection",
            format!(
                "{} pages, {} per page written for the host",
                grouped(used.pages_moved),
                per_host(used.pages_moved)
            ),
        ),
        ("Read because a write was smaller", format!("{} pages", grouped(used.pages_merged))),
        ("Erases", format!("{} blocks", grouped(used.erases))),
        ("Over-provisioning", percent(used.over_provisioning)),
        ("Free at the end", format!("{} of {} blocks", grouped(used.blocks_free), grouped(used.blocks))),
        ("Holding data at the end", format!("{} pages", grouped(used.pages_mapped))),
        (
            "Erases of a block since new",
            format!("{} to {}, mean {}", used.wear_min, used.wear_max, significant(used.wear_mean)),
        ),
    ]);
    format!("<h3>What flash management did</h3>{list}")
}

/// How the figures of a simulation come about: of a device alone, or with a host.
pub(super) fn method(file: &OutcomeFile) -> String {
    let inside = file.outcomes.iter().filter_map(|outcome| outcome.inside.as_ref());
    let host = if inside.into_iter().any(|inside| inside.host.is_some()) {
        "The host's clocks are those of its sheet, spent on its cores."
    } else {
        "The host costs nothing here, so there is no CPU time."
    };
    METHOD.replace("HOST", host)
}

const METHOD: &str = "<p>Nothing was measured: a model of the device was run in virtual time, in whole \
nanoseconds. Every request is timed, from submission to completion, into a histogram of 64 buckets to the octave: a \
percentile is at most 1/128 off for that reason. The stages of a request add up to its latency exactly; one of several \
parts has the stages of the part that ended last. Rates carry the 95 % interval of the mean over slices of virtual \
time. A percentile is shown only when ten requests lie beyond it. HOST \
The device, its changed numbers and the seed give every figure again, on any machine. MB and GB are powers of 1000, KiB \
and MiB of 1024.</p>";

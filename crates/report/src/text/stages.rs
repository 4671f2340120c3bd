//! Where the latency went, by stage: the whole account, and a compact block while it is traced.

use iostack_model::{Bins, DeviceStages, Part, Stage, Stages, TracingCost, Way, WayStages};

use super::format::{both_ends, brief, clean, cut, paragraph, percent, supported, time};
use super::glyphs::bar;
use super::ladder::rung_line;

/// Columns of the live block; the last one stays free so that no terminal wraps.
const LIVE_WIDTH: usize = 79;

/// Cells of the bar of a part.
const PART_BAR: usize = 31;
/// Cells of the bar of a stage while tracing.
const LIVE_BAR: usize = 23;

/// The account of a trace: ways, stages, devices, and how far to trust it.
pub fn stages(stages: &Stages) -> String {
    let mut parts = vec![head(stages)];
    if stages.ways.is_empty() && stages.devices.is_empty() {
        parts.push("no I/O was seen while traced\n".to_owned());
    }
    parts.push(ways(stages));
    parts.extend(stages.ways.iter().map(way_table));
    parts.push(device_tree(&stages.devices));
    parts.push(foot(stages));
    parts.retain(|part| !part.is_empty());
    clean(&parts.join("\n"))
}

fn head(stages: &Stages) -> String {
    both_ends(
        &format!("STAGES of {}", cut(&stages.subject, 44)),
        &format!("{} {} in {}", brief(stages.ios as f64), counted(stages), time(stages.elapsed.0 as f64)),
    )
}

/// What is counted: a device has bios, whoever's I/Os they are.
pub(crate) fn counted(stages: &Stages) -> &'static str {
    if stages.ways.is_empty() && !stages.devices.is_empty() { "bios" } else { "I/Os" }
}

/// Each way with its share of the I/Os and of the time.
fn ways(stages: &Stages) -> String {
    if stages.ways.is_empty() {
        return String::new();
    }
    let count: f64 = stages.ways.iter().map(|way| way.whole.count as f64).sum();
    let sum: f64 = stages.ways.iter().map(|way| way.whole.sum_ns as f64).sum();
    let mut text = format!(
        "{:<15}{:>11}{:>8}{:>8}{:>10}{:>9}{:>9}{:>9}\n",
        "WAY", "I/Os", "% I/Os", "% time", "mean", "p50", "p99", "p99.9"
    );
    for way in &stages.ways {
        let whole = &way.whole;
        text += &format!(
            "{:<15}{:>11}{:>8}{:>8}{:>10}{:>9}{:>9}{:>9}\n",
            way.way.name(),
            brief(whole.count as f64),
            percent(ratio(whole.count as f64, count)),
            percent(ratio(whole.sum_ns as f64, sum)),
            mean(whole),
            supported(whole, 0.5),
            supported(whole, 0.99),
            supported(whole, 0.999)
        );
    }
    text
}

pub(super) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn mean(bins: &Bins) -> String {
    if bins.count == 0 { "-".to_owned() } else { time(bins.mean_ns()) }
}

/// The stages that took time, in the three parts, with the parts' sums.
fn way_table(way: &WayStages) -> String {
    let taken = way.stages.iter().filter(|(_, bins)| bins.sum_ns > 0).count();
    // One stage alone is the whole, which the table of ways has.
    if taken < 2 {
        return String::new();
    }
    let mut text =
        line(&way.way.name().to_uppercase(), "", ["mean", "%", "p50", "p99", "p99.9"].map(str::to_owned));
    for part in Part::ALL.into_iter().filter(|&part| way.part_mean_ns(part) > 0.0) {
        let share = way.part_share(part);
        let sums =
            [time(way.part_mean_ns(part)), percent(share), String::new(), String::new(), String::new()];
        text += &line(&part.name().to_uppercase(), &bar(share, 1.0, PART_BAR), sums);
        for (stage, bins) in way.stages.iter().filter(|(stage, _)| stage.part() == part) {
            text += &line(stage.name(), stage.meaning(), figures(bins, way));
        }
    }
    text + &line("SUM", "", figures(&way.whole, way))
}

/// Mean, share of the whole, p50, p99, p99.9.
fn figures(bins: &Bins, way: &WayStages) -> [String; 5] {
    let share = ratio(bins.mean_ns(), way.whole.mean_ns());
    [mean(bins), percent(share), supported(bins, 0.5), supported(bins, 0.99), supported(bins, 0.999)]
}

/// Parts are told from their stages by their capitals: an indent would take the place of a meaning's last letter.
fn line(name: &str, what: &str, [mean, share, median, tail, far]: [String; 5]) -> String {
    let pad = if name.chars().count() > 8 { 10 } else { 9 };
    let words = cut(&format!("{name:<pad$}{what}"), 42);
    format!("{words:<42}{mean:>8}{share:>6}{median:>8}{tail:>8}{far:>8}").trim_end().to_owned() + "\n"
}

/// Stages of a device's own table.
const DEVICE_STAGES: [Stage; 5] =
    [Stage::Queue, Stage::Schedule, Stage::Doorbell, Stage::Device, Stage::Complete];

/// What each device of the chain saw, each below the one that sends to it.
fn device_tree(devices: &[DeviceStages]) -> String {
    if devices.is_empty() {
        return String::new();
    }
    let mut text = format!("{:<12}{:>7}{:>8}{:>8}", "DEVICE", "bios", "mean", "p99");
    for stage in DEVICE_STAGES {
        text += &format!("{:>9}", stage.name());
    }
    text = text.trim_end().to_owned() + "\n";
    let mut merged = Vec::new();
    for device in devices {
        text += &device_row(device, depth(device, devices));
        if device.merged > 0 || device.split > 0 {
            let (joined, parted) = (brief(device.merged as f64), brief(device.split as f64));
            merged.push(format!("{}: {joined} bios merged, {parted} split", cut(&device.name, 32)));
        }
    }
    if devices.iter().any(|device| device.above.is_some()) {
        text += &paragraph("", "(all bios, whoever sent them; an indented device answers the one above)");
    }
    text + &merged.iter().map(|line| paragraph("", line)).collect::<String>()
}

/// How many devices lie above, by name; a broken chain ends.
fn depth(device: &DeviceStages, devices: &[DeviceStages]) -> usize {
    let mut above = device.above.as_deref();
    for depth in 0..devices.len() {
        let Some(name) = above else { return depth };
        above = devices.iter().find(|other| other.name == name).and_then(|other| other.above.as_deref());
    }
    devices.len() - 1
}

fn device_row(device: &DeviceStages, depth: usize) -> String {
    let name = format!("{}{}", "  ".repeat(depth.min(4)), device.name);
    let mut text = format!(
        "{:<12}{:>7}{:>8}{:>8}",
        cut(&name, 12),
        shorter(device.whole.count),
        mean(&device.whole),
        supported(&device.whole, 0.99)
    );
    for stage in DEVICE_STAGES {
        let bins = device.stages.iter().find(|(each, _)| *each == stage).map(|(_, bins)| bins);
        text += &format!("{:>9}", bins.map_or_else(|| "-".to_owned(), mean));
    }
    text.trim_end().to_owned() + "\n"
}

/// A count in at most six characters.
pub(super) fn shorter(count: u64) -> String {
    if count < 100_000 { brief(count as f64) } else { super::format::rate_of_any(count as f64) }
}

/// What to conclude and how far to trust it.
fn foot(stages: &Stages) -> String {
    let mut text = stages.way(Way::Device).map_or_else(String::new, platform);
    text += &sum(stages);
    text += &matched(stages);
    text += &tracing(stages);
    text += &rung_line(&stages.ladder);
    for note in &stages.notes {
        text += &paragraph("  - ", note);
    }
    text
}

/// The share the papers speak of, and theirs: two readings, since their own figures disagree.
fn platform(way: &WayStages) -> String {
    if way.whole.sum_ns == 0 {
        return String::new();
    }
    let [platform, transport, device, journal] = Part::ALL.map(|part| way.part_share(part) * 100.0);
    let journal =
        if journal > 0.0 { format!(", waiting for the journal {journal:.0} %") } else { String::new() };
    paragraph(
        "platform   ",
        &format!(
            "The platform took {platform:.0} % of the latency, the transport {transport:.0} %, the device {device:.0} \
             %{journal}. {PUBLISHED}"
        ),
    )
}

/// The 2010 paper's two readings of the share.
pub(crate) const PUBLISHED: &str = "(Published, of another machine in 2010 with SATA SSDs: 26 % in the paper's section \
    4.1, but 20 of 180 us = 11 % in its section 5.)";

/// The sum of the stages against the application's own mean.
fn sum(stages: &Stages) -> String {
    let Some(own) = stages.application_mean_ns.filter(|own| *own > 0.0) else { return String::new() };
    let ours = stages.mean_ns();
    let off = (ours / own - 1.0) * 100.0;
    let doubt = if off.abs() > 1.0 { "; more than 1 % apart: take the split with care" } else { "" };
    let text = format!(
        "{} by stages, {} by the application's own clock ({off:+.2} %){doubt}",
        time(ours),
        time(own)
    );
    paragraph("sum        ", &text)
}

fn matched(stages: &Stages) -> String {
    if stages.ios == 0 && stages.lost == 0 {
        return String::new();
    }
    let lost = match stages.lost {
        0 => "no event lost".to_owned(),
        lost => format!("{} EVENTS LOST: the figures are incomplete", brief(lost as f64)),
    };
    let text = format!(
        "{} of {} {} seen from end to end{}; {lost}",
        brief(stages.matched as f64),
        brief(stages.ios as f64),
        counted(stages),
        matched_share(stages).map_or(String::new(), |share| format!(" ({share:.2} %)"))
    );
    paragraph("matched    ", &text)
}

/// How many in a hundred were seen from end to end; nobody knows of how many where events were lost.
fn matched_share(stages: &Stages) -> Option<f64> {
    let share = ratio(stages.matched as f64, stages.ios as f64) * 100.0;
    // Never round up to all.
    let share = if stages.matched < stages.ios { (share * 100.0).floor() / 100.0 } else { share };
    (stages.lost == 0).then_some(share)
}

fn tracing(stages: &Stages) -> String {
    let TracingCost { events, ns_per_event, ns_per_io, how } = &stages.tracing;
    if *events == 0 {
        return String::new();
    }
    let how = if how.is_empty() { String::new() } else { format!("; {how}") };
    let cost = if *ns_per_event > 0.0 {
        format!(
            "{} CPU per {}: {} events at {}",
            time(*ns_per_io),
            counted(stages).trim_end_matches('s'),
            brief(*events as f64),
            time(*ns_per_event)
        )
    } else {
        format!("{} events; their cost could not be measured", brief(*events as f64))
    };
    paragraph("tracing    ", &format!("{cost}{how}"))
}

/// At most 16 lines of at most 79 columns: totals, then the stages of the way that took most of the time.
pub fn live_stages(stages: &Stages) -> String {
    let seconds = stages.elapsed.as_secs_f64();
    let rate = if seconds > 0.0 { stages.ios as f64 / seconds } else { 0.0 };
    let lost =
        if stages.lost > 0 { format!(", {} EVENTS LOST", brief(stages.lost as f64)) } else { String::new() };
    let counted =
        format!("{} {}, {} per second{lost}", brief(stages.ios as f64), counted(stages), brief(rate));
    let room = LIVE_WIDTH.saturating_sub(counted.chars().count() + 11);
    let mut text =
        format!("{}  {:>7}  {counted}\n", cut(&stages.subject, room.min(30)), time(stages.elapsed.0 as f64));
    let ways = Way::ALL.into_iter().filter_map(|way| stages.way(way));
    let ways: Vec<String> =
        ways.map(|way| format!("{} {}", way.way.name(), brief(way.whole.count as f64))).collect();
    if !ways.is_empty() {
        text += &(cut(&ways.join("; "), LIVE_WIDTH) + "\n");
    }
    let most = stages.ways.iter().max_by_key(|way| way.whole.sum_ns).filter(|way| way.whole.count > 0);
    match most {
        Some(way) => text += &live_table(way),
        None if stages.devices.is_empty() => text += "waiting for the first I/O\n",
        None => {
            text += &live_head("DEVICE, ITS BIOS");
            text += &stages.devices.iter().take(11).map(live_device).collect::<String>();
        }
    }
    clean(&text)
}

fn live_device(device: &DeviceStages) -> String {
    live_row(&cut(&device.name, 10), 1.0, &device.whole, &device.whole)
}

/// The platform with its stages; transport and device are a stage each.
fn live_table(way: &WayStages) -> String {
    let mut text = live_head(&way.way.name().to_uppercase());
    for part in Part::ALL {
        let own: Vec<_> = way.stages.iter().filter(|(stage, _)| stage.part() == part).collect();
        let share = way.part_share(part);
        if let (Part::Transport | Part::Device | Part::Journal, [(_, bins)]) = (part, &own[..]) {
            text += &live_row(&part.name().to_uppercase(), share, bins, &way.whole);
            continue;
        }
        if own.is_empty() {
            continue;
        }
        let sums = format!("{:>8}{:>9}", percent(share), time(way.part_mean_ns(part)));
        text += &format!("{:<11}{}{sums}\n", part.name().to_uppercase(), bar(share, 1.0, LIVE_BAR));
        for (stage, bins) in own {
            let share = ratio(bins.sum_ns as f64, way.whole.sum_ns as f64);
            text += &live_row(&format!("  {}", stage.name()), share, bins, &way.whole);
        }
    }
    text
}

fn live_head(what: &str) -> String {
    format!("{:<34}{:>8}{:>9}{:>9}{:>9}{:>9}\n", cut(what, 34), "%", "mean", "p50", "p99", "p99.9")
}

fn live_row(name: &str, share: f64, bins: &Bins, whole: &Bins) -> String {
    let drawn =
        if whole.sum_ns > 0 && bins.sum_ns > 0 { bar(share, 1.0, LIVE_BAR) } else { " ".repeat(LIVE_BAR) };
    format!(
        "{name:<11}{drawn}{:>8}{:>9}{:>9}{:>9}{:>9}\n",
        percent(share),
        mean(bins),
        supported(bins, 0.5),
        supported(bins, 0.99),
        supported(bins, 0.999)
    )
}

//! Where did the latency go?
//!
//! The mean I/O as one line from its start to its end, cut into stages; the same in numbers; how the whole and the
//! device spread; each device of the chain; and how far to trust it. Start reading at [`body`].

use std::fmt::Write as _;

use iostack_model::{Bins, DeviceStages, Part, Stage, Stages, Way, WayStages};

use super::escape;
use super::figures;
use super::ladder;
use super::numbers::{NOTHING, Quantity, grouped};
use super::run::supported;
use super::scale::Scale;
use super::sheet::{Sheet, span};
use super::table::{pairs, table};
use super::tiles;

/// Everything about a trace, as HTML without a heading of its own.
pub(super) fn body(stages: &Stages, sheet: &mut Sheet) -> String {
    let mut out = String::new();
    if stages.ways.is_empty() && stages.devices.is_empty() {
        out += "<p class=\"note\">No I/O was seen while traced.</p>";
    }
    if let Some(way) = stages.way(Way::Device).filter(|way| way.whole.sum_ns > 0) {
        out += &tiles(way);
    }
    if stages.ways.len() > 1 {
        out += &ways(stages);
    }
    for way in stages.ways.iter().filter(|way| has_stages(way)) {
        out += &picture(stages, way, sheet);
    }
    if let Some(way) = stages.way(Way::Device).filter(|way| way.whole.count > 0) {
        out += &format!("<div class=\"figures\">{}</div>", spreads(stages, way, sheet));
    }
    out + &devices(stages, sheet) + &trust(stages)
}

/// One stage alone is the whole, which the table of ways has.
fn has_stages(way: &WayStages) -> bool {
    way.stages.iter().filter(|(_, bins)| bins.sum_ns > 0).count() > 1
}

fn time(ns: f64) -> String {
    Quantity::Nanos.show(ns)
}

pub(super) fn mean(bins: &Bins) -> String {
    if bins.count == 0 { NOTHING.to_owned() } else { time(bins.mean_ns()) }
}

pub(super) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 }
}

/// `18.1 %` of a share.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1}\u{202f}%", share * 100.0)
}

/// What a part is, for a reader who meets the word here.
const fn part_meaning(part: Part) -> &'static str {
    match part {
        Part::Platform => "software, and waiting for a CPU",
        Part::Transport => "driver, telling the device",
        Part::Device => "the device, until its interrupt",
        Part::Journal => "the file system's journal, until it wakes the caller",
    }
}

fn tiles(way: &WayStages) -> String {
    let count = format!("mean of {} I/Os", grouped(way.whole.count));
    let whole = tiles::tile("", "one I/O takes", &mean(&way.whole), &count);
    let parts = Part::ALL.into_iter().filter(|&part| part != Part::Journal || way.part_mean_ns(part) > 0.0);
    let parts = parts.map(|part| {
        let detail = format!("{}: {}", time(way.part_mean_ns(part)), part_meaning(part));
        tiles::tile(&format!("of-part {}", part.name()), part.name(), &percent(way.part_share(part)), &detail)
    });
    tiles::list(std::iter::once(whole).chain(parts))
}

fn put(out: &mut String, what: std::fmt::Arguments<'_>) {
    out.write_fmt(what).expect("a string takes everything");
}

fn ways(stages: &Stages) -> String {
    let count: f64 = stages.ways.iter().map(|way| way.whole.count as f64).sum();
    let sum: f64 = stages.ways.iter().map(|way| way.whole.sum_ns as f64).sum();
    let rows = stages.ways.iter().map(|way| {
        let whole = &way.whole;
        let mut row = vec![
            way.way.name().to_owned(),
            grouped(whole.count),
            percent(share(whole.count as f64, count)),
            percent(share(whole.sum_ns as f64, sum)),
            mean(whole),
        ];
        row.extend([0.5, 0.99, 0.999].map(|fraction| supported(whole, fraction)));
        row
    });
    let heads = ["way", "I/Os", "of the I/Os", "of the time", "mean", "p50", "p99", "p99.9"];
    format!("<h3>Which way the I/Os went</h3>{}", table(&heads, &rows.collect::<Vec<_>>()))
}

/// The line from start to end, and its numbers.
fn picture(stages: &Stages, way: &WayStages, sheet: &Sheet) -> String {
    let mut own: Vec<(Stage, &Bins)> = way.stages.iter().map(|(stage, bins)| (*stage, bins)).collect();
    own.sort_by_key(|(stage, _)| *stage);
    let legend: String = Part::ALL
        .into_iter()
        .filter(|&part| way.part_mean_ns(part) > 0.0)
        .map(|part| {
            format!("<span class=\"swatch {0}\">{0} {1}</span>", part.name(), percent(way.part_share(part)))
        })
        .collect();
    format!(
        "<figure class=\"wide stagepicture\"><h4>{heading}: the mean I/O from start to end</h4>\
         <div class=\"swatches\">{legend}</div>{line}{ruler}{numbers}<figcaption>{caption}</figcaption></figure>",
        heading = capitalised(way.way.name()),
        line = timeline(&own, way.whole.mean_ns(), 46),
        ruler = ruler(way.whole.mean_ns()),
        numbers = numbers(way),
        caption = sheet.note(&format!(
            "{} I/Os of {} traced in {}; sums are exact",
            grouped(way.whole.count),
            escape::text(&stages.subject),
            span(stages.elapsed)
        )),
    )
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Share of the width from which a stage has room for its name on a telephone too.
const NAMED_WIDELY: f64 = 0.16;

/// True where a text of so many letters fits into a share of a page's width.
fn has_room(letters: usize, width: f64) -> bool {
    width > 0.006 + 0.0075 * letters as f64
}

/// Stages in the order of the way, each as wide as its mean. Widths are shares, so that it fits any screen.
pub(super) fn timeline(own: &[(Stage, &Bins)], whole_ns: f64, height: u32) -> String {
    let mut out = format!(
        "<svg class=\"timeline\" width=\"100%\" height=\"{height}\" role=\"img\" aria-label=\"stages\">"
    );
    let mut from = 0.0;
    for (index, (stage, bins)) in own.iter().enumerate() {
        let width = share(bins.mean_ns(), whole_ns);
        if width <= 0.0 {
            continue;
        }
        let letters = stage.name().len().max(mean(bins).chars().count());
        let label = if !has_room(letters, width) || height < 30 {
            String::new()
        } else {
            let small = if width < NAMED_WIDELY { " class=\"small\"" } else { "" };
            format!(
                "<text{small} x=\"5\" y=\"19\">{}</text><text{small} x=\"5\" y=\"35\">{}</text>",
                stage.name(),
                mean(bins)
            )
        };
        put(
            &mut out,
            format_args!(
                "<svg class=\"{hue} shade{shade}\" x=\"{x:.3}%\" width=\"{w:.3}%\" height=\"{height}\"><title>{name}: \
                 {mean}, {share} ({meaning})</title><rect width=\"100%\" height=\"{height}\"/>{label}</svg>",
                hue = super::inside::hue(*stage),
                // Neighbours of one part are told apart; a part of one stage has the colour of the legend.
                shade = if stage.part() == Part::Platform { index % 2 } else { 0 },
                x = from * 100.0,
                w = width * 100.0,
                name = stage.name(),
                mean = mean(bins),
                share = percent(width),
                meaning = stage.meaning(),
            ),
        );
        from += width;
    }
    out + "</svg>"
}

/// The time axis of the line.
pub(super) fn ruler(whole_ns: f64) -> String {
    let mut ticks = String::new();
    for tick in Scale::Linear.ticks(0.0, whole_ns, 6) {
        let place = share(tick, whole_ns) * 100.0;
        let anchor = match place {
            place if place < 2.0 => "start",
            place if place > 97.0 => "end",
            _ => "middle",
        };
        put(
            &mut ticks,
            format_args!(
                "<line x1=\"{place:.2}%\" x2=\"{place:.2}%\" y1=\"0\" y2=\"5\"/><text x=\"{place:.2}%\" y=\"17\" \
                 text-anchor=\"{anchor}\">{}</text>",
                time(tick)
            ),
        );
    }
    format!("<svg class=\"timeruler\" width=\"100%\" height=\"20\" aria-hidden=\"true\">{ticks}</svg>")
}

/// A row of a table of stages: its class, name and meaning, then mean, share of `whole_ns` and quantiles.
pub(super) fn stage_row((class, name, what): (&str, &str, &str), bins: &Bins, whole_ns: f64) -> String {
    format!(
        "<tr class=\"{class}\"><th>{name}</th><td class=\"words\">{what}</td><td>{}</td><td>{}</td><td>{}</td>\
         <td>{}</td><td>{}</td></tr>",
        mean(bins),
        percent(share(bins.mean_ns(), whole_ns)),
        supported(bins, 0.5),
        supported(bins, 0.99),
        supported(bins, 0.999)
    )
}

/// The stages by part, with the parts' sums.
fn numbers(way: &WayStages) -> String {
    let whole_ns = way.whole.mean_ns();
    let row =
        |class: &str, name: &str, what: &str, bins: &Bins| stage_row((class, name, what), bins, whole_ns);
    let mut rows = String::new();
    for part in Part::ALL.into_iter().filter(|&part| way.part_mean_ns(part) > 0.0) {
        let own: Vec<&(Stage, Bins)> = way.stages.iter().filter(|(stage, _)| stage.part() == part).collect();
        let key = format!("<span class=\"swatch {0}\">{0}</span>", part.name());
        // A part of one stage is that stage: said once.
        if let [(stage, bins)] = own[..] {
            let stage_name = if stage.name() == part.name() { "" } else { stage.name() };
            rows += &row("partsum", &format!("{key} <small>{stage_name}</small>"), stage.meaning(), bins);
            continue;
        }
        put(
            &mut rows,
            format_args!(
                "<tr class=\"partsum\"><th>{key}</th><td class=\"words\">{}</td><td>{}</td><td>{}</td><td></td>\
                 <td></td><td></td></tr>",
                part_meaning(part),
                time(way.part_mean_ns(part)),
                percent(way.part_share(part)),
            ),
        );
        for (stage, bins) in own {
            rows += &row("stage", stage.name(), stage.meaning(), bins);
        }
    }
    rows += &row("partsum", "sum", "what the caller waited", &way.whole);
    format!(
        "<div class=\"scroll\"><table class=\"numbers parts-table\"><thead><tr><th>stage</th><th class=\"words\">what \
         happens in it</th><th>mean</th><th>share</th><th>p50</th><th>p99</th><th>p99.9</th></tr></thead>\
         <tbody>{rows}</tbody></table></div>"
    )
}

/// The whole is grey, and the device has the colour it has everywhere.
const SPREAD_SLOTS: [usize; 2] = [6, 2];

/// How the whole and the device spread.
fn spreads(stages: &Stages, way: &WayStages, sheet: &mut Sheet) -> String {
    let mut each: Vec<(&str, &Bins)> = vec![("whole I/O", &way.whole)];
    let device = way.stages.iter().find(|(stage, _)| *stage == Stage::Device);
    each.extend(device.filter(|(_, bins)| bins.count > 0).map(|(_, bins)| ("in the device", bins)));
    let measured = format!("{} I/Os traced in {}", grouped(way.whole.count), span(stages.elapsed));
    let mut out = String::new();
    for (mut plot, interval) in [
        (
            figures::histogram(
                &each,
                "How often each latency came: the whole I/O, and its time in the device",
            ),
            "exact counts",
        ),
        (figures::percentiles(&each, "The tail: whose is it?"), figures::RANK_BAND),
    ] {
        for (series, slot) in plot.series.iter_mut().zip(SPREAD_SLOTS) {
            series.slot = slot;
        }
        plot.caption = sheet.note(&format!("{measured}; {interval}"));
        out += &sheet.figure(&plot);
    }
    out
}

/// Each device of the chain within the one above it, all lines on one scale.
fn devices(stages: &Stages, sheet: &Sheet) -> String {
    let devices = &stages.devices;
    if devices.is_empty() {
        return String::new();
    }
    let longest = devices.iter().map(|device| device.whole.mean_ns()).fold(0.0, f64::max);
    let tops = devices.iter().filter(|device| {
        let above = device.above.as_deref();
        above.is_none_or(|above| !devices.iter().any(|other| other.name == above))
    });
    let items: String = tops.map(|device| branch(device, devices, longest, devices.len())).collect();
    let caption = format!(
        "bios of all programs, also those that are not part of {}; means of I/Os traced in {}",
        escape::text(&stages.subject),
        span(stages.elapsed)
    );
    format!(
        "<figure class=\"wide\"><h4>Each device of the chain: the mean bio, on one scale</h4><ul class=\"tree\">{items}\
         </ul><figcaption>{}</figcaption></figure>",
        sheet.note(&caption)
    )
}

/// A device and what lies below it. `room` ends a chain that bites its tail.
fn branch(device: &DeviceStages, all: &[DeviceStages], longest: f64, room: usize) -> String {
    let below: String = match room.checked_sub(1) {
        Some(room) => all
            .iter()
            .filter(|other| other.above.as_deref() == Some(&device.name))
            .map(|other| branch(other, all, longest, room))
            .collect(),
        None => String::new(),
    };
    let own: Vec<(Stage, &Bins)> = device.stages.iter().map(|(stage, bins)| (*stage, bins)).collect();
    let merged = match (device.merged, device.split) {
        (0, 0) => String::new(),
        (merged, split) => format!(", {} merged, {} split", grouped(merged), grouped(split)),
    };
    let below = if below.is_empty() { below } else { format!("<ul>{below}</ul>") };
    format!(
        "<li><p><b>{}</b> <small>{} bios{merged}; mean {}, p50 {}, p99 {}</small></p>{}{below}</li>",
        escape::text(&device.name),
        grouped(device.whole.count),
        mean(&device.whole),
        supported(&device.whole, 0.5),
        supported(&device.whole, 0.99),
        timeline(&own, longest, 18)
    )
}

/// The published shares, then what a reader needs to judge the trace.
fn trust(stages: &Stages) -> String {
    let platform = stages.way(Way::Device).filter(|way| way.whole.sum_ns > 0).map_or(String::new(), |way| {
        format!(
            "The platform took {} of the latency here. <small>{}</small>",
            percent(way.part_share(Part::Platform)),
            escape::text(crate::text::PUBLISHED)
        )
    });
    let own = stages.application_mean_ns.filter(|own| *own > 0.0);
    let sum = own.map_or(String::new(), |own| {
        let ours = stages.mean_ns();
        let off = (ours / own - 1.0) * 100.0;
        let doubt = if off.abs() > 1.0 { "; more than 1 % apart: take the split with care" } else { "" };
        format!("{} by stages, {} by the application's own clock ({off:+.2} %){doubt}", time(ours), time(own))
    });
    let lost = match stages.lost {
        0 => "no event lost".to_owned(),
        lost => format!("<b class=\"held\">{} events lost: the figures are incomplete</b>", grouped(lost)),
    };
    let unit = crate::text::counted(stages);
    let matched =
        format!("{} of {} {unit} seen from end to end; {lost}", grouped(stages.matched), grouped(stages.ios));
    let cost = &stages.tracing;
    let tracing = match (cost.events, cost.ns_per_event > 0.0) {
        (0, _) => String::new(),
        (events, false) => format!("{} events; their cost could not be measured", grouped(events)),
        (events, true) => format!(
            "{} of CPU time per {}: {} events at {}; {}",
            time(cost.ns_per_io),
            unit.trim_end_matches('s'),
            grouped(events),
            time(cost.ns_per_event),
            escape::text(&cost.how)
        ),
    };
    let facts = pairs(&[
        ("Platform share", platform),
        ("Sum", sum),
        ("Matched", matched),
        ("Cost of tracing", tracing),
        ("What may be measured", ladder::line(&stages.ladder)),
    ]);
    format!("<h3>How far to trust it</h3>{facts}{}", notes(&stages.notes))
}

/// Sentences to know when reading.
pub(super) fn notes(notes: &[String]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let items: String = notes.iter().map(|note| format!("<li>{}</li>", escape::text(note))).collect();
    format!("<ul class=\"evidence\">{items}</ul>")
}

//! What did programs ask of a served drive, and was it answered when the model says?

use iostack_model::answers::{CrashPoints, Served};
use iostack_model::{Bins, FlashUse};

use crate::document::{Document, Section, Table};
use crate::lists::Joined;
use crate::text::format::{count, megabytes, percent, rate, significant, supported, time};

/// Rows of resources on a screen.
const RESOURCES: usize = 6;

/// Document of `iostack serve` at its end.
pub fn served(served: &Served) -> Document {
    let command = if in_lab(served) { "iostack lab exec" } else { "iostack serve" };
    let mut all = Document::new(format!("{command} {}", served.drive));
    all.beside = vec!["SIMULATED".to_owned(), format!("{:.0} s", served.elapsed.as_secs_f64())];
    all.origin = vec![format!("seed {}", served.seed), format!("iostack {}", served.iostack)];
    all.unjudged = true;
    all.measured_on(served.started_unix_ms, &served.machine, &[]);
    (all.answers, all.answer) = ("SERVED", answer(served));
    let mut kinds = Section::new("served", "Served", "What programs asked, and what the model answered");
    kinds.table(table(served));
    kinds.fact("delivered", delivered(served));
    kinds.fact("route", format!("{} at {}", served.route, served.place));
    if served.failed + served.lost > 0 {
        let [failed, lost] = [served.failed, served.lost].map(count);
        kinds.fact("failed", format!("{failed} with an error, {lost} never answered"));
    }
    for cut in &served.cuts {
        let (after, [all, kept, lost]) =
            (cut.at.as_secs_f64(), [cut.kept + cut.lost, cut.kept, cut.lost].map(count));
        kinds.fact("power cut", format!(
            "after {after:.1} s: of {all} atoms that were not flushed, {kept} are there and {lost} are what they were"
        ));
    }
    all.sections.insert(0, kinds);
    all.sections.insert(1, inside(served));
    if let Some(crash) = &served.crash {
        all.answer = crash_answer(crash);
        all.sections.insert(1, crash_points(crash));
    }
    all.data(served);
    all.next = Some((format!("iostack sim show {}", device(&served.drive)), "what the drive is made of"));
    all
}

fn crash_answer(crash: &CrashPoints) -> String {
    let checked = count(crash.checked);
    match &crash.failed {
        Some(failed) if failed.lost.is_empty() => {
            "The check refuses the disk with nothing lost: what it wants had not been asked of the drive by then"
                .to_owned()
        }
        Some(failed) => format!(
            "After a power cut the disk may be one that the check refuses: {} of {} writes lost is enough",
            failed.lost.len(),
            count(crash.writes)
        ),
        None if crash.exhaustive => {
            format!("All {checked} disks that a power cut could have left pass the check")
        }
        None => format!("{checked} disks that a power cut could have left pass the check"),
    }
}

fn crash_points(crash: &CrashPoints) -> Section {
    let mut section = Section::new("crash", "Crash points", "Disks that a power cut could have left");
    let [writes, flushes, epochs] = [crash.writes, crash.flushes, crash.epochs].map(count);
    section.fact("recorded", format!("{writes} writes and trims, {flushes} flushes, {epochs} epochs"));
    let [checked, equal, chosen] = [crash.checked, crash.equal, crash.chosen].map(count);
    let which = if crash.exhaustive { "every legal one" } else { "a choice" };
    section.fact("points", format!("{chosen}, {which}; {equal} were like one before"));
    let seconds = crash.took.as_secs_f64();
    let pace = (crash.checked.saturating_sub(1) as f64 * 60.0 / seconds.max(1e-3)) as u64;
    section.fact(
        "checked",
        match crash.checked {
            0 | 1 => checked,
            _ => format!("{checked} in {seconds:.1} s, {} a minute", count(pace)),
        },
    );
    let Some(failed) = &crash.failed else { return section };
    let (first, tried) = (count(failed.lost_first), count(failed.tried));
    let smaller = match failed.tried {
        0 => String::new(),
        _ => format!("; writes lost at first: {first}; after {tried} more checks: {}", failed.lost.len()),
    };
    section
        .fact("failed", format!("in epoch {}: the check ended with {}{smaller}", failed.epoch, failed.code));
    let table = Table::over(&failed.lost)
        .number("lost write", |lost| count(lost.number))
        .number("epoch", |lost| count(lost.epoch))
        .number("drive", |lost| lost.disk.to_string())
        .number("sector", |lost| lost.sector_first.to_string())
        .number("sectors", |lost| match lost.sectors {
            all if all == lost.sectors_written => all.to_string(),
            part => format!("{part} of {}", lost.sectors_written),
        })
        .words("what", |lost| &lost.what);
    if !failed.lost.is_empty() {
        section.table(table.done());
    }
    for line in &failed.said {
        section.fact("it said", line.clone());
    }
    section.fact("again", format!("the same command with --crash-point {}", failed.point));
    section
}

/// The last of the layers, the first of several drives.
fn device(typed: &str) -> &str {
    let last = typed.rsplit('|').next().unwrap_or(typed).split(',').next().unwrap_or(typed).trim();
    let inner = last.strip_prefix("sim(").and_then(|rest| rest.strip_suffix(')'));
    inner.or_else(|| last.strip_prefix("sim:")).unwrap_or(last)
}

/// True where the programs ran in the lab's machine, whose clock the drive went by.
fn in_lab(served: &Served) -> bool {
    served.route == "lab"
}

fn answer(served: &Served) -> String {
    let ios: u64 = served.served.iter().map(|kind| kind.ios).sum();
    let seconds = served.elapsed.as_secs_f64();
    let clock = if in_lab(served) { " of the machine's own time" } else { ", in real time" };
    format!("{} I/Os in {seconds:.1} s{clock}", count(ios))
}

fn table(served: &Served) -> Table {
    let seconds = served.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
    let table = Table::over(served.served.iter().filter(|kind| kind.ios > 0))
        .words("kind", |kind| &kind.name)
        .number("I/Os", |kind| count(kind.ios))
        .number("IOPS", |kind| rate(kind.ios as f64 / seconds))
        .number("MB/s", |kind| megabytes(kind.bytes.0 as f64 / seconds))
        .number("asked p50", |kind| supported(&kind.asked, 0.5))
        .number("p99", |kind| supported(&kind.asked, 0.99))
        .number("p99.9", |kind| supported(&kind.asked, 0.999));
    let page_caption = "asked: the latency that the model and its layers ask for; rates over the whole time";
    Table { page_caption: page_caption.to_owned(), ..table.done() }
}

/// Words on how true the times were.
fn delivered(served: &Served) -> String {
    let lead = match served.lead.0 {
        _ if in_lab(served) => "the way of an interrupt".to_owned(),
        0 => "the route's own time was not measured, and adds to each".to_owned(),
        ns => format!("answers leave {} earlier, which the route takes by itself", time(ns as f64)),
    };
    match served.late.count {
        0 if in_lab(served) => "nothing was asked of it".to_owned(),
        0 => lead,
        _ => format!("{} late{} {lead}", late(&served.late), if in_lab(served) { ":" } else { ";" }),
    }
}

fn late(bins: &Bins) -> String {
    let [half, most] = [0.5, 0.99].map(|share| supported(bins, share));
    format!("p50 {half}, p99 {most}, at most {}", time(bins.max_ns as f64))
}

fn inside(served: &Served) -> Section {
    let mut section = Section::new("inside", "Inside", "What happened inside the drive");
    for flash in served.flash.iter().filter(|flash| flash.blocks > 0) {
        section.fact("flash", flash_words(flash));
    }
    if !served.resources.is_empty() {
        let table = Table::over(&served.resources)
            .words("resource", |each| &each.name)
            .number("count", |each| count(each.count.into()))
            .number("busy %", |each| percent(each.busy))
            .number("busiest %", |each| percent(each.busiest))
            .number("visits", |each| count(each.visits))
            .number("wait", |each| time(each.wait_ns));
        section.table(Table { shown: RESOURCES, ..table.done() });
    }
    section.list(served.notes.clone());
    section
}

fn flash_words(flash: &FlashUse) -> String {
    let amplification = significant(flash.write_amplification, 3);
    let (free, blocks) = (count(flash.blocks_free), count(flash.blocks));
    let erases = count(flash.erases);
    format!("write amplification {amplification}, {free} of {blocks} blocks free, {erases} erases")
}

/// The block that is redrawn: rates since the look before, and the rest since the start.
pub fn live_served(before: &Served, now: &Served) -> String {
    let (from, until) = (before.elapsed.as_secs_f64(), now.elapsed.as_secs_f64());
    let seconds = (until - from).max(1e-9);
    let mut lines = vec![format!("{} at {}, {until:.0} s", now.drive, now.place)];
    for (kind, earlier) in now.served.iter().zip(&before.served).filter(|(kind, _)| kind.ios > 0) {
        let (ios, bytes) = (kind.ios - earlier.ios, kind.bytes.0 - earlier.bytes.0);
        let (per_second, bandwidth) = (rate(ios as f64 / seconds), megabytes(bytes as f64 / seconds));
        let [half, most] = [0.5, 0.99].map(|share| supported(&kind.asked, share));
        let name = &kind.name;
        lines.push(format!(
            "{name:>6}  {per_second:>7} IOPS {bandwidth:>7} MB/s  asked p50 {half}, p99 {most}"
        ));
    }
    if now.late.count > 0 {
        lines.push(format!("  late  {}", late(&now.late)));
    }
    let flash = now.flash.iter().filter(|flash| flash.blocks > 0);
    lines.extend(flash.map(|flash| format!(" flash  {}", flash_words(flash))));
    let pairs = now.resources.iter().zip(&before.resources);
    let busy = pairs.map(|(late, early)| {
        let share = (until * late.busy - from * early.busy) / seconds;
        format!("{} {} %", late.name, percent(share.clamp(0.0, 1.0)))
    });
    lines.extend(
        Some(busy.joined(", ")).filter(|busy| !busy.is_empty()).map(|busy| format!("  busy  {busy}")),
    );
    lines.join("\n") + "\n"
}

//! The path through a simulated machine as a drawing of a page: which part is full?
//!
//! Application, cores, adapters, drives from top to bottom, those alike side by side, each filled by its busy share.

use iostack_model::answers::{DeviceLevel, DevicePicture, LevelName};
use iostack_model::{Outcome, ResourceUse};

use super::{WIDTH, columns, middle, wrapped};
use crate::html::escape;
use crate::pages::job_words::asked;
use crate::platform::{Parts, parts};
use crate::text::format::percent;
use crate::what_if::{limiting, plural};

/// Most boxes side by side.
const COLUMNS: usize = 16;
const LINE: f64 = 18.0;
const GAP: f64 = 26.0;
/// Height of a box that fills.
const BOX: f64 = 54.0;
/// Left end of the bar of a part, and the length of a full one.
const LEFT: f64 = 250.0;
const FULL: f64 = 640.0;

/// The colour of a bar: what limits, what is nearly full, and the rest.
fn bar_color(share: f64, limits: bool) -> &'static str {
    match (limits, share >= 0.7) {
        (true, _) => "var(--k1)",
        (false, true) => "var(--k4)",
        (false, false) => "var(--k0)",
    }
}

/// `text` is not escaped yet.
fn text(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!(
        "<text class=\"name\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
        escape::text(text)
    )
}

/// The drawing as HTML without its frame.
pub(super) fn figure(picture: &DevicePicture) -> String {
    let outcome = picture.run.as_ref();
    let inside = outcome.and_then(|outcome| outcome.inside.as_ref());
    let cut = inside.map(parts).unwrap_or_default();
    let limit = outcome.and_then(limiting);
    let mut top = 6.0;
    let mut drawn = application(outcome, &mut top);
    let mut above = 1;
    for level in &picture.card.levels {
        let columns = columns(level.count, COLUMNS);
        drawn += &lines(above.max(1), columns, top);
        top += GAP;
        drawn += &part(level, uses(level, &cut), limit, columns, &mut top);
        above = columns;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {:.1}\" role=\"img\" aria-label=\"{}: its path \
         from the application to the drives\">{drawn}</svg>",
        top + 4.0,
        escape::text(&picture.card.title)
    )
}

fn uses<'a, 'b>(level: &DeviceLevel, cut: &'b Parts<'a>) -> &'b [&'a ResourceUse] {
    match level.name {
        LevelName::Core => &cut.host,
        LevelName::Adapter => &cut.adapter,
        LevelName::Drive => &cut.drive,
        LevelName::Other(_) => &[],
    }
}

fn application(outcome: Option<&Outcome>, top: &mut f64) -> String {
    let told = outcome
        .map_or_else(|| "application".to_owned(), |outcome| format!("application: {}", asked(outcome)));
    let shape = format!(
        "<rect x=\"4\" y=\"{:.1}\" width=\"{:.1}\" height=\"28\" rx=\"6\" fill=\"var(--soft)\" stroke=\"var(--quiet)\"/>",
        *top,
        WIDTH - 8.0
    );
    let out = shape + &text(WIDTH / 2.0, *top + 18.0, "middle", &told);
    *top += 28.0;
    out
}

/// Lines from every box above to its boxes below.
fn lines(above: usize, below: usize, top: f64) -> String {
    let most = above.max(below);
    (0..most)
        .map(|line| {
            let (from, to) = (middle(line * above / most, above), middle(line * below / most, below));
            format!("<path class=\"base\" d=\"M{from:.1} {top:.1}L{to:.1} {:.1}\"/>", top + GAP)
        })
        .collect()
}

/// Boxes side by side that fill, and below them what each is and the bars of its resources.
fn part(
    level: &DeviceLevel,
    uses: &[&ResourceUse],
    limit: Option<&str>,
    columns: usize,
    top: &mut f64,
) -> String {
    let width = (WIDTH / columns as f64 - 8.0).min(150.0);
    let busiest = uses.iter().max_by(|a, b| a.busy.total_cmp(&b.busy));
    let share = busiest.map_or(0.0, |used| used.busy.clamp(0.0, 1.0));
    let limits = busiest.is_some_and(|used| limit == Some(&used.name));
    let mut out = String::new();
    for column in 0..columns {
        let x = middle(column, columns) - width / 2.0;
        out += &format!(
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" rx=\"6\" fill=\"{}\" opacity=\".45\"/>\
             <rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{BOX}\" rx=\"6\" fill=\"none\" \
             stroke=\"{}\" stroke-width=\"{}\"/>",
            *top + BOX * (1.0 - share),
            BOX * share,
            bar_color(share, limits),
            if limits { "var(--k1)" } else { "var(--quiet)" },
            if limits { 2.5 } else { 1.0 },
        );
        out += &text(x + width / 2.0, *top + 22.0, "middle", level.name.name());
        if let Some(used) = busiest {
            out += &text(x + width / 2.0, *top + 41.0, "middle", &format!("{:.0} %", used.busy * 100.0));
        }
    }
    *top += BOX + LINE;
    let name = if level.count == 1 {
        level.name.to_string()
    } else {
        format!("{} {}", level.count, plural(level.name.name()))
    };
    for line in wrapped(&format!("{name}: {}", level.facts.join(" · ")), 166, "") {
        out += &text(4.0, *top, "start", &line);
        *top += LINE;
    }
    for used in uses {
        out += &bar(used, limit == Some(&used.name), top);
    }
    out
}

/// One resource: its name, how many, and how full.
fn bar(used: &ResourceUse, limits: bool, top: &mut f64) -> String {
    let share = used.busy.clamp(0.0, 1.0);
    let count = if used.count > 1 { format!(" × {}", used.count) } else { String::new() };
    let more = if limits { " FULL" } else { "" };
    let out = text(24.0, *top, "start", &format!("{}{count}", used.name))
        + &format!(
            "<rect x=\"{LEFT}\" y=\"{0:.1}\" width=\"{FULL}\" height=\"12\" rx=\"3\" fill=\"var(--soft)\"/>\
             <rect x=\"{LEFT}\" y=\"{0:.1}\" width=\"{1:.1}\" height=\"12\" rx=\"3\" fill=\"{2}\"/>",
            *top - 10.0,
            FULL * share,
            bar_color(share, limits)
        )
        + &text(LEFT + FULL + 8.0, *top, "start", &format!("{} %{more}", percent(used.busy)));
    *top += LINE;
    out
}

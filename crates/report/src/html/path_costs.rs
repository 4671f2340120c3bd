//! What does each part of the path cost, and what did it cost in the paper?

use iostack_model::{Interval, PathCost};

use super::escape;
use super::numbers::{NOTHING, grouped, significant};
use super::table::table;

/// The table, and where the published figures come from.
pub(super) fn body(costs: &[PathCost]) -> String {
    let rows: Vec<Vec<String>> = costs.iter().map(row).collect();
    let mut places: Vec<&str> = costs.iter().filter_map(|cost| cost.published_where.as_deref()).collect();
    places.dedup();
    let places: Vec<String> = places.into_iter().map(escape::text).collect();
    let places = if places.is_empty() {
        String::new()
    } else {
        format!("<p class=\"took\">Published: {}. Another machine, not a target.</p>", places.join("; "))
    };
    let heads = ["cost of", "measured here", "95 % interval", "published", "unit"];
    format!("{}{places}", table(&heads, &rows))
}

fn row(cost: &PathCost) -> Vec<String> {
    let note = cost
        .note
        .as_ref()
        .map_or(String::new(), |note| format!("<br/><small>{}</small>", escape::text(note)));
    let (measured, interval) = cost.measured.map_or((NOTHING.to_owned(), NOTHING.to_owned()), |measured| {
        (format!("<b>{}</b>", figure(measured.mean)), range(measured))
    });
    vec![
        format!("{}<br/><small>{}</small>{note}", escape::text(&cost.name), escape::text(&cost.how)),
        measured,
        interval,
        cost.published.map_or(NOTHING.to_owned(), figure),
        escape::text(&cost.unit),
    ]
}

fn range(measured: Interval) -> String {
    if measured.samples < 3 {
        return NOTHING.to_owned();
    }
    format!("{} to {}", figure(measured.low), figure(measured.high))
}

/// Clocks are whole, clocks per byte are not.
fn figure(value: f64) -> String {
    if !value.is_finite() {
        return NOTHING.to_owned();
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let size = value.abs();
    if size < 100.0 {
        format!("{sign}{}", significant(size))
    } else {
        format!("{sign}{}", grouped(size.round() as u64))
    }
}

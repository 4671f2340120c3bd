//! What single parts of the path cost, beside published figures of another machine.

use iostack_model::{Interval, PathCost};

use super::format::{brief, clean, cut, paragraph, plus_minus, significant};

/// Costs that the screen of a check has room for.
const ON_SCREEN: usize = 5;

/// The table with everything that is known of each figure.
pub fn path_costs(costs: &[PathCost]) -> String {
    if costs.is_empty() {
        return String::new();
    }
    let mut text = head();
    for cost in costs {
        text += &row(cost);
        let below = [Some(&cost.how), cost.note.as_ref()];
        for line in below.into_iter().flatten().filter(|line| !line.is_empty()) {
            text += &paragraph("    ", line);
        }
    }
    let mut places: Vec<&str> = costs.iter().filter_map(|cost| cost.published_where.as_deref()).collect();
    places.dedup();
    for place in places {
        text += &paragraph("published  ", &format!("{place}: another machine, not a target"));
    }
    clean(&text)
}

/// At most six lines for the screen of a check.
pub(super) fn lines(costs: &[PathCost]) -> String {
    if costs.is_empty() {
        return String::new();
    }
    let measured = || costs.iter().filter(|cost| cost.measured.is_some());
    if measured().next().is_none() {
        let why = costs.iter().find_map(|cost| cost.note.as_deref()).unwrap_or("no reason given");
        let why = why.strip_prefix("not measured: ").unwrap_or(why);
        return paragraph("path costs ", &format!("not measured: {why}"));
    }
    head() + &measured().take(ON_SCREEN).map(row).collect::<String>()
}

fn head() -> String {
    format!("{:<32}{:>12} {:<9}{:>12}  unit\n", "COST OF", "measured", "95 %", "published")
}

fn row(cost: &PathCost) -> String {
    let (value, interval) = match cost.measured {
        Some(measured) => (figure(measured.mean), around(measured)),
        None => ("-".to_owned(), String::new()),
    };
    let published = cost.published.map_or_else(|| "-".to_owned(), figure);
    let line = format!(
        "{:<32}{value:>12} {interval:<9}{published:>12}  {}",
        cut(&cost.name, 31),
        cut(&cost.unit, 12)
    );
    line.trim_end().to_owned() + "\n"
}

/// A cost may be a difference around zero, whose relative width says nothing: then no percentage is claimed.
fn around(measured: Interval) -> String {
    let text = plus_minus(measured);
    if measured.low <= 0.0 && measured.high >= 0.0 && measured.samples >= 3 {
        return "about 0".to_owned();
    }
    if text.chars().count() > 7 { ">±999%".to_owned() } else { text }
}

/// Clocks are whole numbers, clocks per byte are not.
fn figure(value: f64) -> String {
    let size = value.abs();
    let text = if size < 10.0 { significant(size, 3) } else { brief(size) };
    if value < 0.0 { format!("-{text}") } else { text }
}

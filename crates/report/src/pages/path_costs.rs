//! What do single parts of the path cost, beside published figures of another machine?

use iostack_model::Interval;
use iostack_model::answers::PathCost;

use crate::document::{Block, Cell, Column, Section, Table, To};
use crate::text::format::{brief, plus_minus, significant};

/// Rows on the screen of a check.
const ON_SCREEN: usize = 5;

/// Every cost, how it was measured, and where the published figures come from.
fn section(costs: &[PathCost]) -> Section {
    let mut section = Section::new("path-costs", "Costs", "What single parts of the path cost");
    let mut table = table();
    for cost in costs {
        let place = cost.published_where.as_ref();
        let place = place.map(|place| format!("published: {place}: another machine, not a target"));
        let below = [Some(cost.how.clone()), cost.note.clone(), place];
        let row = table.row(row(cost));
        row.below = below.into_iter().flatten().filter(|line| !line.is_empty()).collect();
    }
    section.put(Block::Table(table));
    section
}

/// The section of a check: a screen has the first that were measured, or why there is none.
pub(super) fn of_check(costs: &[PathCost]) -> Option<Section> {
    if costs.is_empty() {
        return None;
    }
    let mut all = section(costs).on_page();
    let mut short = table();
    for cost in costs.iter().filter(|cost| cost.measured.is_some()).take(ON_SCREEN) {
        short.row(row(cost));
    }
    let why = costs.iter().find_map(|cost| cost.note.as_deref()).unwrap_or("no reason given");
    let why = why.strip_prefix("not measured: ").unwrap_or(why);
    all.to(
        To::Screen,
        if short.rows.is_empty() {
            Block::Fact("path costs".to_owned(), format!("not measured: {why}"))
        } else {
            Block::Table(short)
        },
    );
    Some(all)
}

fn table() -> Table {
    let numbers = ["measured", "published"].map(Column::number);
    Table::new([Column::words("cost of")].into_iter().chain(numbers).chain([Column::words("unit")]).collect())
}

fn row(cost: &PathCost) -> [Cell; 4] {
    let measured =
        cost.measured.map_or_else(|| "-".into(), |one| Cell::from(figure(one.mean)).small(around(one)));
    let published = cost.published.map_or_else(|| "-".to_owned(), figure);
    [Cell::from(&cost.name), measured, published.into(), Cell::from(&cost.unit)]
}

/// The interval; one that holds 0 says so, since its share of the mean says nothing.
fn around(measured: Interval) -> String {
    let text = plus_minus(measured);
    if measured.low <= 0.0 && measured.high >= 0.0 && measured.samples >= 3 {
        return "about 0".to_owned();
    }
    if text.chars().count() > 7 { ">±999%".to_owned() } else { text }
}

/// Clocks are whole, clocks per byte are not.
fn figure(value: f64) -> String {
    let size = value.abs();
    let text = if size < 10.0 { significant(size, 3) } else { brief(size) };
    if value < 0.0 { format!("-{text}") } else { text }
}

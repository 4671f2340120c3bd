//! What do single parts of the path cost, beside published figures of another machine?

use iostack_model::Interval;
use iostack_model::answers::PathCost;

use crate::document::{Block, Cell, Columns, Section, Table};
use crate::text::format::{brief, or_dash, plus_minus, significant};

/// Rows on the screen of a check.
const ON_SCREEN: usize = 5;

/// The section of a check: a screen has the first that were measured, or why there is none; a page has every cost, how it was
/// measured, and where the published figures come from.
pub(super) fn of_check(costs: &[PathCost]) -> Option<Section> {
    if costs.is_empty() {
        return None;
    }
    let mut all = Section::new("path-costs", "Costs", "What single parts of the path cost");
    all.page(Block::Table(table(costs.iter()).below(below).done()));
    let short = table(costs.iter().filter(|cost| cost.measured.is_some()).take(ON_SCREEN)).done();
    let why = costs.iter().find_map(|cost| cost.note.as_deref()).unwrap_or("no reason given");
    let why = why.strip_prefix("not measured: ").unwrap_or(why);
    all.screen(if short.rows.is_empty() {
        Block::Fact("path costs".to_owned(), format!("not measured: {why}"))
    } else {
        Block::Table(short)
    });
    Some(all)
}

fn table<'a>(costs: impl Iterator<Item = &'a PathCost>) -> Columns<&'a PathCost> {
    Table::over(costs)
        .words("cost of", |cost| &cost.name)
        .number("measured", |cost| {
            or_dash(cost.measured, |one| Cell::from(figure(one.mean)).small(around(one)))
        })
        .number("published", |cost| or_dash(cost.published, figure))
        .words("unit", |cost| &cost.unit)
}

fn below(cost: &PathCost) -> Vec<String> {
    let place = cost.published_where.as_ref();
    let place = place.map(|place| format!("published: {place}: another machine, not a target"));
    let below = [Some(cost.how.clone()), cost.note.clone(), place].into_iter().flatten();
    below.filter(|line| !line.is_empty()).collect()
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

//! Which columns does a sweep have?

use iostack_model::Outcome;
use iostack_model::answers::{Sweep, SweepAxis, SweepPoint};

use super::columns::Columns;
use super::outcomes::{of_outcomes, yes};
use super::quantity::measure;
use super::{Cells, Column, Role, Table};

/// A row: a point and one of its outcomes, none when it failed.
#[derive(Clone, Copy)]
struct SweepRow<'a> {
    number: usize,
    point: &'a SweepPoint,
    outcome: Option<&'a Outcome>,
}

/// The points of a sweep with everything that is one number each.
pub fn of_sweep(sweep: &Sweep) -> Table {
    let rows: Vec<SweepRow<'_>> =
        sweep.points.iter().enumerate().flat_map(|(number, point)| rows(number, point)).collect();
    let outcomes: Vec<Option<&Outcome>> = rows.iter().map(|row| row.outcome).collect();
    let mut before = Columns::of_rows(&rows);
    before.number_key("point", "number of the point, from 0", |row| Some(row.number as u64));
    if sweep.axes.iter().all(|axis| axis.key != SweepAxis::DEVICE) {
        before.key("device", "the simulated device", |_| Some(sweep.device.clone()));
    }
    let mut columns = before.made;
    columns.extend(sweep.axes.iter().enumerate().flat_map(|(index, axis)| varied(index, &axis.key, &rows)));
    columns.extend(of_outcomes(&outcomes));
    let mut behind = Columns::of_rows(&rows);
    behind.note("interrupted", "whether it was cut short", |row| {
        Some(yes(row.point.is_missing() || row.outcome.is_some_and(|outcome| outcome.interrupted)))
    });
    behind.note("error", "why the point failed", |row| row.point.error.clone());
    behind.note("command", "runs the point alone", |row| Some(row.point.command.clone()));
    columns.extend(behind.made);
    Table { columns }
}

fn rows(number: usize, point: &SweepPoint) -> Vec<SweepRow<'_>> {
    if point.outcomes.is_empty() {
        return vec![SweepRow { number, point, outcome: None }];
    }
    point.outcomes.iter().map(|outcome| SweepRow { number, point, outcome: Some(outcome) }).collect()
}

/// The values as typed; beside them the numbers they stand for, when that is something else.
fn varied(axis: usize, key: &str, rows: &[SweepRow<'_>]) -> Vec<Column> {
    let typed: Vec<&str> = rows.iter().map(|row| row.point.settings[axis].1.as_str()).collect();
    let words = Cells::Text(typed.iter().map(|&value| Some(value.to_owned())).collect());
    let words = Column::new(key, "what was varied, as typed", words).role(Role::Key);
    let Some((kind, values)) = measure(&typed) else { return vec![words] };
    let cells = Cells::Numbers(values.into_iter().map(Some).collect());
    let column = Column::new(format!("{key}{}", kind.suffix()), "what was varied", cells);
    if kind.suffix().is_empty() { vec![column.role(Role::Key)] } else { vec![words, column.role(Role::Note)] }
}

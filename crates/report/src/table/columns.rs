//! How do rows become columns?

use iostack_model::{Bins, Interval};

use super::{Cells, Column, Role};

/// Rows of one kind, and the columns that were made of them.
pub(super) struct Columns<'a, Row> {
    rows: &'a [Row],
    pub(super) made: Vec<Column>,
}

const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p99", 0.99), ("p999", 0.999), ("p9999", 0.9999)];

impl<'a, Row> Columns<'a, Row> {
    pub(super) fn of_rows(rows: &'a [Row]) -> Columns<'a, Row> {
        Columns { rows, made: Vec::new() }
    }

    fn put(&mut self, role: Role, name: impl Into<String>, about: impl Into<String>, cells: Cells) {
        self.made.push(Column::new(name, about, cells).role(role));
    }

    fn cells<Each>(&self, cell: impl Fn(&Row) -> Option<Each>) -> Vec<Option<Each>> {
        self.rows.iter().map(cell).collect()
    }

    /// Adds words beside the figures.
    pub(super) fn note(&mut self, name: &str, about: &str, cell: impl Fn(&Row) -> Option<String>) {
        self.put(Role::Note, name, about, Cells::Text(self.cells(cell)));
    }

    /// Adds words that tell one row from another.
    pub(super) fn key(&mut self, name: &str, about: &str, cell: impl Fn(&Row) -> Option<String>) {
        self.put(Role::Key, name, about, Cells::Text(self.cells(cell)));
    }

    /// Adds a whole number that tells one row from another.
    pub(super) fn number_key(&mut self, name: &str, about: &str, cell: impl Fn(&Row) -> Option<u64>) {
        self.put(Role::Key, name, about, Cells::Counts(self.cells(cell)));
    }

    /// Adds a count that grew while the row was measured.
    pub(super) fn counter(&mut self, name: &str, about: &str, cell: impl Fn(&Row) -> Option<u64>) {
        self.put(Role::Counter, name, about, Cells::Counts(self.cells(cell)));
    }

    /// Adds a whole number.
    pub(super) fn count(&mut self, name: &str, about: &str, cell: impl Fn(&Row) -> Option<u64>) {
        self.put(Role::Gauge, name, about, Cells::Counts(self.cells(cell)));
    }

    /// Adds another number; what is none, such as a rate of no time, is no figure.
    pub(super) fn number(
        &mut self,
        name: impl Into<String>,
        about: impl Into<String>,
        cell: impl Fn(&Row) -> Option<f64>,
    ) {
        let cells = self.cells(|row| cell(row).filter(|number| number.is_finite()));
        self.put(Role::Gauge, name, about, Cells::Numbers(cells));
    }

    /// A figure and the ends of its 95 % interval, which fewer than three pieces do not have.
    pub(super) fn interval(
        &mut self,
        name: &str,
        unit: &str,
        about: &str,
        cell: impl Fn(&Row) -> Option<Interval>,
    ) {
        self.number(format!("{name}{unit}"), about, |row| cell(row).map(|value| value.mean));
        for (end, of) in [("low", (|value| value.low) as fn(Interval) -> f64), ("high", |value| value.high)] {
            let about = format!("{about}: {end} end of the 95 % interval");
            self.number(format!("{name}_{end}{unit}"), about, |row| {
                cell(row).filter(|value| value.samples >= 3).map(of)
            });
        }
    }

    /// Mean, percentiles and maximum of a latency. A percentile has ten samples beyond it, or there is none: the rule of
    /// every report.
    pub(super) fn latency(&mut self, name: &str, about: &str, bins: impl Fn(&Row) -> Option<Bins>) {
        let of = self.cells(|row| bins(row).filter(|bins| bins.count > 0));
        let mean = of.iter().map(|bins| bins.as_ref().map(Bins::mean_ns)).collect();
        self.put(Role::Gauge, format!("{name}_mean_ns"), format!("{about}: mean"), Cells::Numbers(mean));
        for (word, fraction) in PERCENTILES {
            let enough = |bins: &&Bins| bins.count >= iostack_stats::samples_needed(fraction);
            let cells = of.iter().map(|bins| bins.as_ref().filter(enough)?.quantile_ns(fraction)).collect();
            let about = format!("{about}: {:.2}th percentile", fraction * 100.0).replace(".00th", "th");
            self.put(Role::Gauge, format!("{name}_{word}_ns"), about, Cells::Counts(cells));
        }
        let most = of.iter().map(|bins| Some(bins.as_ref()?.max_ns)).collect();
        self.put(Role::Gauge, format!("{name}_max_ns"), format!("{about}: largest"), Cells::Counts(most));
    }
}

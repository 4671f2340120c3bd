//! What does a spreadsheet or a data frame want?
//!
//! ```text
//!   an answer ──► Table ──┬─► csv          text, one line a row
//!   (of_run, ..)          ├─► parquet      typed columns, what data frames read
//!                         └─► openmetrics  a family a column, what monitoring reads
//! ```
//!
//! A row is one point: an outcome, a test, a cell. Every column has one type, says its unit in its name and what it is in
//! words; what a row does not have is empty, never 0. Start reading at [`of_run`].

mod answers;
mod calibrate;
mod columns;
mod csv;
mod history;
mod openmetrics;
mod outcomes;
mod parquet;
mod probe;
mod quantity;
mod served;
mod sweep;
#[cfg(test)]
mod tests;
mod watch;

pub use answers::{of_ab, of_check, of_iolat, of_merge, of_run};
pub use calibrate::of_calibration;
pub use csv::csv;
pub use history::of_history;
pub use openmetrics::openmetrics;
pub use parquet::parquet;
pub use probe::of_probe;
pub use quantity::numbers;
pub(crate) use quantity::{Measure, measure};
pub use served::of_served;
pub use sweep::of_sweep;
pub use watch::{metrics_of_watch, of_watch, of_why};

/// Columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Columns in the order of the file.
    pub columns: Vec<Column>,
}

/// Cells of one type with their name and meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name of the column, with its unit.
    pub name: String,
    /// Meaning of the cells, in a few words.
    pub about: String,
    /// Kind of column for monitoring.
    pub role: Role,
    /// Values, one a row.
    pub cells: Cells,
}

/// Kind of a column for those who ask for one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Name that tells one row from another.
    Key,
    /// Count that only grows while a row is measured.
    Counter,
    /// Figure that may fall and rise.
    Gauge,
    /// Words beside the figures.
    Note,
}

/// The cells of a column; `None` where a row has none.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Cells of words.
    Text(Vec<Option<String>>),
    /// Cells of whole numbers.
    Counts(Vec<Option<u64>>),
    /// Cells of other numbers.
    Numbers(Vec<Option<f64>>),
}

impl Column {
    /// Words are a note, numbers a figure.
    pub fn new(name: impl Into<String>, about: impl Into<String>, cells: Cells) -> Column {
        let role = if matches!(cells, Cells::Text(_)) { Role::Note } else { Role::Gauge };
        Column { name: name.into(), about: about.into(), role, cells }
    }

    /// The column in another role.
    #[must_use]
    pub fn role(self, role: Role) -> Column {
        Column { role, ..self }
    }
}

impl Cells {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Cells::Text(cells) => cells.len(),
            Cells::Counts(cells) => cells.len(),
            Cells::Numbers(cells) => cells.len(),
        }
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Empty cells of the same type for so many rows.
    fn none(&self, rows: usize) -> Cells {
        match self {
            Cells::Text(_) => Cells::Text(vec![None; rows]),
            Cells::Counts(_) => Cells::Counts(vec![None; rows]),
            Cells::Numbers(_) => Cells::Numbers(vec![None; rows]),
        }
    }

    /// The cell as it is written; `None` where there is none.
    fn said(&self, row: usize) -> Option<String> {
        match self {
            Cells::Text(cells) => cells[row].clone(),
            Cells::Counts(cells) => cells[row].map(|count| count.to_string()),
            Cells::Numbers(cells) => cells[row].filter(|number| number.is_finite()).map(|n| n.to_string()),
        }
    }

    /// These, then those: whole numbers among others are numbers, and anything among words is words.
    fn and(self, below: Cells) -> Cells {
        match (self, below) {
            (Cells::Text(a), Cells::Text(b)) => Cells::Text([a, b].concat()),
            (Cells::Counts(a), Cells::Counts(b)) => Cells::Counts([a, b].concat()),
            (Cells::Numbers(a), Cells::Numbers(b)) => Cells::Numbers([a, b].concat()),
            (Cells::Counts(a), b @ Cells::Numbers(_)) => Cells::Numbers(floats(&a)).and(b),
            (a @ Cells::Numbers(_), Cells::Counts(b)) => a.and(Cells::Numbers(floats(&b))),
            (a, b) => a.words().and(b.words()),
        }
    }

    fn words(&self) -> Cells {
        Cells::Text((0..self.len()).map(|row| self.said(row)).collect())
    }
}

fn floats(counts: &[Option<u64>]) -> Vec<Option<f64>> {
    counts.iter().map(|count| count.map(|count| count as f64)).collect()
}

impl Table {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// One table of several, each called by a name in a first column `file`; what one does not have is empty there.
    pub fn joined(tables: Vec<(String, Table)>) -> Table {
        let mut all = Table::default();
        for (name, table) in tables {
            let (above, rows) = (all.rows(), table.rows());
            let file = Column::new("file", "the file of the result", Cells::Text(vec![Some(name); rows]));
            let mut columns = vec![file.role(Role::Key)];
            columns.extend(table.columns);
            for column in columns {
                if let Some(known) = all.columns.iter_mut().find(|known| known.name == column.name) {
                    let cells = std::mem::replace(&mut known.cells, Cells::Text(Vec::new()));
                    known.cells = cells.and(column.cells);
                } else {
                    let cells = column.cells.none(above).and(column.cells);
                    all.columns.push(Column { cells, ..column });
                }
            }
            for short in all.columns.iter_mut().filter(|column| column.cells.len() < above + rows) {
                let cells = std::mem::replace(&mut short.cells, Cells::Text(Vec::new()));
                let missing = cells.none(rows);
                short.cells = cells.and(missing);
            }
        }
        all
    }
}

#[cfg(test)]
mod joined_tests {
    use super::*;

    #[test]
    fn tables_of_several_files_are_one_whose_gaps_are_empty() {
        let column = |name: &str, cells| Column::new(name, "", cells);
        let a = Table {
            columns: vec![
                column("n", Cells::Counts(vec![Some(1), None])),
                column("x", Cells::Text(vec![None; 2])),
            ],
        };
        let b = Table {
            columns: vec![
                column("n", Cells::Numbers(vec![Some(0.5)])),
                column("y", Cells::Counts(vec![Some(0)])),
            ],
        };
        let joined = Table::joined(vec![("a".to_owned(), a), ("b".to_owned(), b)]);
        assert_eq!(csv(&joined), "file,n,x,y\na,1,,\na,,,\nb,0.5,,0\n");
    }
}

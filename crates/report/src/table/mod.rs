//! What does a spreadsheet or a data frame want?
//!
//!   sweep ──► Table ──► csv      text, one line a row
//!                   └─► parquet  typed columns, what data frames read
//!
//! A row is one outcome of one point. Every column has one type and says its unit in its name; what a row does not have is
//! empty, never 0. Start reading at [`of_sweep`].

mod columns;
mod csv;
mod parquet;
mod quantity;

pub use columns::of_sweep;
pub use csv::csv;
pub use parquet::parquet;
pub use quantity::numbers;
pub(crate) use quantity::{Measure, measure};

/// Columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// In the order of the file.
    pub columns: Vec<Column>,
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name, with its unit.
    pub name: String,
    /// What it holds.
    pub cells: Cells,
}

/// The cells of a column; `None` where a row has none.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Words.
    Text(Vec<Option<String>>),
    /// Whole numbers.
    Counts(Vec<Option<u64>>),
    /// Other numbers.
    Numbers(Vec<Option<f64>>),
}

impl Cells {
    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            Cells::Text(cells) => cells.len(),
            Cells::Counts(cells) => cells.len(),
            Cells::Numbers(cells) => cells.len(),
        }
    }

    /// No rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Table {
    /// Rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }
}

//! What does Python hold of an answer? Its JSON, its report, and its tables as columns of bytes.

use std::path::PathBuf;

use iostack_report::table::{Cells, Column, Table};
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::attend::{Error, error};
use crate::door::{self, KeptAnswer};
use crate::tables;

/// An answer of iostack.
#[pyclass(frozen, module = "iostack._native")]
pub(crate) struct Answer {
    kept: KeptAnswer,
}

/// A column: its name, what it is, how its cells are written (`text`, `count`, `number`), and they.
type Made<'py> = (String, String, &'static str, Bound<'py, PyAny>);

impl Answer {
    pub(crate) fn new(kept: KeptAnswer) -> Answer {
        Answer { kept }
    }
}

#[pymethods]
impl Answer {
    /// Command of the answer.
    #[getter]
    fn kind(&self) -> &'static str {
        self.kept.command()
    }

    fn json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.kept.json()).map_err(|error| Error::new_err(error.to_string()))
    }

    /// The screen of 80 columns.
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| self.kept.document().text())
    }

    /// Markdown, for a pull request.
    fn markdown(&self, py: Python<'_>) -> String {
        py.detach(|| self.kept.document().markdown())
    }

    /// One page that needs no network.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| self.kept.document().html())
    }

    /// Writes its JSON, or its page where the name ends in `.html`, to a new file.
    #[expect(clippy::needless_pass_by_value, reason = "a path of Python's comes as a whole")]
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| door::save(&self.kept, &path)).map_err(error)
    }

    /// The table of the answer, a row a point; `None` of an answer without one.
    fn table<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<Made<'py>>>> {
        py.detach(|| self.kept.table()).map(|table| made(py, table)).transpose()
    }

    /// Another process reads its JSON.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String, String))> {
        let parse = py.import("iostack._native")?.getattr("parse")?;
        Ok((parse, (self.json(py)?, "the answer of another process".to_owned())))
    }

    /// A table of one of its outcomes: see [`tables::table`].
    fn outcome_table<'py>(&self, py: Python<'py>, index: usize, name: &str) -> PyResult<Vec<Made<'py>>> {
        let outcomes = self.kept.rests_on();
        let outcome = outcomes.get(index).ok_or_else(|| PyIndexError::new_err("there is no such outcome"))?;
        let table = tables::table(outcome, name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        made(py, table)
    }
}

fn made(py: Python<'_>, table: Table) -> PyResult<Vec<Made<'_>>> {
    table.columns.into_iter().map(|column| column_of(py, column)).collect()
}

/// Numbers become bytes as the machine has them: eight each, once copied. Where one is missing all are fractions, and it is none.
fn column_of(py: Python<'_>, column: Column) -> PyResult<Made<'_>> {
    let numbers = |cells: &mut dyn Iterator<Item = f64>| {
        PyBytes::new(py, &cells.flat_map(f64::to_ne_bytes).collect::<Vec<u8>>()).into_any()
    };
    let (kind, cells) = match column.cells {
        Cells::Text(cells) => ("text", PyList::new(py, cells)?.into_any()),
        Cells::Numbers(cells) => {
            ("number", numbers(&mut cells.into_iter().map(|cell| cell.unwrap_or(f64::NAN))))
        }
        Cells::Counts(cells) if cells.iter().any(Option::is_none) => {
            let cells = cells.into_iter().map(|cell| cell.map_or(f64::NAN, |count| count as f64));
            ("number", numbers(&mut { cells }))
        }
        Cells::Counts(cells) => {
            let bytes: Vec<u8> = cells.into_iter().flatten().flat_map(u64::to_ne_bytes).collect();
            ("count", PyBytes::new(py, &bytes).into_any())
        }
    };
    Ok((column.name, column.about, kind, cells))
}

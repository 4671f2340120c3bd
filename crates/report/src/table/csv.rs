//! A table as RFC 4180 text.

use super::{Column, Table};

/// One line of names, then one a row; lines end in a bare newline, which every reader takes.
pub fn csv(table: &Table) -> String {
    let line = |cells: Vec<String>| cells.join(",") + "\n";
    let names = table.columns.iter().map(|column| field(&column.name)).collect();
    let rows =
        (0..table.rows()).map(|row| line(table.columns.iter().map(|column| cell(column, row)).collect()));
    std::iter::once(line(names)).chain(rows).collect()
}

fn cell(column: &Column, row: usize) -> String {
    column.cells.said(row).map_or_else(String::new, |said| field(&said))
}

fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cells;
    use super::*;

    #[test]
    fn commas_quotes_and_missing_cells_survive() {
        let text = |text: &str| Some(text.to_owned());
        let table = Table {
            columns: vec![
                Column::new("a,b", "", Cells::Text(vec![text("x"), None, text("say \"hi\"\n")])),
                Column::new("n", "", Cells::Counts(vec![Some(7), None, Some(0)])),
                Column::new("f", "", Cells::Numbers(vec![Some(0.1), Some(f64::NAN), None])),
            ],
        };
        assert_eq!(csv(&table), "\"a,b\",n,f\nx,7,0.1\n,,\n\"say \"\"hi\"\"\n\",0,\n");
    }
}

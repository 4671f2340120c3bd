//! A table as RFC 4180 text.

use super::{Cells, Table};

/// One line of names, then one a row; lines end in a bare newline, which every reader takes.
pub fn csv(table: &Table) -> String {
    let line = |cells: Vec<String>| cells.join(",") + "\n";
    let names = table.columns.iter().map(|column| field(&column.name)).collect();
    let rows = (0..table.rows())
        .map(|row| line(table.columns.iter().map(|column| cell(&column.cells, row)).collect()));
    std::iter::once(line(names)).chain(rows).collect()
}

fn cell(cells: &Cells, row: usize) -> String {
    match cells {
        Cells::Text(cells) => cells[row].as_deref().map_or_else(String::new, field),
        Cells::Counts(cells) => cells[row].map_or_else(String::new, |count| count.to_string()),
        Cells::Numbers(cells) => {
            cells[row].filter(|n| n.is_finite()).map_or_else(String::new, |n| n.to_string())
        }
    }
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
    use super::super::Column;
    use super::*;

    #[test]
    fn commas_quotes_and_missing_cells_survive() {
        let text = |text: &str| Some(text.to_owned());
        let table = Table {
            columns: vec![
                Column {
                    name: "a,b".into(),
                    cells: Cells::Text(vec![text("x"), None, text("say \"hi\"\n")]),
                },
                Column { name: "n".into(), cells: Cells::Counts(vec![Some(7), None, Some(0)]) },
                Column { name: "f".into(), cells: Cells::Numbers(vec![Some(0.1), Some(f64::NAN), None]) },
            ],
        };
        assert_eq!(csv(&table), "\"a,b\",n,f\nx,7,0.1\n,,\n\"say \"\"hi\"\"\n\",0,\n");
    }
}

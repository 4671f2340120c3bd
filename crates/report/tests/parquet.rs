//! Do other programs read our Parquet?

use std::path::{Path, PathBuf};
use std::process::Command;

use iostack_report::table::{Cells, Column, Table, csv, parquet};

/// Removes its folder at the end.
struct Room(PathBuf);

impl Drop for Room {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The Python that `cargo xtask setup` furnishes, when it has the reader.
fn python() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/venv/bin/python3");
    let has = |path: &PathBuf| {
        let output = Command::new(path).args(["-c", "import duckdb"]).output();
        output.is_ok_and(|output| output.status.success())
    };
    [own, PathBuf::from("python3")].into_iter().find(has)
}

fn table(rows: usize, columns: usize) -> Table {
    let text = |row: usize| (row % 3 != 1).then(|| format!("row {row}, \"é\""));
    let count = |row: u64| (!row.is_multiple_of(7)).then_some(row << 40);
    let mut table = Table {
        columns: vec![
            Column::new("text", "", Cells::Text((0..rows).map(text).collect())),
            Column::new("count", "", Cells::Counts((0..rows as u64).map(count).collect())),
        ],
    };
    for column in 0..columns {
        let number = |row: usize| (row > column).then_some(row as f64 * 0.1 + column as f64);
        let cells = Cells::Numbers((0..rows).map(number).collect());
        table.columns.push(Column::new(format!("number {column}"), "", cells));
    }
    table
}

/// Compares the two files cell by cell, and the types of the columns.
const COMPARE: &str = "
import csv, duckdb, sys
got = duckdb.sql(f\"select * from read_parquet('{sys.argv[1]}')\")
kinds = [str(kind) for kind in got.types]
names, rows = list(got.columns), got.fetchall()
with open(sys.argv[2], newline='') as file:
    lines = list(csv.reader(file))
assert names == lines[0], names
assert kinds == ['VARCHAR', 'BIGINT'] + ['DOUBLE'] * (len(names) - 2), kinds
assert len(rows) == len(lines) - 1, len(rows)
def typed(cell, kind):
    return None if cell == '' else cell if kind == 'VARCHAR' else int(cell) if kind == 'BIGINT' else float(cell)
for row, line in zip(rows, lines[1:]):
    assert list(row) == [typed(cell, kind) for cell, kind in zip(line, kinds)], (row, line)
print(len(rows), 'rows alike')
";

#[test]
fn duckdb_reads_from_parquet_what_python_reads_from_csv() {
    let Some(python) = python() else {
        println!("SKIPPED duckdb_reads_from_parquet_what_python_reads_from_csv: duckdb is not installed");
        return;
    };
    let room = Room(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("parquet-{}", std::process::id())));
    std::fs::create_dir_all(&room.0).expect("a folder of our own");
    for (rows, columns) in [(0, 1), (1, 0), (3, 20), (2_000, 5)] {
        let table = table(rows, columns);
        let files = [room.0.join("t.parquet"), room.0.join("t.csv")];
        std::fs::write(&files[0], parquet(&table)).expect("written");
        std::fs::write(&files[1], csv(&table)).expect("written");
        let output =
            Command::new(&python).args(["-c", COMPARE]).args(&files).output().expect("it ran before");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(&format!("{rows} rows alike")), "{rows} rows: {said}");
    }
}

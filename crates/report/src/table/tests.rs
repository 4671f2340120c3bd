//! Are the tables of all answers sound, and does a strict reader take them?

use std::collections::HashSet;
use std::process::Command;

use super::{Cells, Column, Role, Table, csv, openmetrics, parquet};
use crate::fixture;
use crate::pages::tests::stored::{answers, told};

fn tables() -> Vec<(String, Table)> {
    let table = |(name, answer)| Some((name, told(&answer).expect("a stored answer").table()?));
    answers().into_iter().filter_map(table).filter(|(_, table)| table.rows() > 0).collect()
}

#[test]
fn every_table_has_named_columns_of_one_length_and_a_key_for_each_row() {
    for (name, table) in tables() {
        assert!(table.rows() > 0, "{name}");
        let mut names = HashSet::new();
        for column in &table.columns {
            assert_eq!(column.cells.len(), table.rows(), "{name}: {}", column.name);
            assert!(names.insert(&column.name), "{name}: two columns are called {}", column.name);
            assert!(!column.about.is_empty(), "{name}: nobody says what {} is", column.name);
        }
        let keys = table.columns.iter().filter(|column| column.role == Role::Key);
        let keys: Vec<_> = keys.collect();
        let rows: HashSet<Vec<Option<String>>> =
            (0..table.rows()).map(|row| keys.iter().map(|key| key.cells.said(row)).collect()).collect();
        assert_eq!(rows.len(), table.rows(), "{name}: rows that cannot be told apart");
    }
}

#[test]
fn what_has_no_figure_is_empty_and_not_nothing() {
    let mut file = fixture::outcome_file();
    let outcome = &mut file.outcomes[0];
    outcome.elapsed = iostack_model::Nanos(0);
    outcome.iops.samples = 2;
    outcome.cpu.clocks_per_io = 0.0;
    (outcome.read, outcome.write) = Default::default();
    let table = super::of_run(&file);
    let cell = |name: &str| {
        let column = table.columns.iter().find(|column| column.name == name);
        column.unwrap_or_else(|| panic!("no column {name}")).cells.said(0)
    };
    let without = [
        "iops",
        "iops_low",
        "bytes_per_s",
        "read_iops",
        "latency_mean_ns",
        "latency_p50_ns",
        "clocks_per_io",
    ];
    for name in without {
        assert_eq!(cell(name), None, "{name}");
    }
    assert_eq!((cell("ios"), cell("moved_bytes")), (Some("0".to_owned()), Some("0".to_owned())));
}

/// Reads as the specification asks: families once and whole, in the order TYPE, UNIT, HELP; names that end with the unit;
/// `_total` for counters alone; labels in quotes; each series once; `# EOF` at the very end. How many series there are.
fn series(text: &str) -> usize {
    let body = text.strip_suffix("# EOF\n").expect("it ends with # EOF");
    let (mut families, mut known) = (HashSet::new(), HashSet::new());
    let (mut family, mut kind) = (String::new(), String::new());
    for line in body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let [what, name, rest] = comment.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            match what {
                "TYPE" => {
                    assert!(families.insert(name.to_owned()), "{name} twice");
                    assert!(["gauge", "counter"].contains(&rest), "{line}");
                    (family, kind) = (name.to_owned(), rest.to_owned());
                }
                "UNIT" => assert!(name == family && name.ends_with(&format!("_{rest}")), "{line}"),
                "HELP" => assert!(name == family && !rest.is_empty(), "{line}"),
                _ => panic!("{line}"),
            }
            continue;
        }
        let (series, value) = line.rsplit_once(' ').expect("a value");
        assert!(value.parse::<f64>().expect("a number").is_finite(), "{line}");
        assert!(known.insert(series.to_owned()), "{series} twice");
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let suffix = if kind == "counter" { "_total" } else { "" };
        assert_eq!(name, format!("{family}{suffix}"), "{line}");
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{line}");
        labelled(labels.strip_suffix('}').expect("a closing brace"));
    }
    known.len()
}

/// `name="value"`, with commas between and every quote inside behind a backslash.
fn labelled(mut rest: &str) {
    let mut names = HashSet::new();
    while !rest.is_empty() {
        let (name, value) = rest.split_once("=\"").expect("a name and a quote");
        assert!(
            names.insert(name) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
            "{rest}"
        );
        let mut escaped = false;
        let end = value.char_indices().find(|&(_, letter)| {
            let ends = letter == '"' && !escaped;
            escaped = letter == '\\' && !escaped;
            ends
        });
        let (end, _) = end.expect("a closing quote");
        rest = &value[end + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
}

#[test]
fn a_strict_reader_takes_every_figure_of_every_table() {
    for (name, table) in tables() {
        let figures =
            table.columns.iter().filter(|column| matches!(column.role, Role::Gauge | Role::Counter));
        let there = figures.map(|column| match &column.cells {
            Cells::Text(_) => 0,
            cells => (0..cells.len()).filter(|&row| cells.said(row).is_some()).count(),
        });
        assert_eq!(series(&openmetrics(&table)), there.sum::<usize>(), "{name}");
        assert_eq!(csv(&table).lines().count(), table.rows() + 1, "{name}");
    }
}

/// Compares the two files cell by cell, and the types of the columns.
const COMPARE: &str = include_str!("../../tests/data/compare_parquet.py");

#[test]
fn duckdb_reads_from_parquet_what_python_reads_from_csv() {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/venv/bin/python3");
    let python = [own, "python3"].into_iter().find(|path| {
        let output = Command::new(path).args(["-c", "import duckdb"]).output();
        output.is_ok_and(|output| output.status.success())
    });
    let Some(python) = python else {
        println!("SKIPPED duckdb_reads_from_parquet_what_python_reads_from_csv: duckdb is not installed");
        return;
    };
    let room = iostack_testkit::Folder::below(&std::env::temp_dir().to_string_lossy(), "parquet");
    for (rows, columns) in [(0, 1), (1, 0), (3, 20), (2_000, 5)] {
        let table = any_table(rows, columns);
        let files = [room.join("t.parquet"), room.join("t.csv")];
        std::fs::write(&files[0], parquet(&table)).expect("written");
        std::fs::write(&files[1], csv(&table)).expect("written");
        let output = Command::new(python).args(["-c", COMPARE]).args(&files).output().expect("it ran before");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(&format!("{rows} rows alike")), "{rows} rows: {said}");
    }
}

/// Words, counts and numbers with gaps.
fn any_table(rows: usize, columns: usize) -> Table {
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

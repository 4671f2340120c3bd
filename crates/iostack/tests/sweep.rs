//! Is every point of a sweep what the same command alone would give, and does a sweep keep what it has?

#[path = "lab/room.rs"]
mod room;

use std::process::{Command, Output};

use room::Room;
use serde_json::Value;

fn iostack(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_iostack")).args(arguments).output().expect("the binary was built")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

impl Room {
    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

const SWEEP: [&str; 12] = [
    "sim",
    "sweep",
    "dram-ssd,cmu-b",
    "--vary",
    "queue_depth=1..16*4",
    "--vary",
    "read_percent=100,50",
    "--engine",
    "libaio",
    "--io-count",
    "2000",
    "--json",
];

#[test]
fn a_point_alone_gives_the_same_bytes_as_in_the_sweep() {
    let sweep: Value = serde_json::from_slice(&iostack(&SWEEP).stdout).expect("JSON");
    let points = sweep["points"].as_array().expect("points");
    assert_eq!(points.len(), 2 * 3 * 2);
    for point in [&points[0], &points[5], &points[11]] {
        let command = point["command"].as_str().expect("a command");
        let mut words: Vec<&str> = command.split(' ').skip(1).collect();
        words.extend(["--json", "--quiet"]);
        let alone: Value = serde_json::from_slice(&iostack(&words).stdout).expect("JSON");
        assert_eq!(alone["outcomes"], point["outcomes"], "{command}");
    }
}

#[test]
fn the_number_of_points_at_once_changes_no_byte() {
    let of = |parallel: &str| iostack(&[&SWEEP[..], &["--parallel", parallel, "--quiet"]].concat()).stdout;
    assert!(of("1") == of("3"));
}

#[test]
fn a_failing_point_is_named_and_the_others_are_kept() {
    let room = Room::new("failing");
    let [csv, parquet, html] = ["t.csv", "t.parquet", "t.html"].map(|name| room.file(name));
    let vary = ["sim", "sweep", "zero", "--vary", "zero.latency=5us,nonsense,10us", "--io-count", "100"];
    let files = ["--csv", csv.as_str(), "--parquet", &parquet, "--html", &html];
    let output = iostack(&[&vary[..], &files].concat());
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(text.contains("FAILED     1 of 3") && text.contains("zero.latency=nonsense: "), "{text}");
    assert!(text.contains("\n5us  ") && text.contains("\n10us  "), "{text}");
    let table = std::fs::read_to_string(&csv).expect("written");
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(std::fs::read(&parquet).expect("written").starts_with(b"PAR1"));
    assert!(std::fs::read_to_string(&html).expect("written").contains("zero.latency=nonsense"));
    let again = iostack(&[&vary[..], &files].concat());
    assert_eq!(again.status.code(), Some(2), "an existing file is not overwritten");
}

#[test]
fn a_key_that_nothing_has_is_refused_before_anything_runs() {
    for (vary, said) in [
        ("queue_dept=1,2", "`queue_dept` is neither"),
        ("zero.latnecy=1us", "`zero.latnecy` is no number"),
        ("queue_depth=8..1", "ends before it begins"),
        ("queue_depth", "names no values"),
    ] {
        let output = iostack(&["sim", "sweep", "zero", "--vary", vary]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{vary}");
        assert!(error.contains(said) && output.stdout.is_empty(), "{error}");
    }
}

#[test]
fn a_dry_run_prints_the_commands_alone() {
    let arguments = ["sim", "sweep", "zero", "--vary", "zero.latency=5us,10us", "--dry-run"];
    let expected = "iostack run --on sim:zero --set zero.latency=5us\n\
                    iostack run --on sim:zero --set zero.latency=10us\n";
    assert_eq!(stdout(&iostack(&arguments)), expected);
}

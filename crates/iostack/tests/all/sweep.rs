//! Is every point of a sweep what the same command alone would give, and does a sweep keep what it has?

use serde_json::Value;

use crate::shared::{Room, iostack, printed, refused};

const SWEEP: &str = "sim sweep dram-ssd,cmu-b --vary queue_depth=1..16*4 --vary read_percent=100,50 --engine libaio --io-count 2000 --json";

fn sweep(more: &[&str]) -> Vec<u8> {
    iostack(&[&SWEEP.split(' ').collect::<Vec<_>>(), more].concat()).stdout
}

#[test]
fn a_point_alone_gives_the_same_bytes_as_in_the_sweep() {
    let sweep: Value = serde_json::from_slice(&sweep(&[])).expect("JSON");
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
    let of = |parallel: &str| sweep(&["--parallel", parallel, "--quiet"]);
    assert!(of("1") == of("3"));
}

#[test]
fn a_failing_point_is_named_and_the_others_are_kept() {
    let room = Room::new("failing");
    let [csv, parquet, html] = ["t.csv", "t.parquet", "t.html"].map(|name| room.path(name));
    let vary = ["sim", "sweep", "zero", "--vary", "zero.latency=5us,nonsense,10us", "--io-count", "100"];
    let files = ["--csv", csv.as_str(), "--parquet", &parquet, "--html", &html];
    let output = iostack(&[&vary[..], &files].concat());
    assert_eq!(output.status.code(), Some(1));
    let text = printed(&output);
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
        refused(&output, &[said]);
        assert_eq!(output.stdout, b"", "{vary}");
    }
}

#[test]
fn a_dry_run_prints_the_commands_alone() {
    let arguments = ["sim", "sweep", "zero", "--vary", "zero.latency=5us,10us", "--dry-run"];
    let expected = "iostack run --on sim:zero --set zero.latency=5us\n\
                    iostack run --on sim:zero --set zero.latency=10us\n";
    assert_eq!(printed(&iostack(&arguments)), expected);
}

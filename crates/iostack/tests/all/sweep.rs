//! Is every point of a sweep what the same command alone would give?

use serde_json::Value;

use crate::shared::iostack;

const SWEEP: &str = "iostack sim sweep dram-ssd,cmu-b --vary queue_depth=1..16*4 --vary read_percent=100,50 --engine libaio --io-count 2000";

/// JSON of a command as it is typed.
fn json(command: &str) -> Value {
    let words: Vec<&str> = command.split(' ').skip(1).chain(["--json", "--quiet"]).collect();
    serde_json::from_slice(&iostack(&words).stdout).expect("JSON")
}

#[test]
fn a_point_alone_gives_the_same_bytes_as_in_the_sweep() {
    let sweep = json(SWEEP);
    let points = sweep["points"].as_array().expect("points");
    assert_eq!(points.len(), 2 * 3 * 2);
    for point in [&points[0], &points[5], &points[11]] {
        let command = point["command"].as_str().expect("a command");
        assert_eq!(json(command)["outcomes"], point["outcomes"], "{command}");
    }
}

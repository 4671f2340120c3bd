//! What does the merge library cost by itself? Time of its example `merge_speed`, and instructions of the same work.

use std::process::Command;

use anyhow::Result;

use super::sim::{figure, instructions};
use super::{Bench, Figure};
use crate::process;

/// Policies of one thread alone, whose instructions repeat.
const COUNTED: &[&str] = &["pread", "auto", "ring", "stm", "leader_follower", "hybrid", "read_many"];
/// Reads: the difference is free of what comes before.
const READS: [u64; 2] = [10_000, 50_000];

/// Nanoseconds per read, and instructions per read where valgrind is installed.
pub(crate) fn merge(bench: &Bench) -> Result<Vec<Figure>> {
    let program = bench.example("iostack-merge", "merge_speed")?;
    let mut command = Command::new(&program);
    if bench.is_rehearsal {
        command.arg("tiny");
    }
    let said = process::text(&mut command)?;
    let shown = "cargo run --release -p iostack-merge --example merge_speed";
    let mut figures: Vec<Figure> = said.lines().filter_map(|line| figure(line, shown)).collect();
    anyhow::ensure!(!figures.is_empty(), "merge_speed printed no figure: {said}");
    // A rehearsal leaves them to the test that gates on them, crates/merge/tests/instructions.rs.
    if bench.is_rehearsal || process::find("valgrind").is_none() {
        return Ok(figures);
    }
    let [few, many] = READS;
    for name in COUNTED {
        let before = instructions(&program, name, few)?;
        let each = (instructions(&program, name, many)? - before) / (many - few) as f64;
        figures.push(Figure {
            name: format!("merge.instructions_{name}"),
            unit: "instructions",
            samples: vec![each],
            command: format!(
                "valgrind --tool=cachegrind --cache-sim=no merge_speed count {name} {few} and {many}"
            ),
        });
    }
    Ok(figures)
}

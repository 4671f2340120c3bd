//! How fast is the simulator? CPU time of its example `sim_speed`, and instructions of the same work.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::{Bench, Figure};
use crate::process;

/// Loads whose instructions are counted, with two amounts: the difference is free of what comes before.
const COUNTED: &[(&str, [u64; 2])] = &[
    ("read", [2_000, 12_000]),
    ("write", [2_000, 12_000]),
    ("mixed", [2_000, 12_000]),
    ("psync", [2_000, 12_000]),
    ("io_uring", [2_000, 12_000]),
    ("layer", [25_600, 102_400]),
];

/// Requests per CPU-second, and instructions per request where valgrind is installed.
pub(crate) fn sim(bench: &Bench) -> Result<Vec<Figure>> {
    let program = bench.example("iostack-sim", "sim_speed")?;
    let mut command = Command::new(&program);
    if bench.is_rehearsal {
        command.arg("tiny");
    }
    let said = process::text(&mut command)?;
    let shown = "cargo run --release -p iostack-sim --example sim_speed";
    let mut figures: Vec<Figure> = said.lines().filter_map(|line| figure(line, shown)).collect();
    anyhow::ensure!(!figures.is_empty(), "sim_speed printed no figure: {said}");
    // A rehearsal leaves them to the test that gates on them, crates/sim/tests/instructions.rs.
    if bench.is_rehearsal || process::find("valgrind").is_none() {
        return Ok(figures);
    }
    for (name, [few, many]) in COUNTED {
        let before = instructions(&program, name, *few)?;
        let each = (instructions(&program, name, *many)? - before) / (many - few) as f64;
        figures.push(Figure {
            name: format!("sim.instructions_{name}"),
            unit: "instructions",
            samples: vec![each],
            command: format!(
                "valgrind --tool=cachegrind --cache-sim=no sim_speed count {name} {few} and {many}"
            ),
        });
    }
    Ok(figures)
}

/// The line `NAME UNIT SAMPLE.. checksum SUM`.
pub(super) fn figure(line: &str, command: &str) -> Option<Figure> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, unit, samples @ .., "checksum", _] = words.as_slice() else { return None };
    let unit = *["M/cpu-s", "cpu-s", "B/page", "ns"].iter().find(|known| *known == unit)?;
    let samples = samples.iter().map(|sample| sample.parse().ok()).collect::<Option<Vec<f64>>>()?;
    Some(Figure { name: (*name).to_owned(), unit, samples, command: format!("{command} {name}") })
}

/// Instructions of the whole program.
pub(super) fn instructions(program: &Path, name: &str, count: u64) -> Result<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(program)
        .args(["count", name, &count.to_string()])
        .output()
        .context("cannot start valgrind")?;
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "valgrind could not run {}: {said}", program.display());
    counted(&said).with_context(|| format!("valgrind counted nothing: {said}"))
}

/// The number of `==1== I   refs:      1,234`.
fn counted(said: &str) -> Option<f64> {
    let (_, number) =
        said.lines().filter(|line| line.contains(" I ")).find_map(|line| line.split_once("refs:"))?;
    number.trim().replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_off_what_the_example_prints() {
        let read = figure("sim.read M/cpu-s 5.1 4.9 checksum 0f", "run").expect("a figure");
        assert_eq!((read.name.as_str(), read.unit, read.samples), ("sim.read", "M/cpu-s", vec![5.1, 4.9]));
        assert_eq!(read.command, "run sim.read");
        assert!(figure("sim.read parsecs 5.1 checksum 0f", "run").is_none());
        assert!(figure("   Compiling", "run").is_none());
    }

    #[test]
    fn instructions_are_read_off_what_valgrind_prints() {
        let said = "==7== Cachegrind\n==7== \n==7== I   refs:      1,329,555,792\n";
        assert_eq!(counted(said), Some(1_329_555_792.0));
        assert_eq!(counted("==7== nothing"), None);
    }
}

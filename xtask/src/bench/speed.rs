//! How fast is the simulator, and what does the merge library cost by itself? Time of their examples, and instructions of the same work.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::{BenchFigure, BenchRun};
use crate::process;

/// An example that prints figures of time, and counts each of some loads in two amounts: the difference is free of what comes before.
struct Speed {
    package: &'static str,
    example: &'static str,
    /// First word of its figures.
    family: &'static str,
    counted: &'static [(&'static str, [u64; 2])],
}

const SIM: Speed = Speed {
    package: "iostack-sim",
    example: "sim_speed",
    family: "sim",
    counted: &[
        ("read", [2_000, 12_000]),
        ("write", [2_000, 12_000]),
        ("mixed", [2_000, 12_000]),
        ("psync", [2_000, 12_000]),
        ("io_uring", [2_000, 12_000]),
        ("tlc-1t", [10_000, 60_000]),
        ("x25e", [2_000, 12_000]),
        ("server_io_uring", [10_000, 40_000]),
        ("server_psync", [10_000, 40_000]),
        ("large", [20_000, 80_000]),
        ("layer", [25_600, 102_400]),
    ],
};

/// Policies of one thread alone, whose instructions repeat.
const MERGE: Speed = Speed {
    package: "iostack-merge",
    example: "merge_speed",
    family: "merge",
    counted: &[
        ("pread", READS),
        ("auto", READS),
        ("ring", READS),
        ("stm", READS),
        ("leader_follower", READS),
        ("hybrid", READS),
        ("read_many", READS),
    ],
};

const READS: [u64; 2] = [10_000, 50_000];

/// Requests per CPU-second of the simulator, and instructions per request where valgrind is installed.
pub(crate) fn sim(bench: &BenchRun) -> Result<Vec<BenchFigure>> {
    SIM.measure(bench)
}

/// Nanoseconds per read of the merge library, and instructions per read where valgrind is installed.
pub(crate) fn merge(bench: &BenchRun) -> Result<Vec<BenchFigure>> {
    MERGE.measure(bench)
}

impl Speed {
    fn measure(&self, bench: &BenchRun) -> Result<Vec<BenchFigure>> {
        let Speed { package, example, family, .. } = self;
        let program = bench.example(package, example)?;
        let mut command = Command::new(&program);
        if bench.is_rehearsal {
            command.arg("tiny");
        }
        let said = process::text(&mut command)?;
        let shown = format!("cargo run --release -p {package} --example {example}");
        let mut figures: Vec<BenchFigure> = said.lines().filter_map(|line| figure(line, &shown)).collect();
        anyhow::ensure!(!figures.is_empty(), "{example} printed no figure: {said}");
        // A rehearsal leaves them to the tests that gate on them, crates/{sim,merge}/tests/instructions.rs.
        if bench.is_rehearsal || process::find("valgrind").is_none() {
            return Ok(figures);
        }
        for (name, [few, many]) in self.counted {
            let before = instructions(&program, name, *few)?;
            let each = (instructions(&program, name, *many)? - before) / (many - few) as f64;
            let valgrind = "valgrind --tool=cachegrind --cache-sim=no";
            figures.push(BenchFigure {
                name: format!("{family}.instructions_{name}"),
                unit: "instructions",
                samples: vec![each],
                command: format!("{valgrind} {example} count {name} {few} and {many}"),
            });
        }
        Ok(figures)
    }
}

/// The line `NAME UNIT SAMPLE.. checksum SUM`.
fn figure(line: &str, command: &str) -> Option<BenchFigure> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, unit, samples @ .., "checksum", _] = words.as_slice() else { return None };
    let unit = *["M/cpu-s", "cpu-s", "B/page", "ns"].iter().find(|known| *known == unit)?;
    let samples = samples.iter().map(|sample| sample.parse().ok()).collect::<Option<Vec<f64>>>()?;
    Some(BenchFigure { name: (*name).to_owned(), unit, samples, command: format!("{command} {name}") })
}

/// Instructions of the whole program.
fn instructions(program: &Path, name: &str, count: u64) -> Result<f64> {
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

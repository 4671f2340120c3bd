//! How fast is it, and was it faster before? Measures, and appends a line per figure to `bench/history.ndjson`.
//!
//!   measures ──► figures ──► screen
//!                   └──────► bench/history.ndjson, with commit and machine
//!
//! `cargo xtask test` rehearses every measure on a tiny input, so that none can rot; a rehearsal appends nothing.
//! `bench/README.md` says what each figure means. Start reading at `MEASURES`.

mod history;
mod measures;
mod speed;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::chore::{Finished, only};
use crate::process;
use crate::tree;

/// One thing that was measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BenchFigure {
    /// Dotted, the shared word first: the family sorts together.
    pub(crate) name: String,
    /// Unit of `median`, `low` and `high`.
    pub(crate) unit: &'static str,
    /// Each sample in the order it was taken; never empty.
    pub(crate) samples: Vec<f64>,
    /// Command that was run, from the root of the repository.
    pub(crate) command: String,
}

impl BenchFigure {
    /// Smallest, median and largest sample.
    fn spread(&self) -> (f64, f64, f64) {
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        (sorted[0], median, sorted[sorted.len() - 1])
    }
}

/// Amount to measure, and the folder.
pub(crate) struct BenchRun {
    root: PathBuf,
    /// Our own program; built before anything is timed.
    iostack: PathBuf,
    /// Holds the file that jobs read; under the build folder, so on a real file system.
    folder: PathBuf,
    /// A rehearsal is short, and of the unoptimised build that the tests have made anyway.
    is_rehearsal: bool,
}

type MeasureFunction = fn(&BenchRun) -> Result<Vec<BenchFigure>>;

/// Name and way of every measure.
pub(crate) const MEASURES: [(&str, MeasureFunction); 5] = [
    ("record", measures::record),
    ("start", measures::start),
    ("cost", measures::cost),
    ("sim", speed::sim),
    ("merge", speed::merge),
];

/// `cargo xtask bench [NAME..]`.
pub(crate) fn chore(arguments: &[String]) -> Result<bool> {
    only(arguments, &MEASURES.map(|(name, _)| name))?;
    let bench = BenchRun::new(false)?;
    let machine = bench.machine()?;
    for (name, measure) in MEASURES {
        if arguments.is_empty() || arguments.iter().any(|argument| argument == name) {
            let figures = measure(&bench).with_context(|| format!("cannot measure {name}"))?;
            for figure in &figures {
                let (low, median, high) = figure.spread();
                println!("{:<44} {median:>10.2} {:<12} [{low:.2}, {high:.2}]", figure.name, figure.unit);
            }
            let path = history::append(&bench.root, &machine, &figures)?;
            println!("{} lines appended to {}", figures.len(), path.display());
        }
    }
    Ok(true)
}

/// Every measure on a tiny input: its name, and what came of it.
pub(crate) fn rehearse() -> Vec<(String, Finished)> {
    let rehearsed = |(name, measure): (&str, MeasureFunction)| {
        let chore = format!("bench {name}");
        let finished = judged(BenchRun::new(true).and_then(|bench| measure(&bench)));
        (chore.clone(), Finished::told(&chore, Ok(finished)))
    };
    MEASURES.map(rehearsed).into()
}

fn judged(measured: Result<Vec<BenchFigure>>) -> Finished {
    match measured {
        Ok(figures) if is_sound(&figures) => Finished::Passed(format!("{} figures", figures.len())),
        Ok(figures) => Finished::refused(format!("it measured nonsense: {figures:?}"), ""),
        Err(error) => {
            let why = format!("{error:#}").replace('\n', " ");
            // A container may forbid ptrace, which is how instructions are counted.
            if why.contains("may not trace") { Finished::Skipped(why) } else { Finished::refused(why, "") }
        }
    }
}

fn is_sound(figures: &[BenchFigure]) -> bool {
    let mut samples = figures.iter().flat_map(|figure| &figure.samples);
    !figures.is_empty() && samples.all(|&sample| sample.is_finite() && sample > 0.0)
}

impl BenchRun {
    fn new(is_rehearsal: bool) -> Result<BenchRun> {
        let root = tree::root();
        let folder = root.join("target/bench");
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let iostack = built(&root, !is_rehearsal, "iostack", "bin", "iostack")?;
        Ok(BenchRun { root, iostack, folder, is_rehearsal })
    }

    /// An example of one of our crates, built as iostack itself.
    fn example(&self, package: &str, name: &str) -> Result<PathBuf> {
        built(&self.root, !self.is_rehearsal, package, "example", name)
    }

    /// A program whose package has its name, built as iostack itself.
    fn program(&self, name: &str) -> Result<PathBuf> {
        built(&self.root, !self.is_rehearsal, name, "bin", name)
    }

    /// The machine as iostack itself describes it in every outcome.
    fn machine(&self) -> Result<serde_json::Value> {
        let outcome = measures::one_io(self)?;
        Ok(outcome["machine"].clone())
    }
}

/// Builds a program, `kind` being `bin` or `example`, and says where it lies. Not optimised it is the one that the tests were
/// built with: alone it would be built of other features, and every crate below it anew.
fn built(root: &Path, is_optimised: bool, package: &str, kind: &str, name: &str) -> Result<PathBuf> {
    let mut command = process::cargo();
    command.current_dir(root);
    if is_optimised {
        let target = format!("--{kind}");
        command.args(["build", "--release", "--package", package, target.as_str(), name]);
    } else {
        command.args(["test", "--workspace", "--no-run"]);
    }
    let said = process::text(command.args(["--quiet", "--message-format", "json"]))?;
    let mut messages = said.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let is_meant = |message: &serde_json::Value| {
        let target = &message["target"];
        target["name"] == name && target["kind"][0] == kind && message["profile"]["test"] == false
    };
    let program = messages.find_map(|message| {
        is_meant(&message).then(|| message["executable"].as_str().map(PathBuf::from)).flatten()
    });
    program.with_context(|| format!("cargo built no {kind} `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_smallest_median_largest() {
        let spread = |samples: &[f64]| {
            let samples = samples.to_vec();
            BenchFigure { name: String::new(), unit: "ns", samples, command: String::new() }.spread()
        };
        assert_eq!(spread(&[3.0, 1.0, 2.0]), (1.0, 2.0, 3.0));
        assert_eq!(spread(&[4.0, 1.0, 2.0, 3.0]), (1.0, 2.5, 4.0));
        assert_eq!(spread(&[7.0]), (7.0, 7.0, 7.0));
    }

    #[test]
    fn a_measure_that_breaks_is_told_from_one_that_may_not_run() {
        let figure = |sample: f64| {
            vec![BenchFigure {
                name: "a".to_owned(),
                unit: "ns",
                samples: vec![sample],
                command: String::new(),
            }]
        };
        assert!(is_sound(&figure(1.0)));
        assert!(!is_sound(&figure(0.0)) && !is_sound(&figure(f64::NAN)) && !is_sound(&[]));
        let forbidden = judged(Err(anyhow::anyhow!("may not trace process 1")));
        assert!(matches!(forbidden, Finished::Skipped(_)));
        assert!(matches!(judged(Err(anyhow::anyhow!("no such file"))), Finished::Refused { .. }));
    }
}

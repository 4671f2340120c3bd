//! The measures themselves: what is run, and which figure is read off it.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{BenchFigure, BenchRun};
use crate::process;

/// The file that jobs read, in the bench folder, which is where every job runs.
const DATA: &str = "data";
const DATA_BYTES: u64 = 64 << 20;

/// Nanoseconds per latency counted, and per interval closed: medians of `crates/stats/benches/record.rs`.
pub(crate) fn record(bench: &BenchRun) -> Result<Vec<BenchFigure>> {
    // As a test, the benchmark runs on its own tiny input.
    let (verb, repeats) = if bench.is_rehearsal { ("test", 1) } else { ("bench", 5) };
    let mut command = process::cargo();
    command
        .args([verb, "--quiet", "--package", "iostack-stats", "--bench", "record"])
        .current_dir(&bench.root);
    let mut figures: Vec<BenchFigure> = Vec::new();
    for _ in 0..repeats {
        for (name, median) in medians(&process::text(&mut command)?) {
            let name = format!("stats.{name}");
            match figures.iter_mut().find(|figure| figure.name == name) {
                Some(figure) => figure.samples.push(median),
                None => figures.push(BenchFigure {
                    name,
                    unit: "ns",
                    samples: vec![median],
                    command: process::shown(&command),
                }),
            }
        }
    }
    Ok(figures)
}

/// Name and median of the lines `NAME 3.29 ns median ..`.
fn medians(said: &str) -> Vec<(&str, f64)> {
    let words = said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut found = Vec::new();
    for line in words {
        if let [name, number, "ns", "median", ..] = line.as_slice() {
            found.extend(number.parse().ok().map(|median| (*name, median)));
        }
    }
    found
}

/// Milliseconds of a whole `iostack run` that does one I/O, and of the engine's part until the first submission.
pub(crate) fn start(bench: &BenchRun) -> Result<Vec<BenchFigure>> {
    let repeats = if bench.is_rehearsal { 1 } else { 20 };
    // Lays the file out, and warms the caches.
    one_io(bench)?;
    let (mut whole, mut engine) = (Vec::new(), Vec::new());
    for _ in 0..repeats {
        let began = Instant::now();
        let outcome = one_io(bench)?;
        whole.push(began.elapsed().as_secs_f64() * 1e3);
        engine.push(
            outcome["outcomes"][0]["startup"].as_f64().context("an outcome has its startup time")? / 1e6,
        );
    }
    let command = "iostack run bench/jobs/one-io.fio --json --quiet".to_owned();
    Ok(vec![
        BenchFigure {
            name: "start.command_of_one_io".to_owned(),
            unit: "ms",
            samples: whole,
            command: command.clone(),
        },
        BenchFigure { name: "start.engine_to_first_submit".to_owned(), unit: "ms", samples: engine, command },
    ])
}

/// The outcome file of a run of one I/O.
pub(crate) fn one_io(bench: &BenchRun) -> Result<Value> {
    lay_out(bench)?;
    let job = bench.root.join("bench/jobs/one-io.fio");
    let mut command = Command::new(&bench.iostack);
    command.arg("run").arg(job).args(["--json", "--quiet"]).current_dir(&bench.folder);
    serde_json::from_str(&process::text(&mut command)?).context("--json prints an outcome file")
}

/// User instructions per 4 KiB random read: every job of `bench/jobs/cost-*.fio`, under iostack and under fio. What this
/// machine cannot run is said and left out.
pub(crate) fn cost(bench: &BenchRun) -> Result<Vec<BenchFigure>> {
    lay_out(bench)?;
    let iostack = bench.iostack.to_str().context("the build folder has a plain name")?;
    let counter = bench.program("iostack-stepcount")?;
    let mut figures = Vec::new();
    for job in cost_jobs(bench)? {
        let name = job.file_stem().unwrap_or_default().to_string_lossy().replacen("cost-", "", 1);
        let job = job.to_str().context("the repository has a plain name")?;
        let mut generators = vec![("iostack", vec![iostack, "run", "--quiet", job])];
        if process::find("fio").is_some() && !bench.is_rehearsal {
            generators.push(("fio", vec!["fio", job]));
        }
        for (generator, words) in generators {
            let figure_name = format!("cost.{name}.{generator}");
            match instructions_per_io(bench, &counter, &words) {
                Ok(samples) => figures.push(BenchFigure {
                    name: figure_name,
                    unit: "instructions",
                    samples,
                    command: format!("iostack-stepcount {generator} .. bench/jobs/cost-{name}.fio"),
                }),
                Err(error) if bench.is_rehearsal => return Err(error),
                Err(error) => println!("{figure_name} was not measured: {error:#}"),
            }
        }
    }
    Ok(figures)
}

/// All of them in order of name; one of them, which needs no special kernel, for a rehearsal.
fn cost_jobs(bench: &BenchRun) -> Result<Vec<PathBuf>> {
    let begins = if bench.is_rehearsal { "cost-psync" } else { "cost-" };
    let entries = std::fs::read_dir(bench.root.join("bench/jobs"))?.flatten().map(|entry| entry.path());
    let is_wanted =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(begins));
    let mut jobs: Vec<PathBuf> = entries.filter(is_wanted).collect();
    jobs.sort();
    Ok(jobs)
}

/// User instructions per I/O of a generator, for each part of the window that was counted.
fn instructions_per_io(bench: &BenchRun, counter: &Path, words: &[&str]) -> Result<Vec<f64>> {
    let instructions = if bench.is_rehearsal { "20000" } else { "300000" };
    let mut command = Command::new(counter);
    command.arg(instructions).args(words).current_dir(&bench.folder);
    let said: Value =
        serde_json::from_str(&process::text(&mut command)?).context("iostack-stepcount prints JSON")?;
    numbers(&said["instructions_per_io_parts"])
}

fn numbers(list: &Value) -> Result<Vec<f64>> {
    let samples: Vec<f64> = list.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    anyhow::ensure!(!samples.is_empty(), "no figures where they were expected");
    Ok(samples)
}

/// Writes the file once; in full, because reads of holes never reach the medium.
fn lay_out(bench: &BenchRun) -> Result<()> {
    let path = bench.folder.join(DATA);
    if path.metadata().is_ok_and(|known| known.len() == DATA_BYTES) {
        return Ok(());
    }
    let mut file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut random = File::open("/dev/urandom").context("Linux has /dev/urandom")?.take(DATA_BYTES);
    std::io::copy(&mut random, &mut file).with_context(|| format!("cannot fill {}", path.display()))?;
    file.sync_all().with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_read_off_the_benchmark() {
        let said = "nothing        1.21 ns median     1.01 ns least   checksum 00\n\nrunning 0 tests\nrecord 3.35 ns median\n";
        assert_eq!(medians(said), [("nothing", 1.21), ("record", 3.35)]);
    }
}

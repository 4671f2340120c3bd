//! One line of JSON for each figure, with the commit and the machine, so that any two can be laid side by side.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::BenchFigure;
use crate::process;

/// Appends the figures and says where.
pub(crate) fn append(root: &Path, machine: &Value, figures: &[BenchFigure]) -> Result<PathBuf> {
    let git = |words: &[&str]| process::text(Command::new("git").args(words).current_dir(root));
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?.trim().to_owned();
    // The history itself always differs after the first figure; it is not what was measured.
    let changed = git(&["status", "--porcelain", "--", ".", ":!bench/history.ndjson"])?;
    let now_unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_secs());
    let conditions = json!({
        "unix_s": now_unix_s,
        "commit": commit,
        "changed": !changed.trim().is_empty(),
        "machine": short(machine),
    });
    let path = root.join("bench/history.ndjson");
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path)
        .with_context(|| format!("cannot append to {}", path.display()))?;
    for figure in figures {
        writeln!(file, "{}", line(figure, &conditions))?;
    }
    Ok(path)
}

/// The figure and its conditions as one object.
fn line(figure: &BenchFigure, conditions: &Value) -> Value {
    let (low, median, high) = figure.spread();
    let mut line = json!({
        "name": figure.name,
        "unit": figure.unit,
        "median": median,
        "low": low,
        "high": high,
        "samples": figure.samples.len(),
        "command": figure.command,
    });
    for (key, value) in conditions.as_object().into_iter().flatten() {
        line[key] = value.clone();
    }
    line
}

/// Part of iostack's long description that makes figures comparable.
fn short(machine: &Value) -> Value {
    json!({
        "cpu": machine["cpu"]["model"],
        "cores": machine["cpu"]["cores_online"],
        "kernel": machine["kernel"]["release"],
        "hypervisor": machine["virtualisation"]["hypervisor"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_carries_the_figure_and_its_conditions() {
        let samples = vec![2.0, 1.0, 4.0];
        let figure = BenchFigure { name: "a.b".to_owned(), unit: "ns", samples, command: "do it".to_owned() };
        let machine = json!({"cpu": {"model": "m", "cores_online": 2}, "kernel": {"release": "6"}, "virtualisation": {}});
        let line = line(&figure, &json!({"commit": "c", "machine": short(&machine)}));
        assert_eq!(
            line,
            json!({
                "name": "a.b", "unit": "ns", "median": 2.0, "low": 1.0, "high": 4.0, "samples": 3, "command": "do it",
                "commit": "c", "machine": {"cpu": "m", "cores": 2, "kernel": "6", "hypervisor": null},
            })
        );
    }
}

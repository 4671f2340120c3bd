//! Which test binaries are there, and how does one run? Cargo builds and names them; we run them, so that two can run at a time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;

/// A test binary.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Program {
    /// `iostack-stats`, or `iostack-engine memory` of a file in `tests/`.
    pub(super) name: String,
    /// The crate's folder, in which its tests run.
    pub(super) folder: PathBuf,
    file: PathBuf,
    /// Words that say which of its tests; none: all.
    only: Vec<&'static str>,
    /// Nothing may run beside them.
    pub(super) is_alone: bool,
}

/// Modules of a program that run apart from its others, and whether nothing may run beside them.
const APART: [(&str, &[&str], bool); 7] = [
    // They boot machines, one after the other.
    ("iostack all", &["lab::"], false),
    // What a change of pages concerns.
    ("iostack all", &["cli::"], false),
    ("iostack all", &["commands::", "docs::"], false),
    ("iostack all", &["repro::"], false),
    ("iostack-attribute all", &["stages::"], true),
    ("iostack-engine all", &["known_load::", "pace::"], true),
    ("iostack-merge all", &["auto::"], true),
];

/// The examples in docs, which cargo builds and runs by itself.
const EXAMPLES: &str = "examples";

impl Program {
    /// The examples of all crates, as if they were one binary.
    pub(super) fn examples(root: &Path) -> Program {
        Program { name: EXAMPLES.to_owned(), folder: root.to_owned(), ..Program::default() }
    }

    /// The program as parts that run by themselves.
    pub(super) fn parts(self) -> Vec<Program> {
        let rows = APART.into_iter().filter(|row| row.0 == self.name);
        let apart = rows.map(|(whole, modules, is_alone)| {
            let name = format!("{whole} {}", modules.join(" "));
            Program { name, only: modules.to_vec(), is_alone, ..self.clone() }
        });
        let mut parts: Vec<Program> = apart.collect();
        let only = parts.iter().flat_map(|part| &part.only).flat_map(|module| ["--skip", module]).collect();
        parts.push(Program { only, ..self });
        parts
    }

    /// Runs its tests: all but the slow ones, or these slow ones alone.
    /// `alone`: one after the other.
    pub(super) fn command(&self, slow: &[String], alone: bool) -> Command {
        if self.name == EXAMPLES {
            let mut command = process::cargo();
            command.args(["test", "--workspace", "--doc", "--", "--show-output"]).current_dir(&self.folder);
            return command;
        }
        let mut command = with_signals(&self.file);
        command.arg("--show-output").current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        if alone {
            command.arg("--test-threads=1");
        }
        if slow.is_empty() {
            command.args(&self.only);
        } else {
            command.args(["--ignored", "--exact"]).args(slow);
        }
        command
    }

    #[cfg(test)]
    pub(super) fn named(name: &str) -> Program {
        Program { name: name.to_owned(), ..Program::default() }
    }
}

/// Runs a program with no signal ignored: `nohup` and a shell's `&` leave some so, and tests send them.
fn with_signals(program: &Path) -> Command {
    static CAN: OnceLock<bool> = OnceLock::new();
    const DEFAULT: &str = "--default-signal";
    if !*CAN.get_or_init(|| process::succeeds(Command::new("env").args([DEFAULT, "true"]))) {
        return Command::new(program);
    }
    let mut command = Command::new("env");
    command.arg(DEFAULT).arg(program);
    command
}

/// Builds every test of the workspace: the binaries, by name.
pub(super) fn built(root: &Path) -> Result<Vec<Program>> {
    let mut command = process::cargo();
    command.args(["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"]);
    println!("test      {}", process::shown(&command));
    let output = command
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", process::shown(&command)))?;
    anyhow::ensure!(output.status.success(), "the tests cannot be built; see above");
    let said = String::from_utf8_lossy(&output.stdout);
    let mut programs: Vec<Program> = said.lines().filter_map(program).collect();
    programs.sort();
    Ok(programs)
}

/// A line of cargo's about a test binary that it has built.
fn program(line: &str) -> Option<Program> {
    let said: Value = serde_json::from_str(line).ok()?;
    if said["reason"] != "compiler-artifact" || said["profile"]["test"] != true {
        return None;
    }
    let file = PathBuf::from(said["executable"].as_str()?);
    let folder = Path::new(said["manifest_path"].as_str()?).parent()?.to_owned();
    let crate_name = folder.file_name()?.to_string_lossy();
    let package = if crate_name == "xtask" || crate_name == "iostack" {
        crate_name.into_owned()
    } else {
        format!("iostack-{crate_name}")
    };
    let is_unit = said["target"]["kind"].as_array()?.iter().any(|kind| kind == "lib" || kind == "bin");
    let name = if is_unit { package } else { format!("{package} {}", said["target"]["name"].as_str()?) };
    Some(Program { name, folder, file, ..Program::default() })
}

/// Seconds that each binary took when all ran last.
pub(crate) type Times = BTreeMap<String, f64>;

/// Those of the last whole run; none in a fresh clone.
pub(crate) fn times(root: &Path) -> Times {
    let text = std::fs::read_to_string(root.join(TIMES)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Keeps them for the next run; without them it is only slower.
pub(super) fn keep(root: &Path, times: &Times) {
    let text = serde_json::to_string_pretty(times).expect("names and numbers");
    if let Err(error) = std::fs::write(root.join(TIMES), text) {
        println!("the tests' times are not kept: {TIMES}: {error}");
    }
}

const TIMES: &str = "target/test-times.json";

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: &str, test: bool) -> String {
        serde_json::json!({
            "reason": "compiler-artifact", "manifest_path": "/w/crates/engine/Cargo.toml", "executable": "/w/t/memory-1",
            "target": {"kind": [kind], "name": "memory"}, "profile": {"test": test},
        })
        .to_string()
    }

    #[test]
    fn a_test_binary_has_its_crates_name_and_its_own() {
        assert_eq!(
            program(&line("test", true)).map(|program| program.name).as_deref(),
            Some("iostack-engine memory")
        );
        assert_eq!(
            program(&line("lib", true)).map(|program| program.name).as_deref(),
            Some("iostack-engine")
        );
        assert_eq!(program(&line("example", false)), None);
        assert_eq!(program("Compiling"), None);
    }
}

//! Which tests does a change concern most? Those of the crates that it touches, the quickest first, as many as a minute holds.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::programs::{Program, Times};
use crate::process;

/// Files outside of the crates, and the tests that read them.
const ELSEWHERE: &[(&str, &[&str])] = &[
    ("tests/cli/", &["iostack all cli::"]),
    ("docs/", &["iostack all commands:: docs::"]),
    ("README.md", &["iostack all commands:: docs::"]),
    ("platforms/", &["iostack-sim all"]),
    ("experiments/", &["iostack all repro::"]),
];

/// Seconds that the chosen may take together, by the last run of all.
const BUDGET: f64 = 60.0;
/// Seconds of one that has not run here yet.
const UNKNOWN: f64 = 10.0;

/// Those that a change concerns, and the others of its crates, for which there is no time.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Chosen {
    pub(super) now: Vec<Program>,
    pub(super) later: Vec<Program>,
}

/// Paths that differ from the last commit; of a clean tree, those that the last commit changed.
pub(super) fn paths(root: &Path) -> Result<Vec<String>> {
    let git = |words: &[&str]| process::text(Command::new("git").args(words).current_dir(root));
    let mut said = git(&["ls-files", "--modified", "--others", "--exclude-standard"])?;
    said += &git(&["diff", "--name-only", "--cached"])?;
    if said.is_empty() {
        said = git(&["diff", "--name-only", "HEAD~1", "HEAD"])?;
    }
    Ok(said.lines().map(str::to_owned).collect())
}

/// Chooses among all.
pub(super) fn choose(programs: Vec<Program>, paths: &[String], times: &Times) -> Chosen {
    let mut wanted: Vec<(u8, f64, Program)> = programs
        .into_iter()
        .filter_map(|program| {
            let rank = paths.iter().filter_map(|path| rank(&program.name, path)).min()?;
            Some((rank, times.get(&program.name).copied().unwrap_or(UNKNOWN), program))
        })
        .collect();
    wanted.sort_by(|a, b| (a.0, a.1).partial_cmp(&(b.0, b.1)).expect("times are numbers"));
    let (mut chosen, mut sum) = (Chosen::default(), 0.0);
    for (_, time, program) in wanted {
        sum += time;
        // One that is too long leaves room for the next.
        if sum <= BUDGET || chosen.now.is_empty() {
            chosen.now.push(program);
        } else {
            sum -= time;
            chosen.later.push(program);
        }
    }
    chosen
}

/// Rank of a binary for a file's change: 0 its own file or unit tests, 1 its crate; none: not at all.
fn rank(program: &str, path: &str) -> Option<u8> {
    let (package, test) =
        program.split_once(' ').map_or((program, None), |(package, test)| (package, Some(test)));
    let folder = package.strip_prefix("iostack-").unwrap_or(package);
    if let Some((_, tests)) = ELSEWHERE.iter().find(|(folder, _)| path.starts_with(folder)) {
        return tests.contains(&program).then_some(0);
    }
    let inside = path.strip_prefix("crates/").unwrap_or(path).strip_prefix(folder)?.strip_prefix('/')?;
    let own = match (test, inside.strip_prefix("tests/")) {
        (None, None) => true,
        (Some(test), Some(rest)) => rest.strip_prefix(test).is_some_and(|end| end.starts_with(['.', '/'])),
        _ => false,
    };
    Some(u8::from(!own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_concerns_its_crate_and_its_own_file_most() {
        assert_eq!(rank("iostack-engine", "crates/engine/src/lib.rs"), Some(0));
        assert_eq!(rank("iostack-engine memory", "crates/engine/src/lib.rs"), Some(1));
        assert_eq!(rank("iostack-engine memory", "crates/engine/tests/memory.rs"), Some(0));
        assert_eq!(rank("iostack-engine", "crates/engine/tests/memory.rs"), Some(1));
        assert_eq!(rank("iostack cli", "crates/iostack/tests/cli/main.rs"), Some(0));
        assert_eq!(rank("iostack-stats", "crates/engine/src/lib.rs"), None);
        assert_eq!(rank("iostack-sim", "crates/simulation/src/lib.rs"), None);
        assert_eq!(rank("xtask", "xtask/src/main.rs"), Some(0));
        assert_eq!(rank("iostack all commands:: docs::", "docs/check.md"), Some(0));
        assert_eq!(rank("iostack all cli::", "docs/check.md"), None);
        assert_eq!(rank("iostack all cli::", "tests/cli/run.md"), Some(0));
        assert_eq!(rank("iostack-sim all", "platforms/laptop.toml"), Some(0));
    }

    #[test]
    fn the_quickest_come_first_and_what_a_minute_does_not_hold_is_named() {
        let program = |name: &str| Program::named(name);
        let all =
            ["iostack-engine", "iostack-engine long", "iostack-engine short", "iostack-stats"].map(program);
        let times = Times::from([
            ("iostack-engine".to_owned(), 50.0),
            ("iostack-engine long".to_owned(), 11.0),
            ("iostack-engine short".to_owned(), 10.0),
        ]);
        let chosen = choose(all.to_vec(), &["crates/engine/src/lib.rs".to_owned()], &times);
        let names = |list: &[Program]| list.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&chosen.now), ["iostack-engine", "iostack-engine short"]);
        assert_eq!(names(&chosen.later), ["iostack-engine long"]);
    }
}

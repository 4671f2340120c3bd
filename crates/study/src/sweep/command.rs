//! How is one point run alone?
//!
//! The command that is printed beside a point is the whole truth about it: device, changed numbers, jobs, options. Run by
//! itself it gives the same bytes.

use std::path::PathBuf;

use iostack_model::Outcome;
use iostack_model::quoted;
use iostack_target::Targets;

use super::pool::{RunWindow, Task};
use crate::what_if::steady;

/// Parts of a command.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// Paths of job files.
    pub jobs: &'a [PathBuf],
    /// Sections of them.
    pub sections: &'a [String],
    /// The device; one of the lab's begins with `lab:`.
    pub device: &'a str,
    /// Its changed numbers.
    pub changes: &'a [(String, String)],
    /// Options of the jobs, by our names.
    pub options: &'a [(String, String)],
}

/// `iostack run --on sim:DEVICE ...`, or `--on lab:DEVICE`.
pub fn of(parts: &Parts<'_>, targets: &dyn Targets) -> String {
    let mut words = vec!["iostack".to_owned(), "run".to_owned()];
    words.extend(parts.jobs.iter().map(|path| quoted(&path.display().to_string())));
    words.push("--on".to_owned());
    words.push(quoted(&targets.word(parts.device)));
    for section in parts.sections {
        words.push("--section".to_owned());
        words.push(quoted(section));
    }
    for change in parts.changes {
        let [flag, value] = targets.flag(change);
        words.extend([flag, quoted(&value)]);
    }
    words.join(" ") + &flags(parts.options)
}

/// The command of a task that was run in a window of ours, with it.
pub fn in_window(command: String, task: &Task, outcome: Option<&Outcome>) -> String {
    match outcome {
        Some(outcome) if task.window != RunWindow::Own => command + &flags(&steady::window(&outcome.job)),
        _ => command,
    }
}

fn flags(options: &[(String, String)]) -> String {
    let words = options
        .iter()
        .flat_map(|(name, value)| [" --".to_owned(), name.replace('_', "-"), " ".to_owned(), quoted(value)]);
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let parts = Parts {
            jobs: &["my jobs.fio".into()],
            sections: &["it's".to_owned()],
            device: "tlc-1t",
            changes: &[pair("flash.over_provisioning", "28%")],
            options: &[pair("queue_depth", "4"), pair("name", "")],
        };
        let command = of(&parts, &iostack_sim::targets::Simulations);
        assert_eq!(
            command,
            "iostack run 'my jobs.fio' --on sim:tlc-1t --section 'it'\\''s' --set flash.over_provisioning=28% \
             --queue-depth 4 --name ''"
        );
    }
}

//! Exit codes: 0 done, 1 found a problem, 2 could not do it.

use std::process::ExitCode;

/// How a command that ran ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Done.
    Done,
    /// Done, and something is wrong with what was looked at.
    FoundProblem,
}

/// Prints an error as one clear line with its causes, and turns the result into the exit code.
pub(crate) fn code(result: anyhow::Result<Ended>) -> ExitCode {
    match result {
        Ok(Ended::Done) => ExitCode::SUCCESS,
        Ok(Ended::FoundProblem) => ExitCode::from(1),
        Err(error) => {
            eprintln!("iostack: {error:#}");
            ExitCode::from(2)
        }
    }
}

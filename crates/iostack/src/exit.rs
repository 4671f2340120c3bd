//! Exit codes: 0 done, 1 found a problem, 2 could not do it.
//!
//! A command that SIGINT, SIGTERM or SIGHUP ended early prints what it has, and could not do what was asked: 2,
//! whatever it found until then. A second signal ends it at once, with 130.

use std::process::ExitCode;
use std::sync::atomic::Ordering;

use crate::talk;

/// Ending of a command that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Done,
    /// Done, and something is wrong with what was looked at.
    FoundProblem,
}

/// Prints each error as one clear line with its causes, and turns the result into the exit code.
pub(crate) fn code(result: &anyhow::Result<Ended>) -> ExitCode {
    code_or(result, 2)
}

/// True after a signal to end.
pub(crate) fn is_interrupted() -> bool {
    iostack_host::signals::stop_flag().load(Ordering::Relaxed)
}

/// The same, with an exit code of its own for what was ended early and told.
pub(crate) fn code_or(result: &anyhow::Result<Ended>, ended_early: u8) -> ExitCode {
    let interrupted = is_interrupted();
    let lost = talk::lost();
    if let Err(error) = result {
        eprintln!("iostack: {error:#}");
    } else if interrupted {
        eprintln!("iostack: interrupted; what is printed is of the part that was done");
    }
    if let Some(error) = &lost {
        eprintln!("iostack: cannot write the result to standard output: {error}");
    }
    match result {
        Ok(_) if lost.is_some() => ExitCode::from(2),
        Ok(_) if interrupted => ExitCode::from(ended_early),
        Ok(Ended::Done) => ExitCode::SUCCESS,
        Ok(Ended::FoundProblem) => ExitCode::from(1),
        Err(_) => ExitCode::from(2),
    }
}

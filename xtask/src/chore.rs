//! What came of one chore, and how it is said in one line.

use std::fmt;

use anyhow::{Result, ensure};

use crate::finding::Finding;

/// Outcome of one chore.
pub(crate) enum Finished {
    /// Nothing to complain about; what was looked at.
    Passed(String),
    /// Something must change.
    Failed(Vec<Finding>),
    /// A tool of somebody else's refused; its own words say where.
    Refused {
        /// Summary in one line, with what to do.
        summary: String,
        /// The tool's words.
        details: String,
    },
    /// Could not be done here, and why.
    Skipped(String),
}

impl Finished {
    pub(crate) fn refused(summary: impl Into<String>, details: impl Into<String>) -> Finished {
        Finished::Refused { summary: summary.into(), details: details.into() }
    }

    /// Prints the line of a chore. One that broke down has failed: it saw nothing.
    pub(crate) fn told(name: &str, result: Result<Finished>) -> Finished {
        let finished =
            result.unwrap_or_else(|error| Finished::refused(format!("could not look: {error:#}"), ""));
        println!("{name:<13} {finished}");
        finished
    }

    /// True unless something must change.
    pub(crate) fn is_fine(&self) -> bool {
        matches!(self, Finished::Passed(_) | Finished::Skipped(_))
    }
}

/// One line; findings, when there are any, below it.
impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finished::Passed(seen) => write!(f, "ok       {seen}"),
            Finished::Skipped(why) => write!(f, "skipped  {why}"),
            Finished::Refused { summary, details } => write!(f, "FAILED   {summary}\n{}", details.trim_end()),
            Finished::Failed(findings) => {
                write!(f, "FAILED   {} to change", findings.len())?;
                findings.iter().try_for_each(|finding| write!(f, "\n  {finding}"))
            }
        }
    }
}

/// Refuses words of a command line that are not `known`.
pub(crate) fn only(arguments: &[String], known: &[&str]) -> Result<()> {
    let odd = arguments.iter().find(|word| !known.contains(&word.as_str()));
    ensure!(
        odd.is_none(),
        "`{}` is not known here; there are {}",
        odd.map_or("", |word| word),
        known.join(", ")
    );
    Ok(())
}

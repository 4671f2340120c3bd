//! How many passed, failed and were skipped, over everything that ran.

use std::fmt;
use std::fmt::Write as _;

use crate::chore::Finished;

/// The sum; displayed as the plain closing line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Tests that held.
    pub(crate) passed: u64,
    /// Names of those that did not.
    pub(crate) failed: Vec<String>,
    /// Those that could not run here.
    pub(crate) skipped: Vec<Skip>,
}

/// A test that did not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Skip {
    /// Its full name.
    pub(crate) name: String,
    /// Its reason, in its own words.
    pub(crate) why: String,
}

impl Skip {
    /// Made of any two texts.
    pub(crate) fn new(name: impl Into<String>, why: impl Into<String>) -> Skip {
        Skip { name: name.into(), why: why.into() }
    }
}

impl Tally {
    /// Lines of what was skipped and what failed, for the end of the output.
    pub(crate) fn notes(&self) -> String {
        let mut text = String::new();
        for skip in &self.skipped {
            writeln!(text, "skipped  {}: {}", skip.name, skip.why).expect("a String takes everything");
        }
        for name in &self.failed {
            writeln!(text, "FAILED   {name}").expect("a String takes everything");
        }
        text
    }

    /// Adds chores, by name.
    pub(crate) fn count(&mut self, chores: Vec<(String, Finished)>) {
        for (name, finished) in chores {
            match finished {
                Finished::Passed(_) => self.passed += 1,
                Finished::Failed(_) | Finished::Refused { .. } => self.failed.push(name),
                Finished::Skipped(why) => self.skipped.push(Skip::new(name, why)),
            }
        }
    }

    /// Adds another sum.
    pub(crate) fn absorb(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed.extend(other.failed);
        self.skipped.extend(other.skipped);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed.len(), self.skipped.len())
    }
}

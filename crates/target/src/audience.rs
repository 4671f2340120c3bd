//! Who hears of a run, and may end it?

use std::sync::atomic::AtomicBool;

use iostack_model::{Nanos, OutcomeFile, Progress};

/// Listener to a run, which may end it.
pub trait Audience: Sync {
    /// Set, it ends the run early with the outcome so far.
    fn stop(&self) -> &AtomicBool;

    /// Somebody looks at [`Audience::progress`].
    fn watches(&self) -> bool {
        false
    }

    /// Tells the progress of the run.
    fn progress(&self, _: &Progress) {}

    /// Tells the outcomes so far, where [`Wanted::status`] asks; jobs that are still to begin with nothing.
    fn status(&self, _: &OutcomeFile) {}

    /// The flag that is set when somebody asks what came of it so far; it is told then, where the target can.
    fn asked(&self) -> Option<&AtomicBool> {
        None
    }

    /// A new step of a longer work began: its title, since when all goes on, and how long in all.
    fn step(&self, _title: &str, _elapsed: Nanos, _whole: Nanos) {}

    /// One measurement of a step began: what it is part of, which it is, since when all goes on, and how long in all.
    fn point(&self, _series: &str, _label: &str, _elapsed: Nanos, _whole: Nanos) {}

    /// Tells the present act, in place of what was said so before.
    fn live(&self, _: &str) {}

    /// Nothing is done at present.
    fn clear(&self) {}

    /// Something worth knowing.
    fn say(&self, _: &str) {}

    /// Something to worry about.
    fn warn(&self, _: &str) {}
}

/// A flag alone ends a run, and nobody hears of it.
impl Audience for AtomicBool {
    fn stop(&self) -> &AtomicBool {
        self
    }
}

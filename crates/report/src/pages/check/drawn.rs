//! What the section of a step is made from, and of.

use iostack_model::Outcome;
use iostack_model::answers::{Check, Step};

use crate::document::{Drawn as Captioned, Table};

/// Plots of one step share what was counted.
pub(super) type Plots = Vec<Captioned>;

/// What a drawing needs to know.
pub(super) struct Drawn<'a> {
    pub(super) check: &'a Check,
    pub(super) step: &'a Step,
}

/// What stands in the section of a step.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) table: Option<Table>,
    pub(super) plots: Plots,
}

/// All outcomes of a step.
pub(super) fn all<'a>(drawn: &Drawn<'a>) -> Vec<&'a Outcome> {
    drawn.step.points.iter().map(|point| &point.outcome).collect()
}

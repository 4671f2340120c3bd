//! What is told of every simulation in the same words?

use iostack_model::{Caveat, Limiting, Outcome};

use crate::document::Document;
use crate::text::format::or_dash;

impl Document {
    /// Notes what concerns every figure of simulated outcomes: whose numbers these are, and what is left out.
    pub(super) fn simulated<'a>(&mut self, outcomes: impl Iterator<Item = &'a Outcome>, place: &str) {
        let caveats = outcomes.flat_map(|outcome| &outcome.caveats);
        self.of_all = self.doubts.note(caveats.filter(|caveat| is_of_all(caveat)), place);
    }
}

fn is_of_all(caveat: &Caveat) -> bool {
    matches!(caveat, Caveat::Simulated { .. } | Caveat::NotSimulated { .. } | Caveat::StateByFormula { .. })
}

/// The doubts of this outcome alone, where no percentile beyond the 99th is shown.
pub(super) fn own(outcome: &Outcome) -> impl Iterator<Item = &Caveat> {
    let beyond =
        |caveat: &Caveat| matches!(caveat, Caveat::FewSamples { percentile, .. } if *percentile > 99.0);
    outcome.caveats.iter().filter(move |caveat| !is_of_all(caveat) && !beyond(caveat))
}

/// The resource with its busy share.
pub(super) fn named(limit: &Limiting) -> String {
    format!("{} {:.0} %", limit.name, limit.busy * 100.0)
}

/// `die 99 %`.
pub(super) fn limit(outcome: &Outcome) -> String {
    let limit = outcome.inside.as_ref().and_then(|inside| inside.limit.as_ref());
    or_dash(limit, named)
}

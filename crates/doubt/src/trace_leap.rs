//! A line of a trace comes so long after the one before it that its time stamp is doubtful.

use iostack_model::Caveat;

use crate::{Doubt, PLAIN, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "trace_leap",
    how: "a line of a replayed trace comes a day or more after the one before it; the worst one is named",
    weight: Weight::Skewed,
    changes: "Rates are means over a time that may not have been.",
    remedy: "Mend its time stamp if it is wrong, or replay with --replay-speed max, which reads none.",
    says: |caveat| {
        let Caveat::TraceLeap { line, after } = caveat else { return None };
        Some(format!(
            "Line {line} of the trace comes {:.1} days after the one before it.",
            after.as_secs_f64() / 86_400.0
        ))
    },
    ..PLAIN
};

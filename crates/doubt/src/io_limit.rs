//! A control group limits the I/O of this process.

use iostack_model::Caveat;

use crate::{Doubt, PLAIN, Scope, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "io_limit",
    how: "`io.max` or `blkio.throttle.*` of our cgroup",
    scope: Scope::Machine,
    weight: Weight::Wrong,
    changes: "Figures may be the limit's, not the device's.",
    remedy: "The figures are the limit's, not the device's.",
    says: |caveat| {
        let Caveat::IoLimit { line } = caveat else { return None };
        Some(format!("A cgroup limits this process: {line}."))
    },
    of_run: Some(|_, evidence| of_limit(evidence.io_limit.as_deref())),
    ..PLAIN
};

/// The line that limits, where there is one.
pub fn of_limit(line: Option<&str>) -> Option<Caveat> {
    Some(Caveat::IoLimit { line: line?.to_owned() })
}

//! A control group limits the I/O of this process.

use iostack_model::{Caveat, Outcome};

use crate::{Doubt, Evidence, PLAIN, Scope, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "io_limit",
    how: "`io.max` or `blkio.throttle.*` of our cgroup",
    scope: Scope::Machine,
    weight: Weight::Wrong,
    changes: "Figures may be the limit's, not the device's.",
    remedy: "The figures are the limit's, not the device's.",
    says,
    of_run: Some(of_run),
    ..PLAIN
};

fn says(caveat: &Caveat) -> Option<String> {
    let Caveat::IoLimit { line } = caveat else { return None };
    Some(format!("A cgroup limits this process: {line}."))
}

fn of_run(_: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    of_limit(evidence.io_limit.as_deref())
}

/// The line that limits, where there is one.
pub fn of_limit(line: Option<&str>) -> Option<Caveat> {
    Some(Caveat::IoLimit { line: line?.to_owned() })
}

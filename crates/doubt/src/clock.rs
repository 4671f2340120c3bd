//! The clock may change its rate.

use iostack_model::{Caveat, Machine};

use crate::{Doubt, PLAIN, Scope, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "clock_not_invariant",
    how: "the processor's time-stamp counter is not constant and non-stop",
    scope: Scope::Machine,
    weight: Weight::Skewed,
    changes: "Times may be off by one factor.",
    remedy: "Compare ratios only, or switch the clock source to tsc.",
    says: |caveat| {
        let Caveat::ClockNotInvariant { source } = caveat else { return None };
        Some(format!("The clock ({source}) may change its rate."))
    },
    of_run: Some(|_, evidence| Some(Caveat::ClockNotInvariant { source: evidence.clock_other.clone()? })),
    ..PLAIN
};

/// Doubt of the machine's clock, by what it says of it.
pub fn of_machine(machine: &Machine) -> Option<Caveat> {
    let source = machine.kernel.clock_source.clone();
    (!machine.cpu.tsc_invariant).then_some(Caveat::ClockNotInvariant { source })
}

//! Did machine and neighbours leave the run alone?

use iostack_model::{Caveat, Machine, Outcome};

use crate::Evidence;

/// The clock may change its rate, by what the machine says of it.
pub fn clock_not_invariant(machine: &Machine) -> Option<Caveat> {
    let source = machine.kernel.clock_source.clone();
    (!machine.cpu.tsc_invariant).then_some(Caveat::ClockNotInvariant { source })
}

/// A control group limits I/O by this line.
pub fn io_limit(line: Option<&str>) -> Option<Caveat> {
    Some(Caveat::IoLimit { line: line?.to_owned() })
}

/// Share of all CPU time above which the hypervisor's part matters.
pub(crate) const STEAL_MOST: f64 = 0.01;

/// The hypervisor took this share of all CPU time.
pub fn steal(share: f64) -> Option<Caveat> {
    (share > STEAL_MOST).then_some(Caveat::Steal { share })
}

/// Share of all CPU time above which others' part matters in one run; many runs stray less, and half of it matters.
pub(crate) const FOREIGN_CPU_MOST: f64 = 0.10;

pub(crate) fn foreign_cpu(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let share = outcome.cpu.foreign;
    (share > FOREIGN_CPU_MOST).then_some(Caveat::ForeignCpu { share })
}

/// Other programs took this share of all CPU time, on the mean over many runs.
pub fn foreign_cpu_of_many(share: f64) -> Option<Caveat> {
    (share > FOREIGN_CPU_MOST / 2.0).then_some(Caveat::ForeignCpu { share })
}

//! What does each command tell?
//!
//! One file a command: a pure function from its figures to a [`Document`].

mod ab;
mod ab_words;
mod attribution;
mod calibrate;
mod check;
mod comparison;
mod history;
pub(crate) mod inside;
pub(crate) mod iocost;
mod iolat;
pub(crate) mod job_words;
mod ladder;
pub(crate) mod layers;
mod manual;
mod merge;
mod numbers;
mod path_costs;
mod predicted;
mod probe;
mod repro;
mod run;
mod served;
mod show;
mod simulated;
pub(crate) mod stages;
mod sweep;
#[cfg(test)]
pub(crate) mod tests;
mod validated;
mod watch;
mod watch_groups;
mod what_if;
mod what_if_list;

pub use ab::ab;
pub use attribution::attribution;
pub use calibrate::calibrate;
pub use check::check;
pub(crate) use check::rate_of;
pub use comparison::comparison;
pub use history::history;
pub use iocost::{CostDetail, budgets, iocost};
pub use iolat::iolat;
pub use ladder::ladder;
pub use manual::{figure_file, manual};
pub use merge::merge;
pub use probe::probe;
pub(crate) use repro::figure;
pub use repro::repro;
pub use run::run;
pub use served::{live_served, served};
pub use show::{claims, show};
pub use sweep::sweep;
pub(crate) use watch::cause_of_wait;
pub use watch::{live_watch, watch, why};
pub use what_if::{what_if, what_ifs_markdown};
pub use what_if_list::what_if_list;

use iostack_model::{Machine, Storage, TargetKind, TargetName};

use crate::document::{Block, Document, Section, To};
use crate::html::inventory;
use crate::html::numbers::date;
use crate::text::machine::{devices, host};
use iostack_model::quoted;

impl Document {
    /// Adds a section of the page: when, on which machine, and the way of an I/O to each storage.
    fn inventory(&mut self, unix_ms: u64, machine: &Machine, on: &[(&Storage, &TargetName)]) {
        // The lab has a machine, and no date.
        if unix_ms > 0 {
            self.origin.insert(0, date(unix_ms));
        }
        let rate = match machine.cpu.tsc_hz {
            0 => String::new(),
            hz => format!(" {:.2} GHz", hz as f64 / 1e9),
        };
        let (clock, cpu, kernel) =
            (&machine.kernel.clock_source, &machine.cpu.model, &machine.kernel.release);
        self.conditions = format!("clock {clock}{rate}; {cpu}, Linux {kernel}");
        let mut section = Section::new("inventory", "Inventory", "What was measured on");
        let fact = |(name, value): (&str, String)| (To::Page, Block::Fact(name.to_owned(), value));
        section.blocks.extend(inventory::machine(machine).into_iter().map(fact));
        if !machine.kernel.mitigations.is_empty() {
            let mut all = Section::default();
            for (name, state) in &machine.kernel.mitigations {
                all.fact(name, state);
            }
            section.page(Block::Fold(format!("CPU mitigations ({})", machine.kernel.mitigations.len()), all));
        }
        for (index, (storage, target)) in on.iter().enumerate() {
            if index > 0 && on[..index].iter().any(|(_, other)| other == target) {
                continue;
            }
            section.page(Block::Heading(format!("The way of an I/O to {target}")));
            section.page(Block::Ready(inventory::chain(storage, target)));
        }
        self.sections.push(section);
    }

    /// Adds when, by which version and on which machine it was measured: two lines of a screen, a section of a page.
    fn measured_on(&mut self, unix_ms: u64, machine: &Machine, on: &[(&Storage, &TargetName)]) {
        // A simulated machine has no date, no clock and no inventory: its sheet says what it is made of.
        if machine.kernel.release.is_empty() {
            self.conditions.clone_from(&machine.cpu.model);
        } else {
            self.inventory(unix_ms, machine, on);
        }
        let said: Vec<String> = on.iter().map(|(storage, _)| devices(storage)).collect();
        let alike = said.windows(2).all(|pair| pair[0] == pair[1]);
        for (device, (_, target)) in said.into_iter().zip(on).take(if alike { 1 } else { on.len() }) {
            let told = if alike { device } else { format!("of {target}: {device}") };
            self.head.to(To::Screen, Block::Fact("device".to_owned(), told));
        }
        self.head.to(To::Screen, Block::Fact("host".to_owned(), host(machine)));
    }
}

/// A target as a command takes it.
fn typed(target: &TargetName) -> String {
    match target.kind {
        TargetKind::Sim | TargetKind::Lab => quoted(&target.to_string()),
        TargetKind::Directory | TargetKind::File | TargetKind::Block => {
            quoted(&target.path.display().to_string())
        }
    }
}

/// Explanation of how each kind of figure comes about.
const METHOD: &str = "Every I/O is timed, from submission to completion, into a histogram of 64 buckets to \
the octave: a percentile is at most 1/128 off for that reason. Rates carry the 95 % interval of the mean over time \
slices, percentiles one from order statistics. A percentile is shown only when ten I/Os lie beyond it. CPU time is \
that of the generator's threads, user and system, with the kernel workers that served them. MB and GB are powers of \
1000, KiB and MiB of 1024.";

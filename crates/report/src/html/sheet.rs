//! What does every section of a page share?
//!
//! The figures that `plot.js` will want, the doubts that were met, and the conditions that each caption repeats.

use iostack_model::{Caveat, Inside, Machine, Nanos, Outcome, OutcomeFile};

use super::doubts::Doubts;
use super::escape;
use super::numbers::{Quantity, grouped};
use super::plot::Plot;

/// The page while it is being written.
pub(super) struct Sheet {
    /// `"id": {...}` of each plot.
    pub(super) plots: Vec<String>,
    /// All caveats met.
    pub(super) doubts: Doubts,
    /// Clock and machine in a few words; HTML.
    conditions: String,
}

impl Sheet {
    pub(super) fn new(machine: &Machine) -> Sheet {
        let rate = match machine.cpu.tsc_hz {
            0 => String::new(),
            hz => format!(" {:.2} GHz", hz as f64 / 1e9),
        };
        let conditions = format!(
            "clock {}{rate}; {}, Linux {}",
            escape::text(&machine.kernel.clock_source),
            escape::text(&machine.cpu.model),
            escape::text(&machine.kernel.release)
        );
        Sheet { plots: Vec::new(), doubts: Doubts::default(), conditions }
    }

    /// A sheet of the outcomes of a run: of a machine, or of a simulation.
    pub(super) fn of(file: &OutcomeFile) -> Sheet {
        match file.outcomes.first().and_then(|outcome| outcome.inside.as_ref()) {
            Some(inside) => Sheet::simulated(inside),
            None => Sheet::new(&file.machine),
        }
    }

    fn simulated(inside: &Inside) -> Sheet {
        let device = escape::text(&inside.device);
        Sheet {
            conditions: format!("simulated: {device}, seed {}, virtual time", inside.seed),
            ..Sheet::bare()
        }
    }

    /// A sheet of figures whose machine is not known.
    pub(super) fn bare() -> Sheet {
        Sheet { plots: Vec::new(), doubts: Doubts::default(), conditions: String::new() }
    }

    /// What was measured, by which clock, on which machine; HTML.
    pub(super) fn note(&self, measured: &str) -> String {
        if self.conditions.is_empty() {
            format!("{measured}.")
        } else {
            format!("{measured}; {}.", self.conditions)
        }
    }

    /// The plot as a figure, or a sentence when it has no points.
    pub(super) fn figure(&mut self, plot: &Plot) -> String {
        if !plot.has_points() {
            return format!(
                "<figure class=\"plot empty\"><h4>{}</h4><p>Nothing was measured that could be drawn here.</p></figure>\n",
                escape::text(&plot.heading)
            );
        }
        let id = format!("plot-{}", self.plots.len() + 1);
        self.plots.push(format!("\"{id}\":{}", plot.json()));
        plot.figure(&id)
    }

    /// Caption of a figure: what was counted, how sure it is, by which clock, on which machine, and its doubts.
    pub(super) fn caption(&mut self, outcomes: &[&Outcome], interval: &str) -> String {
        let ios: u64 = outcomes.iter().map(|outcome| outcome.ios()).sum();
        let elapsed = outcomes.iter().fold(Nanos(0), |sum, outcome| sum + outcome.elapsed);
        let caveats: Vec<Caveat> = outcomes.iter().flat_map(|outcome| outcome.caveats.clone()).collect();
        let doubts = self.doubts.refer(&caveats);
        let measured = match outcomes.len() {
            1 => format!("{} I/Os in {}", grouped(ios), span(elapsed)),
            count => format!("{} I/Os in {count} measurements, {} in all", grouped(ios), span(elapsed)),
        };
        let doubts = if doubts.is_empty() {
            doubts
        } else {
            format!(" <span class=\"doubts\">Doubts {doubts}</span>")
        };
        format!("{measured}; {interval}; {}.{doubts}", self.conditions)
    }
}

/// A wall time in words: `84.2 s`.
pub(super) fn span(time: Nanos) -> String {
    Quantity::Nanos.show(time.0 as f64)
}

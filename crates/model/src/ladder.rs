//! What may be measured here?
//!
//! Each rung needs the one below it. What a user may not do lowers the rung, never the truth of a figure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    /// A step of the ladder.
    #[derive(PartialOrd, Ord, Hash)]
    #[serde(rename_all = "snake_case")]
    pub enum Rung {
        /// `/proc` and `/sys` alone.
        Counters = "counters",
        /// Kernel samples of one's own processes.
        OwnSamples = "own samples",
        /// Samples of the whole machine: other processes, kernel threads, interrupts.
        AllSamples = "all samples",
        /// BPF: stages, exact totals.
        Tracing = "tracing",
        /// The performance-monitoring unit: cycles and instructions.
        Hardware = "hardware",
    }
}

impl Rung {
    /// Its number, from 0.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Insight that the rung gives.
    pub const fn gives(self) -> &'static str {
        match self {
            Rung::Counters => "throughput, latency, CPU time of the load; device counters",
            Rung::OwnSamples => "clocks by kernel layer, of one's own processes",
            Rung::AllSamples => "clocks by kernel layer of any process, kernel threads and interrupts too",
            Rung::Tracing => "latency by stage; exact totals of clocks",
            Rung::Hardware => "cycles and instructions",
        }
    }
}

/// One rung on this machine, for this user.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RungState {
    /// Rung that was tried.
    pub rung: Rung,
    /// It was tried and works.
    pub reached: bool,
    /// Finding: how it was tried, or why it does not work.
    pub reason: String,
    /// The command that lifts it; `None` when reached, or when nothing can.
    pub remedy: Option<String>,
}

/// The whole ladder. A rung can be had without one between (a container may have BPF and no samples), so each is
/// tried on its own.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Ladder {
    /// Rungs from the lowest.
    pub rungs: Vec<RungState>,
    /// Other facts that matter (kernel symbols, lockdown, BTF, steal): a name and what was found.
    pub facts: Vec<(String, String)>,
}

impl Ladder {
    /// True when a rung was tried and works.
    pub fn has(&self, rung: Rung) -> bool {
        self.rungs.iter().any(|state| state.rung == rung && state.reached)
    }

    /// The highest rung below which all are reached.
    pub fn reached(&self) -> Option<&RungState> {
        self.rungs.iter().take_while(|state| state.reached).last()
    }

    /// The first rung that is not reached.
    pub fn missing(&self) -> Option<&RungState> {
        self.rungs.iter().find(|state| !state.reached)
    }
}

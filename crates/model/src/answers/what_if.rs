//! What would a change give, and where does the limit go then?
use crate::Outcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A simulated target before and after one change or several, each on top of those before it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WhatIf {
    /// Version of the JSON layout, [`crate::SCHEMA`].
    #[serde(deserialize_with = "crate::schema")]
    pub schema: u32,
    /// Version of iostack that made it.
    pub iostack: String,
    /// The target, as typed behind `sim:`.
    pub device: String,
    /// Title in a few words.
    pub title: String,
    /// The improvement it stands for, when it is one of those with a name.
    pub named: Option<WhatIfNamed>,
    /// Seed of every run.
    pub seed: u64,
    /// State as it is, then after each change.
    pub steps: Vec<WhatIfStep>,
    /// It was cut short.
    pub interrupted: bool,
}

/// An improvement that a document calls for.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WhatIfNamed {
    /// Name of the change, like `interrupt-grouping`.
    pub id: String,
    /// Title of the change, in a few words.
    pub title: String,
    /// The document that calls for it, and the place.
    pub source: String,
    /// Note for the reader of the result.
    pub note: String,
}

/// One run: the first as it is, each other one change further.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WhatIfStep {
    /// `before`, or the changes as typed.
    pub name: String,
    /// Numbers that differ from the step before; none in the first.
    pub changes: Vec<WhatIfChange>,
    /// Runs it alone.
    pub command: String,
    /// The figures of its table; `None` when it failed or was not run.
    pub figures: Option<WhatIfFigures>,
    /// The last group of jobs, which is the one that is compared.
    pub outcome: Option<Outcome>,
    /// Error that ended the step.
    pub error: Option<String>,
}

/// A number, or an option of the job, before and after.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WhatIfChange {
    /// Key of the number, like `platform.adapter.adapter.command` or `queue_depth`.
    pub key: String,
    /// Old value as it is written; empty where it was not said.
    pub old: String,
    /// New value as it is written.
    pub new: String,
    /// Meaning of the number.
    pub meaning: String,
}

/// Figures that are compared.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WhatIfFigures {
    /// Number of I/Os that the figures rest on.
    pub ios: u64,
    /// I/Os per second, all directions.
    pub iops: f64,
    /// Bytes per second, all directions.
    pub bandwidth: f64,
    /// Mean latency, ns.
    pub latency_mean_ns: f64,
    /// 99th percentile, ns; `None` without I/O.
    pub latency_p99_ns: Option<u64>,
    /// Clocks of the host per I/O; `None` of a device alone.
    pub clocks_per_io: Option<f64>,
    /// Busy share of the cores, 0..=1; `None` of a device alone.
    pub core_busy: Option<f64>,
    /// Interrupts per I/O; `None` of a device alone.
    pub interrupts_per_io: Option<f64>,
    /// Pages written to flash per page the host wrote; `None` without writes.
    pub write_amplification: Option<f64>,
}

impl WhatIfFigures {
    /// Those of an outcome.
    pub fn of_outcome(outcome: &Outcome) -> WhatIfFigures {
        let latency = outcome.latency();
        let inside = outcome.inside.as_ref();
        let host = inside.and_then(|inside| inside.host.as_ref());
        let core = inside.and_then(|inside| inside.resources.iter().find(|each| each.name == CORE));
        let flash = inside.and_then(|inside| inside.flash.as_ref()).filter(|flash| flash.pages_host > 0);
        let ios = outcome.ios();
        WhatIfFigures {
            ios,
            iops: outcome.rate(),
            bandwidth: outcome.bandwidth(),
            latency_mean_ns: latency.mean_ns(),
            latency_p99_ns: latency.quantile_ns(0.99),
            clocks_per_io: host.map(|host| host.clocks_per_io),
            core_busy: host.and(core).map(|core| core.busy),
            interrupts_per_io: host.filter(|_| ios > 0).map(|host| host.interrupts as f64 / ios as f64),
            write_amplification: flash.map(|flash| flash.write_amplification),
        }
    }
}

/// The name of the cores among the resources of a host.
const CORE: &str = "core";

impl WhatIf {
    /// The run without a change; there is one always.
    pub fn before(&self) -> Option<&WhatIfStep> {
        self.steps.first()
    }

    /// True when every run gave what was asked for.
    pub fn is_whole(&self) -> bool {
        !self.interrupted && self.steps.iter().all(|step| step.outcome.is_some())
    }
}

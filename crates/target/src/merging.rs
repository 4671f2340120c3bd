//! What does a bench of the merge library ask of a place, and what does it find? Plain data.

use iostack_model::answers::{MergeAsk, MergeRound};
use iostack_model::{Bins, Caveat, Direction, Nanos};
use serde::{Deserialize, Serialize};

/// Form in which a cell asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MergeHow {
    /// Each thread waits for one request at a time, by the cell's policy.
    Calls,
    /// Each thread does a group one call after the other.
    Loop,
    /// Each thread does a group as one batch.
    Many,
    /// Coroutines on few threads, each of which waits for one request at a time.
    Scope,
}

/// One cell to be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergePlanned {
    /// The table that it stands in.
    pub ask: MergeAsk,
    /// Name of the policy, or of what takes its place.
    pub policy: String,
    /// Form of its calls.
    pub how: MergeHow,
    /// Callers, or requests in a group.
    pub column: u32,
    /// Threads that ask.
    pub threads: u32,
}

/// Request for a bench of the merge library on a place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MergeAsked {
    /// All cells; each is measured once a round.
    pub cells: Vec<MergePlanned>,
    /// Rounds over all cells.
    pub rounds: u32,
    /// Wall time of one cell in one round.
    pub slice: Nanos,
    /// Time that a cell takes beside its slice.
    pub overhead: Nanos,
    /// Sizes of commands that are timed, in requests.
    pub sizes: Vec<u32>,
    /// Rounds over these sizes.
    pub fit_rounds: u32,
    /// Wall time of one size in one round.
    pub fit_slice: Nanos,
    /// Reads or writes.
    pub direction: Direction,
    /// Bytes of a request.
    pub request: u64,
    /// Each sector of the place says where it belongs.
    pub stamped: bool,
    /// Reproduces offsets and content.
    pub seed: u64,
}

/// One round over the sizes: requests of a command, the median time of commands, ns, and how many there were.
pub type MergeFitRound = Vec<(u32, f64, u64)>;

/// One round of one cell.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MergeMeasured {
    /// Rate, CPU time and switches.
    pub round: MergeRound,
    /// Time of each call.
    pub latency: Bins,
    /// Errors of the round, one sentence each.
    pub failures: Vec<String>,
}

/// Result of a bench of the merge library.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MergeFound {
    /// Rounds over the sizes.
    pub fit: Vec<MergeFitRound>,
    /// Errors in them, one sentence each.
    pub fit_failures: Vec<String>,
    /// Rounds of each cell, in the order of [`MergeAsked::cells`].
    pub cells: Vec<Vec<MergeMeasured>>,
    /// Kernel workers that took I/O from rings, and their CPU time.
    pub workers: (u32, Nanos),
    /// Time for which CPUs were busy meanwhile, all together.
    pub busy: Nanos,
    /// Share of all CPUs' time that the hypervisor took, 0..=1.
    pub steal_share: f64,
    /// Interface that carries batches.
    pub backend: String,
    /// Policy that `auto` comes to, and why.
    pub auto: String,
    /// Time that it took, by the place's clock.
    pub elapsed: Nanos,
    /// It was cut short.
    pub interrupted: bool,
    /// Doubts of the place's own.
    pub caveats: Vec<Caveat>,
}

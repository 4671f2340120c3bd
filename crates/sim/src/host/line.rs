//! What waits for an interrupt?

use crate::engine::RequestId;

/// A source of interrupts: an adapter, or a queue of one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// Came since the handler looked last.
    pub(crate) pending: Vec<RequestId>,
    /// Being handled.
    pub(crate) batch: Vec<RequestId>,
    /// The handler runs, or waits to.
    pub(crate) raised: bool,
    pub(crate) core: u32,
}

/// What came of all lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count {
    pub(crate) interrupts: u64,
    pub(crate) completions: u64,
}

//! In what is a figure counted?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The unit of a figure, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub enum Unit {
    /// I/Os or writes per second.
    #[serde(rename = "/s")]
    PerSecond,
    /// Bytes per second.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// Time in nanoseconds.
    #[serde(rename = "ns")]
    Nanos,
    /// I/Os in flight, which have none.
    #[serde(rename = "")]
    Count,
}

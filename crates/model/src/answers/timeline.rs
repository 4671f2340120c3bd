//! Where was one request, and when?
//!
//! A simulation can keep every stretch of the way of single requests. The stretches of one request follow each other
//! without gap; those of its parts (the pages of a large request) may overlap.
use crate::{Nanos, Stage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One stretch of one request's way.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TimelineSpan {
    /// The request, counted from 0 in the order of the starts.
    pub request: u64,
    /// `read`, `write`, `trim` or `flush`.
    pub direction: String,
    /// First byte of the request on the device.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u32,
    /// Name of a part of the device, such as `die 3`, or of the stage where no part is known.
    pub part: String,
    /// Stage that the request was in.
    pub stage: Stage,
    /// Begin, in virtual time.
    pub begin: Nanos,
    /// End of the span, since the start of the request.
    pub end: Nanos,
}

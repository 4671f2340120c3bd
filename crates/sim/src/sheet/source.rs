//! Why should a number be believed?

/// Source of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A document says so: its short name and the place in it.
    Cited(String),
    /// Chosen so that a claim of the same file holds: its name.
    Fitted(String),
    /// Nobody says so: why it is likely.
    Assumed(String),
    /// Changed for this run.
    Changed,
    /// The usual value of the kind, since the file is silent.
    Default,
}

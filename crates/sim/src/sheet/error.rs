//! What is wrong with a sheet? Everything at once, each with its place and what to do.

use iostack_workload::suggest;

/// A sheet cannot be used as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{place}: {what}; {remedy}")]
pub struct SheetError {
    /// File and line, or the name of the device.
    pub place: String,
    /// Words that were typed, and what is wrong with them.
    pub what: String,
    /// Remedy: the thing to do.
    pub remedy: String,
}

/// Remedy for a misspelt word: the known one that is like it, or nothing.
pub(crate) fn did_you_mean<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> String {
    suggest(typed, known).map_or(String::new(), |near| format!("did you mean `{near}`? "))
}

/// All that is wrong with a sheet, in the order of its lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct SheetErrors {
    /// One problem or more.
    pub problems: Vec<SheetError>,
}

impl SheetErrors {
    /// The first problem, for whoever says only one.
    pub fn into_first(self) -> SheetError {
        self.problems.into_iter().next().expect("errors are made of at least one problem")
    }
}

impl From<SheetError> for SheetErrors {
    fn from(error: SheetError) -> SheetErrors {
        SheetErrors { problems: vec![error] }
    }
}

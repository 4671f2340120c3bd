//! What answers a job.

use std::fmt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

words! {
    /// Kind of thing that a path turned out to be.
    #[derive(Default)]
    #[serde(rename_all = "lowercase")]
    pub enum TargetKind {
        /// A directory: files are made in it.
        Directory = "directory",
        /// A regular file.
        #[default]
        File = "file",
        /// A block device.
        Block = "block",
        /// A simulated device; the path is its name, or that of the file that describes it.
        Sim = "sim",
        /// A device of the lab machine, under its real driver; the path is its name.
        Lab = "lab",
    }
}

/// Name of a target, and what it is. Printed as `file:PATH`, `block:PATH`, `directory:PATH`, `sim:NAME`, `lab:NAME`.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TargetName {
    /// Kind of the target.
    pub kind: TargetKind,
    /// Absolute path; of a simulated device or one of the lab its name.
    #[serde(serialize_with = "as_shown")]
    pub path: PathBuf,
}

/// A path may hold any bytes, JSON only text: what is none is shown as `\u{fffd}`.
pub(crate) fn as_shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

impl fmt::Display for TargetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.path.display())
    }
}

//! What is done to names of files instead of reading and writing: fio's engines for file systems.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// System call that asks for a file's attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatCall {
    /// stat, which follows links.
    #[default]
    Stat,
    /// lstat, which does not.
    Lstat,
    /// statx of the name without links.
    Statx,
}

/// Act of one I/O on the name of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameAct {
    /// Makes an empty file.
    Create,
    /// Opens a file.
    Open,
    /// Asks for a file's attributes.
    Stat(StatCall),
    /// Removes a file.
    Delete,
    /// Makes a directory.
    MakeDirectory,
    /// Asks for a directory's attributes.
    StatDirectory(StatCall),
    /// Removes an empty directory.
    RemoveDirectory,
}

impl NameAct {
    /// Each act, with fio's name of the engine that does it.
    const NAMES: [(NameAct, &str); 7] = [
        (NameAct::Create, "filecreate"),
        (NameAct::Open, "fileopen"),
        (NameAct::Stat(StatCall::Stat), "filestat"),
        (NameAct::Delete, "filedelete"),
        (NameAct::MakeDirectory, "dircreate"),
        (NameAct::StatDirectory(StatCall::Stat), "dirstat"),
        (NameAct::RemoveDirectory, "dirdelete"),
    ];

    /// Name that fio gives the engine that does it.
    pub fn name(self) -> &'static str {
        let alike = |act: &NameAct| std::mem::discriminant(act) == std::mem::discriminant(&self);
        NameAct::NAMES.iter().find(|(act, _)| alike(act)).map_or("", |(_, name)| name)
    }

    /// The act of this name.
    pub fn named(name: &str) -> Option<NameAct> {
        NameAct::NAMES.iter().find(|(_, known)| *known == name).map(|(act, _)| *act)
    }

    /// True when names are there afterwards as before.
    pub const fn looks_only(self) -> bool {
        matches!(self, NameAct::Open | NameAct::Stat(_) | NameAct::StatDirectory(_))
    }

    /// True when it makes what must not be there.
    pub const fn makes(self) -> bool {
        matches!(self, NameAct::Create | NameAct::MakeDirectory)
    }

    /// True when it is done to directories.
    pub const fn of_directories(self) -> bool {
        matches!(self, NameAct::MakeDirectory | NameAct::StatDirectory(_) | NameAct::RemoveDirectory)
    }
}

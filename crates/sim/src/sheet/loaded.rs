//! What is known about a device? Its numbers, by name, each with its unit and its source.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::sheet::claim::Claim;
use crate::sheet::parameter::DeviceKind;
use crate::sheet::source::Source;

/// A device's numbers.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Name of the device, as in `sim:NAME`.
    pub name: String,
    /// Kind of the device.
    pub kind: &'static DeviceKind,
    /// Title in a few words.
    pub title: String,
    /// Description in sentences.
    pub about: String,
    /// Year of its sale, or that it is typical of.
    pub year: Option<u32>,
    /// Origin of its numbers: `built in`, or the path of the file.
    pub origin: String,
    /// Numbers that were changed: key and value, as typed.
    pub changed: Vec<(String, String)>,
    /// Documents that its numbers cite: short name and the whole title.
    pub sources: Vec<(String, String)>,
    /// Claims that it must meet.
    pub claims: Vec<Claim>,
    pub(crate) values: BTreeMap<String, Value>,
    pub(crate) members: BTreeMap<String, Sheet>,
    pub(crate) folder: Folder,
}

/// A number as the file gives it.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) text: String,
    pub(crate) source: Source,
    /// File and line.
    pub(crate) place: String,
}

/// Folder in which relative names of files begin.
pub(crate) type Folder = Option<PathBuf>;

#[cfg(test)]
impl Sheet {
    /// A sheet that is built in, changed.
    pub(crate) fn changed(name: &str, changes: &[(&str, &str)]) -> Sheet {
        let typed: Vec<_> = changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        Sheet::load(name, &typed).unwrap_or_else(|errors| panic!("{errors}"))
    }
}

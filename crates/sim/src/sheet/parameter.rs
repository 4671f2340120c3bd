//! What may a sheet say of a kind of device? A table of parameters: key, unit, usual value, meaning. One line each.

use serde::{Deserialize, Deserializer};

/// Unit in which a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// A time, like `25us`.
    Time,
    /// A size, like `16KiB`.
    Bytes,
    /// Bytes per second, like `800MB/s`.
    Rate,
    /// A share, like `7%`.
    Share,
    /// A count, like `8`.
    Count,
    /// A rate of events, like `3000/s`.
    PerSecond,
    /// A number without unit, like `1.5`.
    Number,
    /// Points, like `1:2ms 100:3.5ms`: rising counts, each with what is there.
    Points,
    /// One of these words.
    Word(#[serde(deserialize_with = "list")] &'static [&'static str]),
    /// The name of another sheet, or the path of its file: of this kind, or, without one, any drive.
    Device(#[serde(deserialize_with = "kind_or_drive")] Option<&'static str>),
}

/// A number that a kind of device has.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Table and key in the file, like `flash.read`.
    pub key: &'static str,
    /// Unit of the number.
    pub unit: Unit,
    /// Value when the file does not say it; `None` when it must. `none`: the device does not have it.
    pub default: Option<&'static str>,
    /// Meaning in one line.
    pub meaning: &'static str,
    /// Another key of the kind and the values with which alone this number means anything; `!` before a value: all others.
    /// Its own key with `!` before its usual value: usually, devices have no such thing, as with `none`.
    #[serde(default, deserialize_with = "some_list")]
    pub only: Option<&'static [&'static str]>,
}

/// A kind of device.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceKind {
    /// Name of the kind, as in `kind = "flash"` in the file.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// The numbers it has.
    #[serde(deserialize_with = "list")]
    pub parameters: &'static [Parameter],
}

/// A list that lives as long as the program: kinds are read once.
fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(list: D) -> Result<&'static [T], D::Error> {
    Ok(Vec::deserialize(list)?.leak())
}

fn some_list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    some: D,
) -> Result<Option<&'static [T]>, D::Error> {
    list(some).map(Some)
}

fn kind_or_drive<'de, D: Deserializer<'de>>(kind: D) -> Result<Option<&'static str>, D::Error> {
    let kind = String::deserialize(kind)?;
    Ok((kind != "drive").then(|| &*kind.leak()))
}

/// Kinds that are parts of platforms.
const PARTS: [&str; 4] = ["os", "adapter", "fs", "scheduler"];

impl DeviceKind {
    /// True for a part of a platform, which answers no I/O by itself.
    pub fn is_part(&self) -> bool {
        PARTS.contains(&self.name)
    }

    /// True for what may stand at the end of a platform or behind a controller.
    pub(crate) fn is_drive(&self) -> bool {
        !self.is_part() && self.name != "platform"
    }
}

//! What may a sheet say of a kind of device? A table of parameters: key, unit, usual value, meaning. One line each.

/// What a number is written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// `25us`
    Time,
    /// `16KiB`
    Bytes,
    /// `800MB/s`: bytes per second.
    Rate,
    /// `7%`
    Share,
    /// `8`
    Count,
    /// `3000/s`
    PerSecond,
    /// `1.5`
    Number,
    /// One of these words.
    Word(&'static [&'static str]),
    /// The name of another sheet, or the path of its file: of this kind, or, without one, any drive.
    Device(Option<&'static str>),
}

/// A number that a kind of device has.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// `flash.read`: table and key in the file.
    pub key: &'static str,
    /// How it is written.
    pub unit: Unit,
    /// What holds when the file does not say; `None` when it must. `none`: the device does not have it.
    pub default: Option<&'static str>,
    /// What it means, in one line.
    pub meaning: &'static str,
}

/// A kind of device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceKind {
    /// `kind = "flash"` in the file.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// The numbers it has.
    pub parameters: &'static [Parameter],
}

/// Kinds that are parts of platforms.
const PARTS: [&str; 4] = ["os", "adapter", "fs", "scheduler"];

impl DeviceKind {
    /// It is part of a platform, and answers no I/O by itself.
    pub fn is_part(&self) -> bool {
        PARTS.contains(&self.name)
    }

    /// It may stand at the end of a platform or behind a controller.
    pub(crate) fn is_drive(&self) -> bool {
        !self.is_part() && self.name != "platform"
    }
}

/// A number that the file must give.
pub(crate) const fn needs(key: &'static str, unit: Unit, meaning: &'static str) -> Parameter {
    Parameter { key, unit, default: None, meaning }
}

/// A number that is `default` when the file does not say; `none` when there is no such thing.
pub(crate) const fn with(
    key: &'static str,
    unit: Unit,
    default: &'static str,
    meaning: &'static str,
) -> Parameter {
    Parameter { key, unit, default: Some(default), meaning }
}

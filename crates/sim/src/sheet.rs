//! What is known about a device? Its numbers, by name, each with its unit and its source.

use std::collections::BTreeMap;

use iostack_model::{Bytes, Nanos};

use crate::devices::{self, DeviceKind};

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
    /// The name of another device, or the path of its file.
    Device,
}

/// A number that a kind of device has.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// `flash.read`: table and key in the file.
    pub key: &'static str,
    /// How it is written.
    pub unit: Unit,
    /// What holds when the file does not say; `None` when it must.
    pub default: Option<&'static str>,
    /// What it means, in one line.
    pub meaning: &'static str,
}

/// A sheet cannot be used as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}; {remedy}")]
pub struct SheetError {
    /// File and line, or the name of the device.
    pub place: String,
    /// What was typed and what is wrong with it.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

/// A device's numbers.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Its name, as in `sim:NAME`.
    pub name: String,
    /// Its kind.
    pub kind: &'static DeviceKind,
    values: BTreeMap<String, String>,
}

impl Sheet {
    /// A sheet of numbers without sources, for tests and parts of other devices.
    pub fn of(kind: &str, values: &[(&str, &str)]) -> Result<Sheet, SheetError> {
        let found = devices::KINDS.iter().find(|each| each.name == kind);
        let Some(kind) = found else {
            return Err(SheetError {
                place: kind.into(),
                what: "no such kind".into(),
                remedy: "see the guide".into(),
            });
        };
        let values = values.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        Ok(Sheet { name: kind.name.to_owned(), kind, values })
    }

    fn text(&self, key: &str) -> Result<&str, SheetError> {
        let parameter = self.kind.parameters.iter().find(|parameter| parameter.key == key);
        let parameter = parameter.unwrap_or_else(|| panic!("`{key}` is in no table of parameters"));
        match self.values.get(key) {
            Some(value) => Ok(value),
            None => parameter.default.ok_or_else(|| self.refuse(key, "it is missing", "add it")),
        }
    }

    /// An error about `key`: what is wrong with its value, and what to do.
    pub fn refuse(&self, key: &str, what: &str, remedy: &str) -> SheetError {
        let what = format!("`{key} = {}`: {what}", self.values.get(key).map_or("", |value| value));
        SheetError { place: self.name.clone(), what, remedy: remedy.to_owned() }
    }

    /// True when the file (or `--set`) gives it, or it has a default that is not `none`.
    pub fn has(&self, key: &str) -> bool {
        self.text(key).is_ok_and(|text| text != "none")
    }

    /// A [`Unit::Time`].
    pub fn time(&self, key: &str) -> Result<Nanos, SheetError> {
        self.text(key)?.parse().map_err(|_| self.refuse(key, "not a time", "write it like 25us"))
    }

    /// A [`Unit::Bytes`].
    pub fn bytes(&self, key: &str) -> Result<Bytes, SheetError> {
        self.text(key)?.parse().map_err(|_| self.refuse(key, "not a size", "write it like 16KiB"))
    }

    /// A [`Unit::Rate`], bytes per second.
    pub fn rate(&self, key: &str) -> Result<f64, SheetError> {
        let bytes = self.text(key)?.strip_suffix("/s").and_then(|text| text.parse::<Bytes>().ok());
        bytes
            .map(|bytes| bytes.0 as f64)
            .ok_or_else(|| self.refuse(key, "not a rate", "write it like 800MB/s"))
    }

    /// A [`Unit::Share`], 1.0 for `100%`.
    pub fn share(&self, key: &str) -> Result<f64, SheetError> {
        let value = self.text(key)?.strip_suffix('%').and_then(|text| text.trim().parse::<f64>().ok());
        value.map(|value| value / 100.0).ok_or_else(|| self.refuse(key, "not a share", "write it like 7%"))
    }

    /// A [`Unit::Count`].
    pub fn count(&self, key: &str) -> Result<u64, SheetError> {
        self.text(key)?.parse().map_err(|_| self.refuse(key, "not a count", "write it like 8"))
    }

    /// A [`Unit::PerSecond`].
    pub fn per_second(&self, key: &str) -> Result<f64, SheetError> {
        let value = self.text(key)?.strip_suffix("/s").and_then(|text| text.parse::<f64>().ok());
        value.ok_or_else(|| self.refuse(key, "not a rate", "write it like 3000/s"))
    }

    /// A [`Unit::Number`].
    pub fn number(&self, key: &str) -> Result<f64, SheetError> {
        self.text(key)?.parse().map_err(|_| self.refuse(key, "not a number", "write it like 1.5"))
    }

    /// A [`Unit::Word`]: one of the words of the table of parameters.
    pub fn word(&self, key: &str) -> Result<&str, SheetError> {
        self.text(key)
    }

    /// The sheet of a [`Unit::Device`].
    pub fn device(&self, key: &str) -> Result<Sheet, SheetError> {
        let name = self.text(key)?;
        Err(self.refuse(key, &format!("no device `{name}`"), "see iostack sim list"))
    }
}

//! What does a part read from a sheet? Every number was checked when the sheet was made, so these fail only where a
//! number that must be given is missing.

use iostack_model::{Bytes, Nanos};

use crate::sheet::error::SheetError;
use crate::sheet::loaded::Sheet;
use crate::sheet::value;

/// A time, ns, and 0, or 0 and a count.
type TimeOrCount = (u64, u64);

impl Sheet {
    fn text(&self, key: &str) -> Result<&str, SheetError> {
        let parameter = self.kind.parameters.iter().find(|parameter| parameter.key == key);
        let parameter = parameter.unwrap_or_else(|| panic!("`{key}` is in no table of parameters"));
        match self.values.get(key) {
            Some(value) => Ok(&value.text),
            None => parameter.default.ok_or_else(|| SheetError {
                place: self.name.clone(),
                what: format!("`{key}` is missing"),
                remedy: format!("add it: {}", parameter.meaning),
            }),
        }
    }

    /// The number as `read` reads its text.
    pub(crate) fn read<T>(
        &self,
        key: &str,
        read: impl Fn(&str) -> Result<T, value::Unreadable>,
    ) -> Result<T, SheetError> {
        read(self.text(key)?).map_err(|wrong| self.refuse(key, &wrong.what, &wrong.remedy))
    }

    /// An error about `key`: what is wrong with its value, and what to do.
    pub fn refuse(&self, key: &str, what: &str, remedy: &str) -> SheetError {
        let place = self.values.get(key).map_or(&self.name, |value| &value.place).clone();
        let text = self.text(key).unwrap_or("");
        SheetError { place, what: format!("`{key} = {text}`: {what}"), remedy: remedy.to_owned() }
    }

    /// True when the device has it: the file (or `--set`) gives it, or its default does, and it is not `none`.
    pub fn has(&self, key: &str) -> bool {
        self.text(key).is_ok_and(|text| text != "none")
    }

    /// Value of a [`crate::sheet::Unit::Time`].
    pub fn time(&self, key: &str) -> Result<Nanos, SheetError> {
        self.read(key, value::time)
    }

    /// Value of a [`crate::sheet::Unit::Bytes`].
    pub fn bytes(&self, key: &str) -> Result<Bytes, SheetError> {
        self.read(key, value::bytes)
    }

    /// A [`crate::sheet::Unit::Rate`], bytes per second.
    pub fn rate(&self, key: &str) -> Result<f64, SheetError> {
        self.read(key, value::rate)
    }

    /// A [`crate::sheet::Unit::Share`], 1.0 for `100%`.
    pub fn share(&self, key: &str) -> Result<f64, SheetError> {
        self.read(key, value::share)
    }

    /// Value of a [`crate::sheet::Unit::Count`].
    pub fn count(&self, key: &str) -> Result<u64, SheetError> {
        self.read(key, value::count)
    }

    /// A [`crate::sheet::Unit::Points`] of times, ns.
    pub(crate) fn times(&self, key: &str) -> Result<Vec<(u64, u64)>, SheetError> {
        self.read(key, |text| value::points(text, |time| value::time(time).map(|time| time.0)))
    }

    /// A [`crate::sheet::Unit::Points`] of counts.
    pub(crate) fn counts(&self, key: &str) -> Result<Vec<(u64, u64)>, SheetError> {
        self.read(key, |text| value::points(text, value::count))
    }

    /// A [`crate::sheet::Unit::Points`] of times (ns, 0) or counts (0, count).
    pub(crate) fn times_or_counts(&self, key: &str) -> Result<Vec<(u64, TimeOrCount)>, SheetError> {
        let either = |text: &str| {
            value::count(text)
                .map_or_else(|_| value::time(text).map(|time| (time.0, 0)), |count| Ok((0, count)))
        };
        self.read(key, |text| value::points(text, either))
    }

    /// Value of a [`crate::sheet::Unit::PerSecond`].
    pub fn per_second(&self, key: &str) -> Result<f64, SheetError> {
        self.read(key, value::per_second)
    }

    /// Value of a [`crate::sheet::Unit::Number`].
    pub fn number(&self, key: &str) -> Result<f64, SheetError> {
        self.read(key, value::number)
    }

    /// A [`crate::sheet::Unit::Word`]: one of the words of the table of parameters.
    pub fn word(&self, key: &str) -> Result<&str, SheetError> {
        self.text(key)
    }

    /// The sheet of a [`crate::sheet::Unit::Device`].
    pub fn device(&self, key: &str) -> Result<Sheet, SheetError> {
        self.text(key)?;
        let member = self.members.get(key).cloned();
        member.ok_or_else(|| self.refuse(key, "there is none", "name a device of `iostack sim list`"))
    }
}

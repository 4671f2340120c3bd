//! How are numbers of a sheet checked that a part is made of?

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::sheet::{Sheet, SheetError};

/// A count within a range.
pub(crate) fn count_within(sheet: &Sheet, key: &str, least: u64, most: u64) -> Result<u64, SheetError> {
    let count = sheet.count(key)?;
    if (least..=most).contains(&count) {
        return Ok(count);
    }
    Err(sheet.refuse(key, &format!("it is not within {least} and {most}"), "write a count in this range"))
}

/// Commands that a device takes at once; any number when the sheet has none.
pub(crate) fn queue_depth(sheet: &Sheet, key: &str) -> Result<u64, SheetError> {
    if sheet.has(key) { count_within(sheet, key, 1, 1 << 20) } else { Ok(u64::MAX) }
}

/// A size that is not 0 and a multiple of `unit`.
pub(crate) fn whole_bytes(sheet: &Sheet, key: &str, unit: u64) -> Result<u64, SheetError> {
    let bytes = sheet.bytes(key)?.0;
    if bytes > 0 && bytes.is_multiple_of(unit) {
        return Ok(bytes);
    }
    let what =
        if bytes == 0 { "it is nothing".to_owned() } else { format!("it is not a multiple of {unit} bytes") };
    Err(sheet.refuse(key, &what, &format!("write one that is, such as {unit}B")))
}

/// A time, ns; `otherwise` when the sheet has none.
pub(crate) fn time_or(sheet: &Sheet, key: &str, otherwise: u64) -> Result<u64, SheetError> {
    if sheet.has(key) { Ok(sheet.time(key)?.0) } else { Ok(otherwise) }
}

/// The variant that is named as the sheet's word.
pub(crate) fn variant<T: DeserializeOwned>(sheet: &Sheet, key: &str) -> Result<T, SheetError> {
    let word = sheet.word(key)?;
    Ok(serde_json::from_value(word.into()).expect("each word of the kind has a variant"))
}

/// A rate, which tells how long bytes take.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(from = "f64")]
pub(crate) struct Pace {
    bytes_per_second: f64,
    /// ns of [`USUAL`].
    usual: u64,
}

/// The size that nearly all requests have: its time is known beforehand.
const USUAL: u64 = 4096;

impl From<f64> for Pace {
    fn from(bytes_per_second: f64) -> Pace {
        let mut pace = Pace { bytes_per_second, usual: 0 };
        pace.usual = pace.time_of(USUAL);
        pace
    }
}

impl Pace {
    /// The rate that the sheet gives.
    pub(crate) fn from_sheet(sheet: &Sheet, key: &str) -> Result<Pace, SheetError> {
        sheet.rate(key).map(Pace::from)
    }

    /// The rate that the sheet gives, or none where there is no limit.
    pub(crate) fn limit_from_sheet(sheet: &Sheet, key: &str) -> Result<Option<Pace>, SheetError> {
        sheet.has(key).then(|| Pace::from_sheet(sheet, key)).transpose()
    }

    /// ns that `bytes` take, rounded once.
    #[inline]
    pub(crate) fn time(self, bytes: u64) -> u64 {
        if bytes == USUAL { self.usual } else { self.time_of(bytes) }
    }

    fn time_of(self, bytes: u64) -> u64 {
        (bytes as f64 * 1e9 / self.bytes_per_second).round() as u64
    }
}

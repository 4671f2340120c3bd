//! How does a part read its numbers? By name: each field of its struct is a key of the sheet's kind.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::sheet::{Parameter, Sheet, SheetError, Unit, value};

/// Numbers of a sheet as a struct with fields named as keys, `slice` for `os.slice`. Times are ns, rates bytes per second;
/// `yes` and `no` are true and false; what the device does not have is `None`.
pub(crate) fn numbers_of<T: DeserializeOwned>(sheet: &Sheet) -> Result<T, SheetError> {
    clocks_of(sheet, 1.0)
}

/// The same of a sheet whose plain numbers are instructions, at so many clocks each.
pub(crate) fn clocks_of<T: DeserializeOwned>(sheet: &Sheet, cpi: f64) -> Result<T, SheetError> {
    let mut fields = Map::new();
    for Parameter { key, unit, default, .. } in sheet.kind.parameters {
        let is_absent = default.is_some() && !sheet.has(key);
        let mut value =
            if is_absent { Value::Null } else { sheet.read(key, |text| value::read(*unit, text))? };
        if let (Unit::Number, Some(number)) = (unit, value.as_f64()) {
            value = (number * cpi).into();
        }
        fields.insert(key.rsplit('.').next().unwrap_or(key).to_owned(), value);
    }
    Ok(serde_json::from_value(fields.into()).expect("each field is a key of the kind, of its unit"))
}

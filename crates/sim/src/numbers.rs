//! How does a part read its numbers? By name: each field of its struct is a key of the sheet's kind.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::sheet::{Sheet, SheetError, Unit};

/// Numbers of a sheet as a struct with fields named as keys, `slice` for `os.slice`. Times are ns, rates bytes per second;
/// `yes` and `no` are true and false; what the device does not have is `None`.
pub(crate) fn numbers_of<T: DeserializeOwned>(sheet: &Sheet) -> Result<T, SheetError> {
    let mut fields = Map::new();
    for parameter in sheet.kind.parameters {
        let key = parameter.key;
        let value: Value = match parameter.unit {
            _ if parameter.default.is_some() && !sheet.has(key) => Value::Null,
            Unit::Device(_) => continue,
            Unit::Time => sheet.time(key)?.0.into(),
            Unit::Bytes => sheet.bytes(key)?.0.into(),
            Unit::Count => sheet.count(key)?.into(),
            Unit::Rate => sheet.rate(key)?.into(),
            Unit::Share => sheet.share(key)?.into(),
            Unit::PerSecond => sheet.per_second(key)?.into(),
            Unit::Number => sheet.number(key)?.into(),
            Unit::Word(["no", "yes"]) => (sheet.word(key)? == "yes").into(),
            Unit::Word(_) => sheet.word(key)?.into(),
        };
        let field = key.rsplit('.').next().unwrap_or(key);
        fields.insert(field.to_owned(), value);
    }
    Ok(serde_json::from_value(fields.into()).expect("each field is a key of the kind, of its unit"))
}

//! How is a table of parameters written? One line each.

use crate::sheet::{Parameter, Unit};

/// A number that the file must give.
pub(super) const fn needs(key: &'static str, unit: Unit, meaning: &'static str) -> Parameter {
    Parameter { key, unit, default: None, meaning }
}

/// A number that is `default` when the file does not say; `none` when there is no such thing.
pub(super) const fn with(
    key: &'static str,
    unit: Unit,
    default: &'static str,
    meaning: &'static str,
) -> Parameter {
    Parameter { key, unit, default: Some(default), meaning }
}

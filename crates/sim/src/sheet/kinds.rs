//! Which kinds of device are there? Those of `kinds.toml`; a new kind adds a table there, and a part in `crate::devices`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::sheet::parameter::DeviceKind;

/// All kinds of devices and of parts of platforms.
pub static KINDS: LazyLock<Vec<DeviceKind>> = LazyLock::new(|| {
    let text = include_str!("kinds.toml");
    let mut file: BTreeMap<&str, Vec<DeviceKind>> =
        toml::from_str(text).expect("a test reads what is built in");
    file.remove("kind").unwrap_or_default()
});

/// Words that the parameter `key` may be.
#[cfg(test)]
pub(crate) fn words_of(key: &str) -> &'static [&'static str] {
    let mut parameters = KINDS.iter().flat_map(|kind| kind.parameters);
    match parameters.find(|parameter| parameter.key == key).map(|parameter| parameter.unit) {
        Some(crate::sheet::Unit::Word(words)) => words,
        other => panic!("`{key}` is {other:?}, not a word"),
    }
}

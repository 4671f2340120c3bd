//! What holds with which of our schemas?

use std::process::Command;

use serde_json::Value;

/// What `iostack schema` says of a command's JSON.
pub(crate) fn schema(command: &str) -> Value {
    let mut asked = Command::new(env!("CARGO_BIN_EXE_iostack"));
    let output = asked.arg("schema").args(command.split_whitespace()).output().expect("the binary was built");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{command}: {error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Holds what was printed to the schema of `command`.
pub(crate) fn holds(command: &str, printed: &Value, typed: &str) {
    let found = iostack_testkit::schema::faults(&schema(command), printed);
    assert!(found.is_empty(), "{typed}: {found:#?}");
}

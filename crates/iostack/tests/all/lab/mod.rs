//! Does the lab do what it says, and do our drivers keep what they are given? Each test boots a machine, one at a time.
//!
//! What the lab fetches stays in the user's cache. Where it cannot be had, the tests skip aloud.

mod anyones;
mod bisect;
mod checks;
mod costs;
mod crash;
mod drivers;
mod errors;
mod kernels;
mod left_behind;
mod matrix;
mod programs;
mod sheets;
mod simulated;
mod snapshots;
mod stages;

use serde_json::Value;

use crate::shared::{heard, holds, iostack, said};

/// JSON of a command that ends with `exit`, held to a schema; the kernel must not complain.
fn answered(schema: &str, command: &[&str], exit: i32) -> Value {
    let output = iostack(command);
    assert_eq!(output.status.code(), Some(exit), "{command:?}: {}", heard(&output));
    assert!(!said(&output).contains("complained"), "{command:?}: {}", said(&output));
    let value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{command:?}: {error}: {}", heard(&output)));
    holds(schema, &value, &command.join(" "));
    value
}

/// Outcome of the first job of a run.
fn outcome(command: &[&str]) -> Value {
    answered("run", command, 0)["outcomes"][0].clone()
}

//! Every crash point: is a missing flush found, and made small, and is nothing said of who has them all?

use std::process::Output;

use serde_json::Value;

use crate::shared::{holds, iostack, root, said};
use crate::turn::{LabTurn, turn_or_skip};

/// Crash points of a program of `jobs/programs` on ext4.
fn crash(_turn: &LabTurn, with: &[&str], names: [&str; 2], points: &[&str], command: &[&str]) -> Output {
    let files = names.map(|name| root().join("jobs/programs").join(name).display().to_string());
    let copies: Vec<&str> = files.iter().flat_map(|file| ["--copy", file]).collect();
    let check = format!("sh {}", names[1]);
    let typed = ["lab", "exec", "--on", "sim:x25e", "--file-system", "ext4", "--json", "--check", &check];
    iostack(&[&typed[..], with, points, &copies, &["--", "sh", names[0]], command].concat())
}

fn told(output: &Output, exit: i32) -> Value {
    assert_eq!(output.status.code(), Some(exit), "{}", said(output));
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON alone");
    holds("serve", &told, "lab exec --crash-points");
    println!("{}", told["crash"]);
    told["crash"].clone()
}

const JOURNAL: [&str; 2] = ["journal.sh", "journal-check.sh"];
const SQLITE: [&str; 2] = ["sqlite.sh", "sqlite-check.sh"];

#[test]
#[ignore = "slow: two minutes"]
fn a_journal_with_a_missing_flush_is_found_by_its_smallest_set_and_one_with_all_is_not() {
    let turn = turn_or_skip!(
        "a_journal_with_a_missing_flush_is_found_by_its_smallest_set_and_one_with_all_is_not",
        "6.1"
    );
    let found = told(&crash(&turn, &[], JOURNAL, &["--crash-points", "1000"], &[]), 1);
    let failed = &found["failed"];
    let lost = failed["lost"].as_array().map(Vec::as_slice).unwrap_or_default();
    assert_eq!(lost.len(), 1, "a balance in the journal is enough: {found}");
    let what = lost[0]["what"].as_str().unwrap_or_default();
    assert!(what.starts_with("bank, sector "), "it is of the journal's file: {what}");
    // The same again, alone.
    let point = failed["point"].as_str().unwrap_or_default();
    let again = told(&crash(&turn, &[], JOURNAL, &["--crash-point", point], &[]), 1);
    assert_eq!((&again["failed"]["lost"], &again["checked"]), (&failed["lost"], &Value::from(1)));
    assert_eq!(again["failed"]["said"], failed["said"]);
    let none = told(&crash(&turn, &[], JOURNAL, &["--crash-points", "1000"], &["fsync"]), 0);
    assert!(none["failed"].is_null() && none["checked"].as_u64() >= Some(200), "{none}");
}

#[test]
#[ignore = "slow: minutes"]
fn sqlite_that_does_not_flush_is_found_and_one_that_does_is_not() {
    let turn = turn_or_skip!("sqlite_that_does_not_flush_is_found_and_one_that_does_is_not", "6.1");
    let with = ["--with", "sqlite3"];
    let found = told(&crash(&turn, &with, SQLITE, &["--crash-points", "500"], &["OFF", "20"]), 1);
    assert!(found["failed"]["code"] == 1, "{found}");
    let none = told(&crash(&turn, &with, SQLITE, &["--crash-points", "300"], &["FULL", "20"]), 0);
    assert!(none["failed"].is_null() && none["checked"].as_u64() >= Some(50), "{none}");
}

//! Without privileges: refused, with the command that lifts it.

use std::process::Command;

use iostack_attribute::stages::{StageTrace, Subject};
use iostack_model::{Ladder, Storage};

#[test]
fn an_ordinary_user_is_refused_and_told_what_lifts_it() {
    let test = "an_ordinary_user_is_refused_and_told_what_lifts_it";
    let own = std::env::current_exe().expect("a test has a program");
    let words = ["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"];
    let run = Command::new("setpriv")
        .args(words)
        .arg(own)
        .args(["--ignored", "--exact", "stages::refused::attaches_as_whoever_runs_it", "--nocapture"])
        .output();
    let said = match run {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        _ => {
            println!("SKIPPED {test}: cannot run as another user");
            return;
        }
    };
    assert!(said.contains("REFUSED") && said.contains("setcap cap_perfmon,cap_bpf"), "{said}");
}

#[test]
#[ignore = "helper: run as an ordinary user by the test above"]
fn attaches_as_whoever_runs_it() {
    match StageTrace::attach(&Subject::Load, &Storage::default(), &Ladder::default()) {
        Ok(_) => println!("ATTACHED"),
        Err(error) => println!("REFUSED {error}: {}", error.remedy().unwrap_or("no remedy")),
    }
}

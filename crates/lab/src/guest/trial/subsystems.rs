//! Does the device keep what it is given while its I/O subsystem is changed?

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::asked::{Findings, Trial};
use super::crew::{churn, each, gathered, lanes};
use super::lane::{Lane, TrialDisk};
use crate::guest::Ready;
use crate::guest::near_side::failed;

/// Time that a subsystem serves: a few hundred I/Os.
const TURN: Duration = Duration::from_millis(20);

/// Random mixed I/O, while the subsystems take turns.
pub(super) fn subsystems(trial: &Trial, ready: &Ready) -> Result<Findings, String> {
    let path = format!("/sys/block/{}/tmerge/subsystem", ready.disk);
    let text = fs::read_to_string(&path).map_err(failed("read", &path))?;
    let names: Vec<&str> = text.split_whitespace().map(|name| name.trim_matches(['[', ']'])).collect();
    let device = TrialDisk::open(ready)?;
    let mut lanes = lanes(trial, &device)?;
    let done = AtomicBool::new(false);
    let changes = std::thread::scope(|scope| {
        let changer = scope.spawn(|| -> Result<u32, String> {
            let mut changes = 0;
            for name in names.iter().cycle() {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                fs::write(&path, name).map_err(failed(&format!("write {name} to"), &path))?;
                changes += 1;
                std::thread::sleep(TURN);
            }
            Ok(changes)
        });
        each(&mut lanes, Lane::fill);
        churn(trial, &mut lanes);
        done.store(true, Ordering::Relaxed);
        changer.join().expect("it does not panic")
    })?;
    each(&mut lanes, Lane::check_all);
    let mut findings = gathered(lanes);
    findings.cycles = changes;
    if changes < names.len() as u32 {
        findings.wrong.push(format!("only {changes} changes of the subsystem; try more bytes"));
    }
    Ok(findings)
}

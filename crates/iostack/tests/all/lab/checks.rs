//! A study of the lab: one boot, one job after another, the same figures each time.

use std::time::Duration;

use iostack_model::Caveat;
use iostack_model::answers::{Check, Iolat, MergeReport, StepKind};

use crate::shared::{Started, command, iostack, said};
use crate::turn::turn_or_skip;

const CHECK: [&str; 5] = ["check", "--quick", "--no-files", "--json", "--seed=7"];

fn answer(more: &[&str]) -> (Vec<u8>, String) {
    let output = iostack(&[&CHECK[..], more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    (output.stdout.clone(), said(&output))
}

fn read(data: &[u8]) -> Check {
    serde_json::from_slice(data).expect("--json gives a check")
}

#[test]
fn a_check_of_the_lab_asks_every_question_in_one_boot() {
    let _turn = turn_or_skip!("a_check_of_the_lab_asks_every_question_in_one_boot", "6.1");
    let (data, talk) = answer(&["lab:brd", "--size", "32m"]);
    assert_eq!(talk.matches("is up").count(), 1, "{talk}");
    let check = read(&data);
    assert_eq!((check.target.to_string().as_str(), check.started_unix_ms), ("lab:brd", 0));
    assert!(!check.interrupted && check.steps.iter().all(|step| !step.points.is_empty()), "{talk}");
    let points = || check.steps.iter().flat_map(|step| &step.points);
    assert!(points().all(|point| point.outcome.ios() > 0 && point.outcome.failures.is_empty()));
    // What goes on inside is looked at, in the guest.
    let places = check.steps.iter().find(|step| step.id == StepKind::Places).expect("asked");
    let seen = |point: &iostack_model::answers::Point| point.outcome.stages.is_some();
    assert!(places.points.iter().all(seen), "{:?}", places.note);
    // A read is work of the processor alone: its thread is busy, and so is the machine.
    let busy = |point: &iostack_model::answers::Point| point.outcome.cpu.machine_busy > 0.5;
    assert!(points().filter(|point| point.outcome.job.queue_depth == 32).all(busy));
    let is_told = |doubt: &Caveat| matches!(doubt, Caveat::Lab { .. });
    assert!(check.caveats.iter().any(is_told), "{:?}", check.caveats);
    assert!(!points().any(|point| point.outcome.caveats.iter().any(is_told)), "it is said once");
    assert!(
        check.verdict.advice.iter().all(|one| one.command.iter().all(|line| !line.contains("/dev/"))),
        "{:?}",
        check.verdict.advice
    );
}

#[test]
#[ignore = "slow: a boot"]
fn whether_merging_pays_is_measured_in_the_guest() {
    let _turn = turn_or_skip!("whether_merging_pays_is_measured_in_the_guest", "6.1");
    let output = iostack(&["merge", "lab:brd", "--quick", "--size", "16m", "--json", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let merge: MergeReport = serde_json::from_slice(&output.stdout).expect("--json gives what merge found");
    assert_eq!((merge.target.to_string().as_str(), merge.is_simulated()), ("lab:brd", false));
    let cells: Vec<_> = merge.tables.iter().flat_map(|table| &table.cells).collect();
    assert!(cells.len() > 20 && cells.iter().all(|cell| cell.ios > 0 && cell.failures.is_empty()));
    assert!(matches!(merge.caveats[0], Caveat::Lab { .. }), "{:?}", merge.caveats);
}

#[test]
#[ignore = "slow: two checks of a minute"]
fn the_same_check_of_a_simulated_drive_of_the_lab_gives_the_same_bytes() {
    let _turn = turn_or_skip!("the_same_check_of_a_simulated_drive_of_the_lab_gives_the_same_bytes", "6.1");
    let (first, _) = answer(&["lab:sim:x25e"]);
    assert!(first == answer(&["lab:sim:x25e"]).0, "two checks differ");
    let check = read(&first);
    // The drive itself says which part was full, beside what the kernel's figures say.
    let evidence = check.verdict.evidence.join("\n");
    assert!(evidence.contains("Inside, at the most of all ways"), "{evidence}");
    assert!(check.steps.iter().flat_map(|step| &step.points).all(|point| point.outcome.inside.is_some()));
}

#[test]
#[ignore = "slow: a boot"]
fn ctrl_c_gives_the_part_of_the_check_that_was_done() {
    let _turn = turn_or_skip!("ctrl_c_gives_the_part_of_the_check_that_was_done", "6.1");
    let run = Started::heard(&mut command(&[&CHECK[..], &["lab:sim:x25e"]].concat()));
    std::thread::sleep(Duration::from_secs(30));
    run.signal("-INT");
    let (code, data, talk) = run.end();
    assert_eq!(code, Some(2), "{talk}");
    let check = read(data.as_bytes());
    assert!(check.interrupted && check.steps.iter().any(|step| !step.points.is_empty()), "{talk}");
}

#[test]
#[ignore = "slow: a boot"]
fn the_tests_of_2008_run_on_a_file_system_of_the_lab() {
    let _turn = turn_or_skip!("the_tests_of_2008_run_on_a_file_system_of_the_lab", "6.1");
    let typed = "iolat lab:brd --file-system ext4 --runtime 100ms --size 16m --json --quiet";
    let output = iostack(&typed.split(' ').collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let iolat: Iolat = serde_json::from_slice(&output.stdout).expect("--json gives what iolat found");
    assert!(!iolat.tests.is_empty() && iolat.tests.iter().all(|test| test.ios > 0));
}

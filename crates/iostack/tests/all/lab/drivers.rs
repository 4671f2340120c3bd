//! Our drivers: right data under random mixed I/O, under errors, and after reloading; a clean kernel log.

use serde_json::Value;

use super::answered;
use crate::turn::turn_or_skip;

/// The findings of a `lab test` that must find nothing wrong, by trial.
fn clean(arguments: &[&str]) -> Vec<Value> {
    let all = [&["lab", "test", "--quiet", "--json"], arguments].concat();
    let tried = answered("lab test", &all, 0);
    let tried: Vec<Value> = tried.as_array().expect("a list of trials").clone();
    for one in &tried {
        let (found, trial) = (&one["findings"], &one["trial"]);
        let none = Value::Array(Vec::new());
        assert_eq!(one["clean"], true, "{trial}: {found}");
        assert_eq!((&found["wrong"], &found["complaints"]), (&none, &none), "{trial}");
        assert_eq!(found["wrong_sectors"], 0, "{trial}: {found}");
        println!("{all:?}: {one}");
    }
    tried
}

fn number(tried: &[Value], trial: &str, name: &str) -> u64 {
    let one = tried.iter().find(|one| one["trial"] == trial).expect("the trial was asked for");
    one["findings"][name].as_u64().expect("a count")
}

/// 32 MiB of random I/O, 20 cycles, and as much I/O with errors, each of which libata takes its time for.
fn quick(device: &str) {
    let on = [device, "--emulate", "--capacity-mib", "32"];
    let tried = clean(&[&on[..], &["--trial", "integrity", "--trial", "reload", "--bytes", "32m"]].concat());
    assert!(number(&tried, "integrity", "bytes") >= 32 << 20);
    assert!(number(&tried, "integrity", "reads") > 250);
    assert_eq!(number(&tried, "integrity", "errors"), 0);
    assert_eq!(number(&tried, "reload", "cycles"), 20);
    let faults: &[&str] = if device == "tmerge" { &[] } else { &["--trial", "faults"] };
    let tried = clean(&[&on[..], &["--trial", "refusals", "--bytes", "32m"], faults].concat());
    assert!(number(&tried, "refusals", "refused") > 20);
    assert_eq!(number(&tried, "refusals", "errors"), 0);
}

#[test]
fn scsi_ram_keeps_what_it_is_given() {
    let _turn = turn_or_skip!("scsi_ram_keeps_what_it_is_given", "6.1");
    quick("scsi_ram");
}

#[test]
fn ata_ram_keeps_what_it_is_given() {
    let _turn = turn_or_skip!("ata_ram_keeps_what_it_is_given", "6.1");
    quick("ata_ram");
}

#[test]
fn tmerge_keeps_what_it_is_given() {
    let _turn = turn_or_skip!("tmerge_keeps_what_it_is_given", "6.1");
    quick("tmerge");
}

#[test]
fn tmerge_keeps_what_it_is_given_while_its_subsystems_take_turns() {
    let _turn = turn_or_skip!("tmerge_keeps_what_it_is_given_while_its_subsystems_take_turns", "6.1");
    let hybrid = ["--set", "sysfs.tmerge/subsystem=hybrid", "--trial", "refusals"];
    let on = ["tmerge", "--emulate", "--capacity-mib", "32", "--bytes", "16m", "--cycles", "3"];
    let tried = clean(&[&on[..], &hybrid, &["--trial", "subsystems", "--trial", "reload"]].concat());
    assert!(number(&tried, "refusals", "refused") > 10);
    assert!(number(&tried, "subsystems", "cycles") > 5);
    assert_eq!(number(&tried, "subsystems", "errors"), 0);
}

#[test]
fn a_group_of_the_library_is_one_command_and_hybrid_gathers_those_who_come_back() {
    let _turn = turn_or_skip!("a_group_of_the_library_is_one_command", "6.1");
    let tried = clean(&["tmerge", "--trial", "merging"]);
    assert_eq!(number(&tried, "merging", "cycles"), 2 * 64);
    assert_eq!(number(&tried, "merging", "refused"), 1);
}

/// 1 GiB of I/O and 1,000 cycles, on four processors.
fn long(device: &str, kernel: &str) {
    let on = [device, "--kernel", kernel, "--processors", "4", "--time-limit", "3000"];
    clean(&[&on[..], &["--bytes", "1g", "--cycles", "1000"]].concat());
    if device != "tmerge" {
        clean(&[&on[..], &["--set", "inline_completion=1", "--seed", "2", "--cycles", "50"]].concat());
    }
}

macro_rules! long_tests {
    ($($name:ident $device:literal $kernel:literal)*) => {
        $(#[test]
        #[ignore = "slow: some ten minutes"]
        fn $name() {
            let _turn = turn_or_skip!("a long trial", $kernel);
            long($device, $kernel);
        })*
    };
}

long_tests! {
    scsi_ram_keeps_a_gibibyte_and_returns_a_thousand_times "scsi_ram" "6.1"
    ata_ram_keeps_a_gibibyte_and_returns_a_thousand_times "ata_ram" "6.1"
    tmerge_keeps_a_gibibyte_and_returns_a_thousand_times "tmerge" "6.1"
    scsi_ram_does_so_on_a_later_kernel "scsi_ram" "6.12"
    ata_ram_does_so_on_a_later_kernel "ata_ram" "6.12"
    tmerge_does_so_on_a_later_kernel "tmerge" "6.12"
}

//! Devices, kernels and processors in one table: what a kernel lacks is a skip, what does not compile a failure.

use std::fs;

use super::answered;
use crate::shared::{Room, iostack, printed, said};
use crate::turn::turn_or_skip;

/// A driver in a folder of its own, whose source is `text`.
fn driver(room: &Room, text: &str) -> String {
    let folder = room.folder("broken");
    fs::write(folder.join("Kbuild"), "obj-m := broken.o\n").expect("a folder of ours");
    fs::write(folder.join("broken.c"), text).expect("a folder of ours");
    folder.display().to_string()
}

#[test]
fn what_a_kernel_lacks_is_skipped_and_what_does_not_compile_fails() {
    let _turn = turn_or_skip!("what_a_kernel_lacks_is_skipped_and_what_does_not_compile_fails", "6.1");
    let room = Room::new("matrix");
    let folder = driver(&room, "no C\n");
    let [tap, junit] = ["tap", "xml"].map(|name| room.path(name));
    // Longer than a line, as a path may be.
    let absent = room.path(&"absent".repeat(14));
    let both = format!("6.1,{absent}");
    let asked = ["lab", "test", &folder, "--kernels", &both, "--cpus", "1", "--emulate", "--quiet"];
    let output = iostack(&[&asked[..], &["--tap", &tap, "--junit", &junit]].concat());
    let table = printed(&output);
    assert_eq!(output.status.code(), Some(1), "{table}{}", said(&output));
    assert!(table.contains("MATRIX  0 of 4 trials passed, 1 failed, 3 skipped"), "{table}");
    assert!(table.contains("cannot build the module broken") && table.contains("does not exist"), "{table}");
    let shown: Vec<&str> = table.lines().filter(|line| !line.contains('/')).collect();
    assert!(shown.len() >= 4 && shown.iter().all(|line| line.chars().count() <= 80), "{table}");
    assert!(table.contains("…entabsent"), "{table}");
    let tap = fs::read_to_string(tap).expect("it was written");
    assert!(tap.contains("\n1..4\nnot ok 1 - broken on Linux 6.1, 1 processor: integrity\n"), "{tap}");
    assert_eq!(tap.matches("# SKIP").count(), 3, "{tap}");
    let junit = fs::read_to_string(junit).expect("it was written");
    assert!(junit.contains("tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"3\""), "{junit}");
    // Nothing but skips is no success.
    let none = iostack(&["lab", "test", "brd", "scsi_ram", "--kernels", &absent, "--quiet", "--emulate"]);
    assert_eq!(none.status.code(), Some(2), "{}", said(&none));
    assert!(said(&none).contains("nothing could be tried"), "{}", said(&none));
}

#[test]
fn each_machine_that_there_is_does_its_trials() {
    let _turn = turn_or_skip!("each_machine_that_there_is_does_its_trials", "6.1");
    let few = ["--trial", "integrity", "--bytes", "1m", "--capacity-mib", "32", "--emulate", "--quiet"];
    let tried = answered(
        "lab test",
        &[&["lab", "test", "brd", "scsi_ram", "--processors", "1,1", "--json"], &few[..]].concat(),
        0,
    );
    let devices: Vec<_> = tried.as_array().expect("a list").iter().map(|one| &one["device"]).collect();
    assert_eq!(devices, ["brd", "scsi_ram"], "a machine that is asked for twice boots once");
}

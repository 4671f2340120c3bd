//! Our drivers cost what they did: exact counts held to a file, and the proof that a growth would be found.

use std::fs;
use std::path::{Path, PathBuf};

use super::answered;
use crate::shared::{Room, heard, iostack, refused};
use crate::turn::turn_or_skip;

const COSTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernel/costs.toml");
const SCSI_RAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernel/scsi_ram");

/// Instructions that the change adds: the target of the lab's issue.
const GROWTH: u64 = 20;

/// The driver's source with some instructions more in the function that each command begins in.
fn patched(folder: &Path) -> PathBuf {
    // Whose source it is is not told by the folder's name.
    let copy = folder.join("patched");
    fs::create_dir_all(&copy).expect("a fresh folder");
    for entry in fs::read_dir(SCSI_RAM).expect("the driver's folder").flatten() {
        fs::copy(entry.path(), copy.join(entry.file_name())).expect("a file of the driver");
    }
    let source = copy.join("scsi_ram.c");
    let text = fs::read_to_string(&source).expect("the driver's source");
    let function = text.find("scsi_ram_queuecommand(struct").expect("each command begins there");
    // The last declaration of the function ends at its first empty line.
    let body = function + text[function..].find("\n\n").expect("declarations, then code");
    let nops = format!("\n\tasm volatile(\".rept {GROWTH}; nop; .endr\");\n");
    fs::write(&source, format!("{}{nops}{}", &text[..body], &text[body..])).expect("our own copy");
    copy
}

#[test]
fn our_drivers_cost_no_more_than_they_did() {
    let _turn = turn_or_skip!("our drivers cost no more than they did", "6.1");
    let held = iostack(&["lab", "cost", "--assert", COSTS, "--quiet"]);
    assert!(held.status.success(), "{}", heard(&held));
}

#[test]
fn a_source_that_does_not_compile_holds_no_budget_whatever_its_folder_is_called() {
    let _turn = turn_or_skip!("a_source_that_does_not_compile_holds_no_budget", "6.1");
    let room = Room::new("costs-broken");
    let source = patched(&room.0);
    fs::write(source.join("scsi_ram.c"), "This is no C.\n").expect("our own copy");
    let source = source.display().to_string();
    let held = iostack(&["lab", "cost", "--assert", COSTS, "--source", &source, "--quiet"]);
    refused(&held, &["build the module scsi_ram", "scsi_ram.c:", "error:"]);
}

#[test]
fn an_io_does_not_pay_for_the_port_that_the_guest_talks_by() {
    let _turn = turn_or_skip!("an_io_does_not_pay_for_the_port", "6.1");
    let counted = iostack(&["lab", "cost", "brd", "--full", "--ios", "50", "--quiet"]);
    assert!(counted.status.success(), "{}", heard(&counted));
    // A process with an I/O bitmap returns to user space through it.
    assert!(heard(&counted).contains("syscall_exit_to_user_mode"), "{}", heard(&counted));
    assert!(!heard(&counted).contains("io_bitmap"), "{}", heard(&counted));
}

#[test]
#[ignore = "slow: two boots"]
fn what_the_lab_counts_holds_with_its_schema() {
    let _turn = turn_or_skip!("what_the_lab_counts_holds_with_its_schema", "6.1");
    let room = Room::new("costs-schema");
    let one = room.path("cost.json");
    let printed = |typed: &str, schema: &str| {
        let value = answered(schema, &typed.split(' ').collect::<Vec<_>>(), 0);
        fs::write(&one, value.to_string()).expect("our own folder");
    };
    printed("lab bench brd --quiet --json", "lab bench");
    printed("lab cost brd --full --ios 50 --quiet --json", "lab cost");
    printed(&format!("lab cost brd --diff {one} {one} --quiet --json"), "lab cost --diff");
}

#[test]
fn twenty_instructions_more_in_a_driver_are_found_and_the_function_is_named() {
    let _turn = turn_or_skip!("twenty instructions more in a driver are found", "6.1");
    let room = Room::new("costs");
    let source = patched(&room.0);
    let one = room.path("costs.toml");
    // Held to what it costs unchanged in this very build: in one, the commonest I/O was without the 43 instructions of the
    // driver's thread.
    let written =
        iostack(&["lab", "cost", "scsi_ram", "--kernel", "6.1", "--driver-only", "--write", &one, "--quiet"]);
    assert!(written.status.success(), "{}", heard(&written));
    let source = source.display().to_string();
    let held = iostack(&["lab", "cost", "--assert", &one, "--source", &source, "--quiet"]);
    assert_eq!(held.status.code(), Some(1), "{}", heard(&held));
    assert!(heard(&held).contains("scsi_ram:scsi_ram_queuecommand"), "{}", heard(&held));
    assert!(heard(&held).contains(&format!("+{GROWTH}")), "{}", heard(&held));
}

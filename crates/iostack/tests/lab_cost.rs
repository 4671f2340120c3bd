//! Our drivers cost what they did: exact counts held to a file, and the proof that a growth would be found.
//!
//! Each test boots the lab's machine. Where it cannot be had, without the packages or the network to fetch them, the test
//! says so and counts as skipped.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::{env, fs};

const COSTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernel/costs.toml");
const SCSI_RAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernel/scsi_ram");

/// Instructions that the change adds: the target of the lab's issue.
const GROWTH: u64 = 20;

fn iostack(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_iostack")).args(arguments).output().expect("the program was built")
}

/// Why the lab cannot be had here; `None` when it can.
fn missing() -> Option<&'static str> {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let missing = MISSING.get_or_init(|| {
        let up = iostack(&["lab", "up", "--quiet"]);
        (!up.status.success()).then(|| String::from_utf8_lossy(&up.stderr).trim().to_owned())
    });
    missing.as_deref()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The driver's source with some instructions more in the function that each command begins in.
fn patched(folder: &Path) -> PathBuf {
    let copy = folder.join("scsi_ram");
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
    if let Some(why) = missing() {
        return println!("SKIPPED our drivers cost no more than they did: {why}");
    }
    let held = iostack(&["lab", "cost", "--assert", COSTS, "--quiet"]);
    assert!(held.status.success(), "{}", said(&held));
}

#[test]
fn twenty_instructions_more_in_a_driver_are_found_and_the_function_is_named() {
    if let Some(why) = missing() {
        return println!("SKIPPED twenty instructions more in a driver are found: {why}");
    }
    let folder = env::temp_dir().join(format!("iostack-lab-cost-{}", std::process::id()));
    let source = patched(&folder);
    let one = folder.join("costs.toml");
    let all = fs::read_to_string(COSTS).expect("the file of costs");
    let entry = all.split("[[cost]]").find(|entry| entry.contains("name = \"scsi_ram read 6.1\""));
    fs::write(&one, format!("[[cost]]{}", entry.expect("scsi_ram's read is held to")))
        .expect("our own folder");
    let (one, source) = (one.display().to_string(), source.display().to_string());
    let held = iostack(&["lab", "cost", "--assert", &one, "--source", &source, "--quiet"]);
    let _ = fs::remove_dir_all(&folder);
    assert_eq!(held.status.code(), Some(1), "{}", said(&held));
    assert!(said(&held).contains("scsi_ram:scsi_ram_queueco"), "{}", said(&held));
    assert!(said(&held).contains(&format!("+{GROWTH}")), "{}", said(&held));
}

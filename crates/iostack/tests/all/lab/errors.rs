//! What goes wrong before and in the guest is said: what was typed, what happened, what the guest's log says.

use std::fs;
use std::path::Path;

use crate::shared::{Room, iostack, refused};
use crate::turn::turn_or_skip;

#[test]
fn a_folder_without_a_kernel_says_what_is_missing() {
    let _turn = turn_or_skip!("a_folder_without_a_kernel_says_what_is_missing", "6.1");
    let room = Room::new("kernel");
    let folder = room.folder("empty").display().to_string();
    refused(&iostack(&["lab", "cost", "brd", "--kernel", &folder]), &[&folder, "kernel.release", "boot/"]);
    room.folder("empty/boot");
    refused(&iostack(&["lab", "cost", "brd", "--kernel", &folder]), &["no boot/vmlinuz-*"]);
    let absent = format!("{folder}/absent");
    refused(&iostack(&["lab", "cost", "brd", "--kernel", &absent]), &["does not exist"]);
}

#[test]
fn a_source_that_is_none_or_does_not_compile_is_shown_as_the_compiler_shows_it() {
    let _turn = turn_or_skip!("a_source_that_is_none_or_does_not_compile", "6.1");
    let room = Room::new("source");
    let folder = room.folder("scsi_ram");
    let text = folder.display().to_string();
    let asked = ["lab", "cost", "scsi_ram", "--source", &text];
    refused(&iostack(&asked), &[&text, "neither Kbuild nor Makefile"]);
    copy_driver(&folder);
    let file = folder.join("scsi_ram.c");
    let source = fs::read_to_string(&file).expect("it was copied");
    fs::write(&file, source.replace("static struct scsi_ram disk;", "static struct scsi_ram disc;"))
        .expect("a file of ours");
    refused(&iostack(&asked), &["build the module scsi_ram", "scsi_ram.c:", "error:"]);
}

#[test]
fn a_guest_that_hangs_is_ended() {
    let _turn = turn_or_skip!("a_guest_that_hangs_is_ended", "6.1");
    let room = Room::new("hang");
    let folder = room.folder("scsi_ram");
    copy_driver(&folder);
    let file = folder.join("scsi_ram.c");
    let source = fs::read_to_string(&file).expect("it was copied");
    let begins = source.find("static int __init").expect("a module begins");
    let body = begins + source[begins..].find("\n\n").expect("declarations, then code");
    let text = format!("{}\n\tfor (;;)\n\t\tcpu_relax();\n{}", &source[..body], &source[body..]);
    fs::write(&file, text).expect("a file of ours");
    // Silent for so long while it boots it is nowhere, also on a slow host.
    let asked = ["lab", "cost", "scsi_ram", "--source", &folder.display().to_string(), "--time-limit", "30"];
    refused(&iostack(&asked), &["the guest did not go on for 30 s", "--time-limit"]);
}

fn copy_driver(folder: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel/scsi_ram");
    for name in ["Kbuild", "Makefile", "scsi_ram.c"] {
        fs::copy(source.join(name), folder.join(name)).expect("part of the repository");
    }
}

#[test]
fn a_module_that_does_not_load_is_quoted() {
    let _turn = turn_or_skip!("a_module_that_does_not_load_is_quoted", "6.1");
    let asked = ["lab", "test", "scsi_ram", "--set", "capacity_mib=0", "--quiet", "--emulate"];
    refused(
        &iostack(&asked),
        &[
            "the module scsi_ram does not load with `capacity_mib=0`",
            "scsi_ram: capacity_mib=0: no such memory",
        ],
    );
}

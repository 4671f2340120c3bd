//! Anyone's driver: a folder with a Kbuild is built, loaded, counted and tried, by one command each.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{answered, outcome};
use crate::shared::{Room, iostack, refused, said};
use crate::turn::turn_or_skip;

const DRIVERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/drivers");

/// Verdict that `lab test` must give on a disk's data.
#[derive(Clone, Copy, PartialEq)]
enum Data {
    Right,
    /// The same, and so many writes at least were refused, as they must.
    Refuses(u64),
    /// Something is wrong, in these words.
    Wrong(&'static str),
}

/// Ten kinds of drivers: folder, what the commands are told besides, and what becomes of data.
const ALL: [(&str, &[&str], Data); 10] = [
    ("bio_ram", &[], Data::Right),
    ("forgetful", &[], Data::Wrong("the disk keeps nothing")),
    ("by_work", &[], Data::Right),
    ("by_timer", &["--set", "delay_us=5"], Data::Right),
    ("many_queues", &["--set", "queues=2"], Data::Right),
    ("zoned_ram", &[], Data::Refuses(20)),
    ("scsi_host", &[], Data::Right),
    ("bad_sectors", &[], Data::Wrong("failed: Input/output error")),
    ("four_k", &[], Data::Right),
    ("pair", &["--disk", "pair1"], Data::Refuses(0)),
];

pub(crate) fn folder(name: &str) -> String {
    format!("{DRIVERS}/{name}")
}

/// Counts reads of it: there must be some of its own functions, in the layer of drivers.
fn counted(name: &str, kernel: &str, further: &[&str]) {
    let command = ["lab", "cost", &folder(name), "--kernel", kernel, "--ios", "50", "--full", "--json"];
    let costs = answered("lab cost", &[&command, further].concat(), 0);
    let cost = &costs[0];
    assert_eq!((&cost["case"]["device"], &cost["case"]["patched"][0]), (&name.into(), &name.into()));
    let functions = cost["functions"].as_array().expect("a list of functions");
    let own: Vec<&Value> = functions.iter().filter(|row| row["module"] == name).collect();
    assert!(!own.is_empty() && own.iter().all(|row| row["layer"] == "driver"), "{name}: {own:?}");
    println!("{name} on {kernel}: {} instructions", cost["instructions"]);
}

/// Tries whether it keeps data, and loads it anew.
fn tried(name: &str, kernel: &str, further: &[&str], data: Data) {
    let command =
        ["lab", "test", &folder(name), "--kernel", kernel, "--bytes", "4m", "--cycles", "3", "--json"];
    let exit = i32::from(matches!(data, Data::Wrong(_)));
    let tried = answered("lab test", &[&command, further].concat(), exit);
    let of = |trial: &str| {
        let mut all = tried.as_array().expect("a list of trials").iter();
        all.find(|one| one["trial"] == trial).unwrap_or_else(|| panic!("{name}: no {trial}: {tried}"))
    };
    let (integrity, reload) = (of("integrity"), of("reload"));
    let found = &integrity["findings"];
    assert_eq!(found["wrong_sectors"], 0, "{name}: {found}");
    let says = |key: &str, words: &str| assert!(found[key].to_string().contains(words), "{name}: {found}");
    match data {
        Data::Right => assert!(found["bytes"].as_u64() >= Some(4 << 20), "{name}: {found}"),
        Data::Refuses(least) => assert!(
            found["refused"].as_u64() >= Some(least) && found["bytes"].as_u64() >= Some(4 << 20),
            "{name}: {found}"
        ),
        Data::Wrong(words) => says("wrong", words),
    }
    assert_eq!(integrity["clean"], !matches!(data, Data::Wrong(_)), "{name}: {found}");
    assert_eq!(
        (&reload["clean"], &reload["findings"]["cycles"]),
        (&true.into(), &3.into()),
        "{name}: {reload}"
    );
}

#[test]
#[ignore = "slow: three boots"]
fn a_driver_that_keeps_what_it_took_is_found_and_those_that_give_it_back_are_clean() {
    let name = "a_driver_that_keeps_what_it_took_is_found_and_those_that_give_it_back_are_clean";
    let _turn = turn_or_skip!("a_driver_that_keeps_what_it_took_is_found", "6.1");
    let room = Room::new("anyones-leaky");
    let leaky = room.0.join("leaky");
    copied(Path::new(&folder("bio_ram")), &leaky);
    let source = fs::read_to_string(leaky.join("bio_ram.c")).expect("it was copied");
    // 100 bytes of kmalloc, and all that the disk held.
    let (kept, exit) = source.split_at(source.rfind("\tvfree(store);").expect("it gives it back at its end"));
    let leak = exit.replace("\tvfree(store);", "\tWARN_ON(!kmalloc(100, GFP_KERNEL));");
    fs::write(leaky.join("bio_ram.c"), format!("{kept}{leak}")).expect("our own file");
    let found = |folder: &str, exit: i32| -> Value {
        let command = [
            "lab", "test", folder, "--trial", "reload", "--cycles", "12", "--bytes", "4m", "--json",
            "--quiet",
        ];
        let tried = answered(
            "lab test",
            &[&command[..], &["--set", "capacity_mib=8"][..exit as usize * 2]].concat(),
            exit,
        );
        tried[0]["findings"].clone()
    };
    for clean in ["bio_ram", "four_k"] {
        assert_eq!(found(&folder(clean), 0)["left_bytes"], 0, "{name}: {clean}");
    }
    let findings = found(&leaky.display().to_string(), 1);
    let wrong = findings["wrong"].to_string();
    for words in ["kmalloc-128 by bio_ram_exit", "vmalloc by bio_ram_init", "in 6 cycles"] {
        assert!(wrong.contains(words), "{findings}");
    }
    // Of six loads what is named above, and what the kernel has for each area of vmalloc.
    let (left, least) = (findings["left_bytes"].as_u64().unwrap_or(0), 6 * (128 + (8 << 20)));
    assert!((least..least + (1 << 20)).contains(&left), "{findings}");
}

fn all(kernel: &str) {
    for (name, further, data) in ALL {
        counted(name, kernel, further);
        tried(name, kernel, further, data);
    }
}

#[test]
#[ignore = "slow: twenty boots"]
fn ten_of_ten_drivers_are_counted_and_tried_on_6_1() {
    let _turn = turn_or_skip!("ten_of_ten_drivers_are_counted_and_tried_on_6_1", "6.1");
    all("6.1");
}

#[test]
#[ignore = "slow: twenty boots"]
fn ten_of_ten_drivers_are_counted_and_tried_on_6_12() {
    let _turn = turn_or_skip!("ten_of_ten_drivers_are_counted_and_tried_on_6_12", "6.12");
    all("6.12");
}

pub(crate) fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("our own folder");
    for entry in fs::read_dir(from).expect("a folder of the repository").flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copied(&path, &to);
        } else {
            fs::copy(&path, &to).expect("a file of the repository");
        }
    }
}

#[test]
fn a_driver_of_several_files_and_folders_is_counted_and_its_folder_stays_as_it_was() {
    let _turn = turn_or_skip!("a_driver_of_several_files_and_folders_is_counted", "6.1");
    let room = Room::new("anyones");
    let mine = room.0.join("mine");
    copied(Path::new(&folder("many_queues")), &mine);
    // What a build or git left is no source, and would spoil the build; a link in a circle is not followed.
    fs::write(mine.join("main.o"), "of another kernel").expect("our own file");
    fs::create_dir(mine.join(".git")).expect("our own folder");
    std::os::unix::fs::symlink(&mine, mine.join("mine")).expect("our own folder");
    assert!(Command::new("mkfifo").arg(mine.join("pipe")).status().is_ok_and(|status| status.success()));
    let command = ["lab", "cost", &mine.display().to_string(), "--ios", "50", "--full", "--json"];
    let cost = &answered("lab cost", &command, 0)[0];
    let own = cost["functions"].as_array().expect("a list of functions").iter();
    let own: Vec<&str> =
        own.filter(|row| row["module"] == "many_queues").filter_map(|row| row["name"].as_str()).collect();
    assert!(own.contains(&"many_queues_queue") && own.contains(&"store_transfer"), "{own:?}");
    let left = fs::read_dir(&mine).expect("our own folder").flatten().map(|entry| entry.file_name());
    let mut left: Vec<_> = left.collect();
    left.sort();
    assert_eq!(left, [".git", "Kbuild", "include", "main.c", "main.o", "mine", "pipe", "store"]);
}

#[test]
fn what_does_not_build_or_has_no_such_parameter_is_refused_before_it_boots() {
    let _turn = turn_or_skip!("what_does_not_build_is_refused_before_it_boots", "6.1");
    let room = Room::new("anyones-broken");
    let mine = room.0.join("mine");
    copied(Path::new(&folder("bio_ram")), &mine);
    let text = mine.display().to_string();
    let cost = |further: &[&str]| iostack(&[&["lab", "cost", &text, "--quiet"], further].concat());
    let typed = "`capacity` is no parameter of bio_ram; choose from capacity_mib";
    refused(&cost(&["--set", "capacity=1"]), &[typed]);
    let source = fs::read_to_string(mine.join("bio_ram.c")).expect("it was copied");
    fs::write(mine.join("bio_ram.c"), source.replace("vfree(store)", "vfree(shelf)")).expect("our own file");
    let broken = cost(&[]);
    refused(&broken, &[&text, "cannot build the module bio_ram", "\nbio_ram.c:", "error: ", "shelf"]);
    assert!(said(&broken).lines().count() < 9, "{}", said(&broken));
    fs::write(mine.join("Kbuild"), "obj-$(CONFIG_NO_SUCH_OPTION) := bio_ram.o\n").expect("our own file");
    refused(&cost(&[]), &[&text, "what came of it is no module, not bio_ram", "obj-m"]);
}

/// A module that loads, and makes no disk.
const NO_DISK: &str = "#include <linux/module.h>\nMODULE_LICENSE(\"GPL\");\n\
    static int __init idle_init(void) { pr_info(\"idle: there is no hardware\\n\"); return 0; }\n\
    static void __exit idle_exit(void) { }\nmodule_init(idle_init);\nmodule_exit(idle_exit);\n";

#[test]
#[ignore = "slow: six boots"]
fn what_the_guest_cannot_use_is_said_in_one_sentence_with_the_kernels_last_words() {
    let _turn = turn_or_skip!("what_the_guest_cannot_use_is_said", "6.1");
    let cost = |name: &str, further: &[&str]| {
        iostack(&[&["lab", "cost", &folder(name), "--quiet", "--ios", "50"], further].concat())
    };
    let last = "bio_ram: capacity_mib=2048 is more than 1024";
    refused(
        &cost("bio_ram", &["--set", "capacity_mib=2048"]),
        &["bio_ram does not load", "Invalid argument", last],
    );
    refused(&cost("bio_ram", &["--set", "capacity_mib=0"]), &["the disk bioram has size 0"]);
    refused(&cost("pair", &[]), &["several disks, pair0, pair1", "--disk pair0"]);
    refused(&cost("pair", &["--disk", "pair1", "--op", "write"]), &["pair1 is read-only", "--op read"]);
    refused(&cost("four_k", &["--block-size", "512"]), &["blocks of 4096 bytes", "--block-size 4096"]);
    let room = Room::new("anyones-idle");
    fs::write(room.0.join("Makefile"), "obj-m += idle.o\n").expect("our own file");
    fs::write(room.0.join("idle.c"), NO_DISK).expect("our own file");
    let idle = iostack(&["lab", "cost", &room.0.display().to_string(), "--quiet"]);
    refused(&idle, &["no disk appeared", "idle: there is no hardware"]);
}

#[test]
#[ignore = "slow: a boot"]
fn a_source_takes_the_place_of_a_driver_of_the_kernels() {
    let _turn = turn_or_skip!("a_source_takes_the_place_of_a_driver_of_the_kernels", "6.1");
    let room = Room::new("anyones-brd");
    let source = fs::read_to_string(Path::new(DRIVERS).join("bio_ram/bio_ram.c")).expect("in the repository");
    fs::write(room.0.join("brd.c"), source.replace("\"bioram\"", "\"ram0\"")).expect("our own file");
    fs::write(room.0.join("Makefile"), "NAME := brd\nobj-m += $(NAME).o\n").expect("our own file");
    let ours = room.0.display().to_string();
    let cost =
        iostack(&["lab", "cost", "brd", "--source", &ours, "--ios", "50", "--full", "--json", "--quiet"]);
    let told = String::from_utf8_lossy(&cost.stdout);
    assert!(told.contains(r#""name":"bio_ram_submit","module":"brd""#), "{told}{}", said(&cost));
    assert!(!told.contains("brd_submit_bio"), "{told}");
}

#[test]
#[ignore = "slow: two boots"]
fn a_job_runs_on_anyones_driver_and_its_costs_are_held_to_a_file() {
    let _turn = turn_or_skip!("a_job_runs_on_anyones_driver", "6.1");
    let on = format!("lab:{}", folder("by_work"));
    let job = ["run", "--on", &on, "--io-count", "97", "--size", "8m", "--json", "--quiet"];
    let done = outcome(&job);
    assert_eq!(done["read"]["bytes"], 97 * 4096, "{done}");
    let room = Room::new("anyones-costs");
    let costs = room.path("costs.toml");
    let written =
        iostack(&["lab", "cost", &folder("bio_ram"), "--driver-only", "--write", &costs, "--quiet"]);
    assert!(written.status.success(), "{}", said(&written));
    let held = iostack(&["lab", "cost", "--assert", &costs, "--source", &folder("bio_ram"), "--quiet"]);
    assert_eq!(held.status.code(), Some(0), "{}", said(&held));
    let other = folder("by_work");
    let other = iostack(&["lab", "cost", "--assert", &costs, "--source", &other, "--quiet"]);
    refused(&other, &["is the source of by_work", "costs of bio_ram only"]);
}

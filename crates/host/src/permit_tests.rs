//! The refusals, on stored machines; on real loop devices they are in `tests/loop_devices.rs`.

use std::fs;

use super::*;
use crate::testing::Tree;

/// A disk with two partitions; a test adds what uses them.
const DISK: &[(&str, &str)] = &[
    ("sys/devices/nvme0n1/dev", "259:0"),
    ("sys/devices/nvme0n1/holders/", ""),
    ("sys/devices/nvme0n1/nvme0n1p1/partition", "1"),
    ("sys/devices/nvme0n1/nvme0n1p1/dev", "259:1"),
    ("sys/devices/nvme0n1/nvme0n1p2/partition", "2"),
    ("sys/devices/nvme0n1/nvme0n1p2/dev", "259:2"),
    ("sys/class/block/nvme0n1", "-> ../../devices/nvme0n1"),
    ("sys/class/block/nvme0n1p1", "-> ../../devices/nvme0n1/nvme0n1p1"),
    ("sys/class/block/nvme0n1p2", "-> ../../devices/nvme0n1/nvme0n1p2"),
    ("sys/dev/block/259:0", "-> ../../devices/nvme0n1"),
    ("sys/dev/block/259:1", "-> ../../devices/nvme0n1/nvme0n1p1"),
    ("sys/dev/block/259:2", "-> ../../devices/nvme0n1/nvme0n1p2"),
    ("dev/nvme0n1p1", ""),
    ("dev/nvme0n1p2", ""),
];

/// Builds `dm-0` on the second partition.
const MAPPED: &[(&str, &str)] = &[
    ("sys/devices/nvme0n1/nvme0n1p2/holders/dm-0", ""),
    ("sys/class/block/dm-0/dev", "252:0"),
    ("sys/class/block/dm-0/slaves/nvme0n1p2", ""),
    ("sys/dev/block/252:0", "-> ../../class/block/dm-0"),
    ("dev/dm-0", ""),
    ("dev/mapper/root", "-> ../dm-0"),
];

fn refusal(extra: &[&[(&str, &str)]], name: &str) -> Option<String> {
    let tree = Tree::new(&[&[DISK], extra].concat().concat());
    let answer = device_in_use(&tree.root(), name, &Path::new("/dev").join(name));
    answer.err().map(|error| error.to_string())
}

fn assert_says(text: Option<String>, words: &[&str]) {
    let text = text.expect("a refusal");
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
}

#[test]
fn an_idle_disk_is_not_in_use() {
    assert_eq!(refusal(&[], "nvme0n1"), None);
    let swaps = ("proc/swaps", "Filename Type Size Used Priority\n");
    assert_eq!(refusal(&[&[swaps]], "nvme0n1p1"), None);
}

#[test]
fn a_mounted_device_is_refused_by_name_and_so_is_its_disk() {
    let mount: &[_] = &[("proc/self/mountinfo", "30 1 259:1 / /boot rw - ext4 /dev/nvme0n1p1 rw")];
    assert_says(refusal(&[mount], "nvme0n1p1"), &["`/dev/nvme0n1p1`", "it is mounted at `/boot`", "umount"]);
    assert_says(refusal(&[mount], "nvme0n1"), &["`/dev/nvme0n1`", "nvme0n1p1 is mounted at `/boot`"]);
    assert_eq!(refusal(&[mount], "nvme0n1p2"), None);
}

#[test]
fn a_mount_on_what_is_built_on_a_partition_counts() {
    let mount: &[_] = &[("proc/self/mountinfo", "30 1 252:0 / / rw - xfs /dev/mapper/root rw")];
    assert_says(refusal(&[MAPPED, mount], "nvme0n1"), &["dm-0 is mounted at `/`"]);
    assert_says(refusal(&[MAPPED, mount], "nvme0n1p2"), &["dm-0 is mounted at `/`"]);
    assert_eq!(refusal(&[MAPPED, mount], "nvme0n1p1"), None);
}

#[test]
fn a_held_device_is_refused_with_its_holder() {
    assert_says(refusal(&[MAPPED], "nvme0n1"), &["dm-0 is built on nvme0n1p2"]);
    assert_says(refusal(&[MAPPED], "nvme0n1p2"), &["dm-0 is built on it"]);
    assert_eq!(refusal(&[MAPPED], "dm-0"), None);
}

#[test]
fn swap_is_refused_whatever_name_it_goes_by() {
    let swap = |path: &str| format!("Filename Type Size Used Priority\n{path} partition 1 0 -2\n");
    let direct = swap("/dev/nvme0n1p2");
    assert_says(refusal(&[&[("proc/swaps", &direct)]], "nvme0n1"), &["swap", "swapoff /dev/nvme0n1p2"]);
    let mapped = swap("/dev/mapper/root");
    assert_says(refusal(&[MAPPED, &[("proc/swaps", &mapped)]], "nvme0n1p2"), &["swapoff /dev/mapper/root"]);
}

#[test]
fn every_member_of_a_mounted_btrfs_is_in_use() {
    let btrfs: &[_] = &[
        ("proc/self/mountinfo", "30 1 0:40 /@ /data rw - btrfs /dev/nvme0n1p1 rw"),
        ("sys/fs/btrfs/1234/devices/nvme0n1p1", ""),
        ("sys/fs/btrfs/1234/devices/nvme0n1p2", ""),
        ("sys/fs/btrfs/features/devices/", ""),
    ];
    assert_says(refusal(&[btrfs], "nvme0n1p1"), &["it is mounted at `/data`"]);
    assert_says(refusal(&[btrfs], "nvme0n1p2"), &["it is mounted at `/data`"]);
}

#[test]
fn files_that_are_swap_or_disks_are_in_use() {
    let tree = Tree::new(&[
        ("swap file", "pages"),
        ("images/disk.img", "blocks"),
        ("images/other.img", "blocks"),
        ("images/link.img", "-> disk.img"),
        ("proc/swaps", "Filename Type Size Used Priority\n/swap\\040file file 1 0 -2\n"),
        ("sys/block/loop0", "-> ../class/block/loop0"),
        ("sys/class/block/loop0/loop/backing_file", "/images/disk.img\n"),
    ]);
    fs::hard_link(tree.at("swap file"), tree.at("swap")).expect("just written");
    fs::hard_link(tree.at("images/disk.img"), tree.at("images/hard.img")).expect("just written");
    let refusal = |path: &str| {
        let file = Held::open(&tree.at(path)).expect(path);
        file_in_use(&tree.root(), &file).err().map(|error| error.to_string())
    };
    for name in ["swap file", "swap", "images/../swap file"] {
        assert_says(refusal(name), &[name, "swapoff /swap file"]);
    }
    for name in ["images/disk.img", "images/link.img", "images/hard.img"] {
        assert_says(refusal(name), &[name, "loop device loop0 is built on it"]);
    }
    assert_eq!(refusal("images/other.img"), None);
}

#[test]
fn only_our_own_files_are_overwritten_unasked() {
    let tree = Tree::new(&[("theirs", "precious"), ("ours", "noise")]);
    let target = |name: &str| Held::open(&tree.at(name)).expect(name);
    let ours = marks::mark_made(&target("ours"));
    let refusal = permit_write(&target("theirs"), false).expect_err("it is precious").to_string();
    let path = tree.at("theirs").display().to_string();
    assert!(refusal.starts_with(&format!("`{path}` exists and was not made by iostack")), "{refusal}");
    permit_write(&target("theirs"), true).expect("the user has named it");
    assert_eq!(permit_write(&target("ours"), false).is_ok(), ours, "allowed where marks can be kept");
    crate::permit_new(&tree.at("new")).expect("there is nothing to destroy");
    crate::permit_new(&tree.at("no/such/directory/new")).expect_err("there is no such directory");
}

#[test]
fn a_file_of_ours_with_a_file_system_on_it_is_not_ours_any_more() {
    use std::os::unix::fs::FileExt;
    let tree = Tree::new(&[]);
    let file = Held::make(&tree.at("ours")).expect("there is room");
    if !file.is_made() {
        return crate::testing::skipped("a_file_of_ours_with_a_file_system", "marks cannot be kept here");
    }
    let writer = file.reopen(OpenOptions::new().write(true)).expect("ours");
    writer.write_all_at(&[7; 8192], 0).expect("there is room");
    permit_write(&file, false).expect("it holds noise");
    writer.write_all_at(b"XFSB", 0).expect("there is room");
    let refusal = permit_write(&file, false).expect_err("somebody has made a file system").to_string();
    assert!(refusal.contains("holds an xfs file system"), "{refusal}");
    permit_write(&file, true).expect("the user has named it");
}

#[test]
fn a_directory_must_be_writable() {
    let tree = Tree::new(&[]);
    let target = |path: &Path| Held::open(path).expect("it is there");
    permit_write(&target(tree.path()), false).expect("it is ours");
    permit_write(&target(Path::new("/proc/self")), false).expect_err("nobody can make files there");
}

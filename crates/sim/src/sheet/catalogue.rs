//! Which platforms, and which of their parts, are built in? The files of `platforms/`, compiled in.

use crate::sheet::Sheet;

/// A file by its name: a device, or something in another folder.
macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../../platforms/devices/", $name, ".toml")))
    };
    ($folder:literal, $name:literal) => {
        ($name, include_str!(concat!("../../platforms/", $folder, "/", $name, ".toml")))
    };
}

/// Name and text of each file, in the order in which they are listed: of today first.
const FILES: &[(&str, &str)] = &[
    file!(".", "nvme-server"),
    file!(".", "server-2021"),
    file!(".", "laptop"),
    file!(".", "cloud-vm"),
    file!(".", "x5570"),
    file!(".", "e5630"),
    file!(".", "intel-2008"),
    file!(".", "samsung-p67"),
    file!(".", "samsung-i3"),
    file!(".", "samsung-x58"),
    file!(".", "dell-t710"),
    file!(".", "hp-ml370"),
    file!("systems", "linux-6.12"),
    file!("systems", "linux-6.1"),
    file!("systems", "spdk"),
    file!("systems", "windows-7"),
    file!("systems", "linux-2.6.28"),
    file!("systems", "linux-2008"),
    file!("adapters", "nvme"),
    file!("adapters", "virtio-blk"),
    file!("adapters", "ahci-today"),
    file!("adapters", "irst-9"),
    file!("adapters", "irst-9-bus"),
    file!("adapters", "imsm-8.9-bus"),
    file!("adapters", "windows-7-ahci"),
    file!("adapters", "lsi-sas"),
    file!("adapters", "ahci"),
    file!("adapters", "jetspeed"),
    file!("adapters", "scsi-ram"),
    file!("adapters", "ata-ram"),
    file!("adapters", "rd"),
    file!("schedulers", "mq-deadline"),
    file!("schedulers", "kyber"),
    file!("schedulers", "bfq"),
    file!("schedulers", "noop"),
    file!("schedulers", "anticipatory"),
    file!("schedulers", "cfq"),
    file!(".", "pentium-d"),
    file!("systems", "linux-2.6.24"),
    file!("adapters", "pcie-2008"),
    file!("filesystems", "ext4"),
    file!("filesystems", "xfs"),
    file!("filesystems", "btrfs"),
    file!("filesystems", "ext3"),
    file!("filesystems", "ext2"),
    file!("filesystems", "reiserfs"),
    file!("tlc-1t"),
    file!("qlc-2t"),
    file!("datacentre"),
    file!("optane-class"),
    file!("970pro"),
    file!("980pro"),
    file!("980"),
    file!("pm9a3"),
    file!("d7-p5500"),
    file!("d5-p4320"),
    file!("zn540"),
    file!("nvme-776k"),
    file!("gp-cloud"),
    file!("cmu-a"),
    file!("cmu-b"),
    file!("x25e"),
    file!("c300"),
    file!("iodrive"),
    file!("samsung-slc"),
    file!("samsung-mlc"),
    file!("samsung-bus"),
    file!("dram-ssd"),
    file!("raid0-p55"),
    file!("raid0-p410i"),
    file!("raid0-perc6i"),
    file!("wd5000aaks"),
    file!("hp97560"),
    file!("zero"),
];

/// Names of all.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// All of one kind.
pub fn all_of(kind: &str) -> impl Iterator<Item = Sheet> {
    names().filter_map(|name| Sheet::load(name, &[]).ok()).filter(move |sheet| sheet.kind.name == kind)
}

/// The text of a file that is built in: an example to start from.
pub fn text(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

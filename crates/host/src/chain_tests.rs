//! Chains on a stored machine that has one of everything, and on this one.

use super::*;
use crate::device::describe;
use crate::storage::storage_in;
use crate::testing::Tree;

/// sysfs directories of disks and what is built on them, then how they are named and numbered.
///
/// `nvme0n1p2` carries LVM's `dm-0`, mounted at `/`; `sda` and `sdb` make `md0` at `/raid`, where `disk.img` is `loop0`,
/// mounted at `/image`, and `loop1` lies on `loop0` itself; `vda` is a btrfs with `vdb`; `zram0` is mounted at `/ram`.
const MACHINE: &[(&str, &str)] = &[
    ("sys/devices/nvme0n1/nvme0n1p2/partition", "2\n"),
    ("sys/devices/nvme0n1/nvme0n1p2/size", "1000000\n"),
    ("sys/devices/nvme0n1/size", "2000000\n"),
    ("sys/devices/nvme0n1/device/model", "Samsung SSD 990 PRO 2TB                 \n"),
    ("sys/devices/nvme0n1/device/device/driver", "-> ../../../../bus/pci/drivers/nvme"),
    ("sys/devices/nvme0n1/queue/scheduler", "[none] mq-deadline kyber \n"),
    ("sys/devices/nvme0n1/queue/nr_requests", "1023\n"),
    ("sys/devices/nvme0n1/queue/io_poll", "1\n"),
    ("sys/devices/nvme0n1/queue/logical_block_size", "512\n"),
    ("sys/devices/nvme0n1/queue/physical_block_size", "4096\n"),
    ("sys/devices/nvme0n1/queue/rotational", "0\n"),
    ("sys/devices/nvme0n1/queue/write_cache", "write back\n"),
    ("sys/devices/nvme0n1/queue/discard_max_bytes", "2199023255040\n"),
    ("sys/devices/nvme0n1/queue/max_sectors_kb", "128\n"),
    ("sys/devices/nvme0n1/queue/rq_affinity", "1\n"),
    ("sys/devices/nvme0n1/queue/nomerges", "0\n"),
    ("sys/devices/nvme0n1/queue/wbt_lat_usec", "2000\n"),
    ("sys/devices/nvme0n1/queue/add_random", "0\n"),
    ("sys/devices/nvme0n1/queue/iostats", "1\n"),
    ("sys/devices/nvme0n1/mq/0/nr_tags", "1023\n"),
    ("sys/devices/nvme0n1/mq/1/nr_tags", "1023\n"),
    ("sys/module/nvme/parameters/poll_queues", "4\n"),
    ("sys/devices/dm-0/slaves/nvme0n1p2", ""),
    ("sys/devices/dm-0/dm/name", "vg-root\n"),
    ("sys/devices/dm-0/dm/uuid", "LVM-abcdef\n"),
    ("sys/devices/sda/device/vendor", "ATA     \n"),
    ("sys/devices/sda/device/model", "ST4000NM0035    \n"),
    ("sys/devices/sda/device/driver", "-> ../../../../bus/scsi/drivers/sd"),
    ("sys/devices/sda/queue/rotational", "1\n"),
    ("sys/devices/sda/sda1/partition", "1\n"),
    ("sys/devices/sdb/device/model", "ST4000NM0035    \n"),
    ("sys/devices/md0/slaves/sda1", ""),
    ("sys/devices/md0/slaves/sdb", ""),
    ("sys/devices/md0/md/level", "raid1\n"),
    ("sys/devices/loop0/loop/backing_file", "/raid/images/disk.img\n"),
    ("sys/devices/loop1/loop/backing_file", "/dev/loop0\n"),
    ("sys/devices/vda/device/driver", "-> ../../../../bus/virtio/drivers/virtio_blk"),
    ("sys/devices/vda/device/vendor", "0x1af4\n"),
    ("sys/devices/vda/queue/wbt_lat_usec", "0\n"),
    ("sys/devices/vdb/size", "2048\n"),
    ("sys/devices/zram0/size", "2048\n"),
    ("sys/fs/btrfs/1234/devices/vda", ""),
    ("sys/fs/btrfs/1234/devices/vdb", ""),
    ("proc/self/mountinfo", MOUNTS),
];

const MOUNTS: &str = "20 1 252:0 / / rw - ext4 /dev/mapper/vg-root rw
21 20 9:0 / /raid rw - xfs /dev/md0 rw
22 20 7:0 / /image rw - ext4 /dev/loop0 rw
23 20 0:40 /@data /data rw - btrfs /dev/vdb rw,compress=zstd:3,subvol=/@data
24 20 251:0 / /ram rw - ext4 /dev/zram0 rw
25 20 0:41 / /tmp rw - tmpfs tmpfs rw
26 20 0:42 / /container rw - overlay overlay rw,lowerdir=/a
27 20 0:43 / /nfs rw - nfs4 server:/export rw
28 20 0:44 / /pool rw - zfs pool/data rw,xattr";

/// Name, number and directory in `sys/devices` of every device.
const DEVICES: &[(&str, &str, &str)] = &[
    ("nvme0n1", "259:0", "nvme0n1"),
    ("nvme0n1p2", "259:2", "nvme0n1/nvme0n1p2"),
    ("dm-0", "252:0", "dm-0"),
    ("sda", "8:0", "sda"),
    ("sda1", "8:1", "sda/sda1"),
    ("sdb", "8:16", "sdb"),
    ("md0", "9:0", "md0"),
    ("loop0", "7:0", "loop0"),
    ("vda", "254:0", "vda"),
    ("vdb", "254:16", "vdb"),
    ("zram0", "251:0", "zram0"),
    ("loop1", "7:1", "loop1"),
];

fn machine() -> Tree {
    let tree = Tree::new(MACHINE);
    for (name, number, directory) in DEVICES {
        let target = format!("-> ../../devices/{directory}");
        tree.write(&format!("sys/class/block/{name}"), &target);
        tree.write(&format!("sys/dev/block/{number}"), &target);
        tree.write(&format!("dev/{name}"), "");
    }
    tree
}

/// The devices behind a path of the stored machine, top to bottom.
fn behind(path: &str) -> Vec<String> {
    let storage = storage_in(&machine().root(), Path::new(path), None);
    storage.devices.into_iter().map(|device| device.name).collect()
}

#[test]
fn lvm_on_a_partition_ends_at_the_disk() {
    assert_eq!(behind("/home/user/file"), ["dm-0", "nvme0n1p2", "nvme0n1"]);
}

#[test]
fn a_loop_device_on_a_loop_device_is_followed_to_the_disks() {
    assert_eq!(below(&machine().root(), "loop1"), ["loop1", "loop0", "md0", "sda1", "sda", "sdb"]);
}

#[test]
fn every_member_of_an_array_is_followed() {
    assert_eq!(behind("/raid"), ["md0", "sda1", "sda", "sdb"]);
}

#[test]
fn a_loop_device_leads_to_the_storage_of_its_file() {
    assert_eq!(behind("/image/x"), ["loop0", "md0", "sda1", "sda", "sdb"]);
}

#[test]
fn a_btrfs_has_all_its_devices_the_mounted_one_first() {
    assert_eq!(behind("/data/x"), ["vdb", "vda"]);
}

#[test]
fn memory_overlay_network_and_zfs_have_no_device_we_can_see() {
    for path in ["/tmp/x", "/container/x", "/nfs/x", "/pool/x"] {
        assert_eq!(behind(path), Vec::<String>::new(), "{path}");
    }
}

#[test]
fn a_loop_device_on_its_own_file_system_does_not_run_away() {
    let tree = machine();
    tree.write("sys/devices/loop0/loop/backing_file", "/image/itself.img\n");
    assert_eq!(below(&tree.root(), "loop0"), ["loop0"]);
}

#[test]
fn a_device_that_is_not_there_has_nothing_below() {
    assert_eq!(below(&machine().root(), "sdz"), Vec::<String>::new());
}

#[test]
fn a_partition_has_its_own_size_and_the_queue_of_its_disk() {
    let tree = machine();
    let disk = describe(&tree.root(), "nvme0n1");
    let partition = describe(&tree.root(), "nvme0n1p2");
    assert_eq!((disk.role.as_str(), partition.role.as_str()), ("disk", "partition"));
    assert_eq!((disk.size.0, partition.size.0), (2_000_000 * 512, 1_000_000 * 512));
    assert_eq!(disk.queue, partition.queue);
    assert_eq!(partition.model.as_deref(), Some("Samsung SSD 990 PRO 2TB"));
    assert_eq!((disk.logical_block.0, disk.physical_block.0), (512, 4096));
    assert_eq!((disk.write_cache.as_str(), disk.rotational), ("write back", false));
}

#[test]
fn a_queue_is_described_in_full() {
    let queue = describe(&machine().root(), "nvme0n1").queue;
    assert_eq!((queue.scheduler.as_str(), queue.schedulers.len()), ("none", 3));
    assert_eq!((queue.requests, queue.hardware_queues, queue.tags), (1023, 2, Some(1023)));
    assert_eq!((queue.poll_queues, queue.request_max.0), (4, 128 << 10));
    assert_eq!(queue.throttle_latency, Some(iostack_model::Nanos::millis(2)));
    assert!(queue.counts_io && !queue.adds_randomness);
    assert_eq!(describe(&machine().root(), "vda").queue.throttle_latency, None);
}

#[test]
fn drivers_roles_and_models_are_told() {
    let tree = machine();
    let cases = [
        ("nvme0n1", "nvme", "disk", Some("Samsung SSD 990 PRO 2TB")),
        ("sda", "sd", "disk", Some("ATA ST4000NM0035")),
        ("sda1", "sd", "partition", Some("ATA ST4000NM0035")),
        ("vda", "virtio_blk", "disk", None),
        ("dm-0", "device-mapper", "dm", Some("LVM vg-root")),
        ("md0", "md", "md", Some("raid1")),
        ("loop0", "loop", "loop", Some("/raid/images/disk.img")),
        ("zram0", "zram", "zram", None),
        ("sdb", "unknown", "disk", Some("ST4000NM0035")),
    ];
    for (name, driver, role, model) in cases {
        let device = describe(&tree.root(), name);
        assert_eq!((device.driver.as_str(), device.role.as_str()), (driver, role), "{name}");
        assert_eq!(device.model.as_deref(), model, "{name}");
        assert_eq!(device.compresses, name == "zram0", "{name}");
    }
}

#[test]
fn the_file_system_and_its_compression_are_told() {
    let tree = machine();
    let file_system = |path: &str| storage_in(&tree.root(), Path::new(path), None).file_system.expect(path);
    let data = file_system("/data/x");
    assert_eq!((data.kind.as_str(), data.mount_point.as_path()), ("btrfs", Path::new("/data")));
    assert!(data.compresses && file_system("/pool").compresses);
    assert!(!file_system("/raid").compresses && !file_system("/ram").compresses);
}

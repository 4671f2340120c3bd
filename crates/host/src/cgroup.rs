//! Does a control group limit our I/O?
//!
//! Version 2 limits in `io.max`, of our group and of every group above it. Version 1 limits in `blkio.throttle.*` of
//! our own group alone: its throttling knows no hierarchy (Documentation/admin-guide/cgroup-v1/blkio-controller.rst,
//! "Hierarchical Cgroups"). Start reading at [`cgroup_io_limit`].

use std::path::{Path, PathBuf};

use iostack_model::{Bytes, Storage};

use crate::chain;
use crate::mounts::{Mount, mounts};
use crate::roots::{Root, text};

/// File of version 1, what it limits, and whether it counts bytes.
const THROTTLES: [(&str, &str, bool); 4] = [
    ("blkio.throttle.read_bps_device", "reads", true),
    ("blkio.throttle.write_bps_device", "writes", true),
    ("blkio.throttle.read_iops_device", "reads", false),
    ("blkio.throttle.write_iops_device", "writes", false),
];

/// Key of a version 2 line, what it limits, and whether it counts bytes.
const KEYS: [(&str, &str, bool); 4] = [
    ("rbps", "reads", true),
    ("wbps", "writes", true),
    ("riops", "reads", false),
    ("wiops", "writes", false),
];

/// The limit on our I/O to this storage, in words, with the file that sets it.
pub fn cgroup_io_limit(storage: &Storage) -> Option<String> {
    let names: Vec<String> = storage.devices.iter().map(|device| device.name.clone()).collect();
    limit_in(&Root::live(), Some(&names))
}

/// As [`cgroup_io_limit`], for the devices named; for any device at all when `names` is `None`.
pub(crate) fn limit_in(root: &Root, names: Option<&[String]>) -> Option<String> {
    let wanted: Option<Vec<String>> =
        names.map(|names| names.iter().filter_map(|name| chain::number_text(root, name)).collect());
    let concerns = |number: &str| wanted.as_ref().is_none_or(|wanted| wanted.iter().any(|n| n == number));
    let groups = root.text("proc/self/cgroup").unwrap_or_default();
    let mounts = mounts(root);
    groups.lines().find_map(|line| {
        // `0::/user.slice` is version 2, `7:blkio,net_cls:/group` version 1.
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        if controllers.is_empty() {
            let mount = mounts.iter().find(|mount| mount.kind == "cgroup2")?;
            limit_of_version_2(root, mount, path, &concerns)
        } else if controllers.split(',').any(|name| name == "blkio") {
            let has_blkio = |mount: &&Mount| mount.options.split(',').any(|option| option == "blkio");
            let mount = mounts.iter().filter(|mount| mount.kind == "cgroup").find(has_blkio)?;
            limit_of_version_1(root, &directory_of(mount, path)?, &concerns)
        } else {
            None
        }
    })
}

/// Where a group is to be seen. Inside a container the mount shows only the part below its own root.
fn directory_of(mount: &Mount, group: &str) -> Option<PathBuf> {
    let below =
        Path::new(group).strip_prefix(&mount.root).or_else(|_| Path::new(group).strip_prefix("/")).ok()?;
    Some(mount.point.join(below))
}

fn limit_of_version_2(
    root: &Root,
    mount: &Mount,
    group: &str,
    concerns: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let own = directory_of(mount, group)?;
    // `ancestors` goes on above the mount point, where there are no groups.
    let groups = own.ancestors().take_while(|directory| directory.starts_with(&mount.point));
    groups.map(|directory| directory.join("io.max")).find_map(|file| {
        let limits = text(&root.at(&file))?;
        limits.lines().find_map(|line| limit_of_line(root, line, concerns, &file))
    })
}

/// `254:0 rbps=max wbps=1048576 riops=max wiops=max`
fn limit_of_line(root: &Root, line: &str, concerns: &dyn Fn(&str) -> bool, file: &Path) -> Option<String> {
    let (number, limits) = line.split_once(' ')?;
    let said: Vec<String> = limits
        .split_whitespace()
        .filter_map(|limit| {
            let (key, value) = limit.split_once('=')?;
            let (_, what, bytes) = KEYS.iter().find(|(known, ..)| *known == key)?;
            Some(in_words(what, value.parse().ok()?, *bytes))
        })
        .collect();
    (concerns(number) && !said.is_empty()).then(|| sentence(root, number, &said.join(", "), file))
}

fn limit_of_version_1(root: &Root, group: &Path, concerns: &dyn Fn(&str) -> bool) -> Option<String> {
    THROTTLES.iter().find_map(|(name, what, bytes)| {
        let file = group.join(name);
        let limits = text(&root.at(&file))?;
        limits.lines().find_map(|line| {
            let (number, value) = line.split_once(' ')?;
            let limit = in_words(what, value.trim().parse().ok()?, *bytes);
            concerns(number).then(|| sentence(root, number, &limit, &file))
        })
    })
}

fn in_words(what: &str, value: u64, bytes: bool) -> String {
    if bytes { format!("{what} at {}/s", Bytes(value)) } else { format!("{what} at {value} IOPS") }
}

fn sentence(root: &Root, number: &str, limit: &str, file: &Path) -> String {
    let known = number
        .split_once(':')
        .and_then(|(major, minor)| chain::name_of_number(root, (major.parse().ok()?, minor.parse().ok()?)));
    format!("{} is limited to {limit} by {}", known.as_deref().unwrap_or(number), file.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Tree;

    const DEVICE: [(&str, &str); 2] =
        [("sys/dev/block/254:0", "-> ../../block/vda"), ("sys/class/block/vda/dev", "254:0\n")];

    fn limit(files: &[(&str, &str)], device: Option<&str>) -> Option<String> {
        let tree = Tree::new(&[&DEVICE, files].concat());
        let names: Option<Vec<String>> = device.map(|device| vec![device.to_owned()]);
        limit_in(&tree.root(), names.as_deref())
    }

    #[test]
    fn version_2_limits_of_the_groups_above_are_seen() {
        let files = [
            ("proc/self/cgroup", "0::/a/b"),
            ("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
            ("sys/fs/cgroup/a/b/io.max", ""),
            ("sys/fs/cgroup/a/io.max", "254:0 rbps=max wbps=1048576 riops=500 wiops=max\n"),
        ];
        let expected =
            "vda is limited to writes at 1 MiB/s, reads at 500 IOPS by /sys/fs/cgroup/a/io.max".to_owned();
        assert_eq!(limit(&files, Some("vda")), Some(expected.clone()));
        assert_eq!(limit(&files, None), Some(expected));
        assert_eq!(limit(&files, Some("sdz")), None);
    }

    #[test]
    fn a_container_sees_its_group_at_its_mount() {
        let files = [
            ("proc/self/cgroup", "0::/"),
            ("proc/self/mountinfo", "31 23 0:28 /../../pod /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
            ("sys/fs/cgroup/io.max", "8:0 rbps=4096 wbps=max riops=max wiops=max"),
        ];
        assert_eq!(
            limit(&files, None),
            Some("8:0 is limited to reads at 4 KiB/s by /sys/fs/cgroup/io.max".to_owned())
        );
    }

    #[test]
    fn version_1_limits_our_own_group_only() {
        let mount = "38 31 0:35 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio";
        let throttle = "sys/fs/cgroup/blkio/a/blkio.throttle.read_iops_device";
        let files =
            |group| [("proc/self/cgroup", group), ("proc/self/mountinfo", mount), (throttle, "254:0 100")];
        let text = limit(&files("7:blkio:/a"), Some("vda")).expect("a limit of our own group");
        assert!(text.starts_with("vda is limited to reads at 100 IOPS by /sys/fs/cgroup/blkio/a/"), "{text}");
        assert_eq!(limit(&files("7:blkio:/a/b"), Some("vda")), None);
        assert_eq!(limit(&files("7:cpu:/a"), Some("vda")), None);
    }

    #[test]
    fn no_limit_is_none() {
        assert_eq!(limit(&[("proc/self/cgroup", "0::/")], None), None);
        assert_eq!(limit(&[], None), None);
    }
}

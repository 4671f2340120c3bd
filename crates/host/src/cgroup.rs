//! Does a control group limit our I/O?
//!
//! Version 2 limits in `io.max`, of our group and of every group above it. Version 1 limits in `blkio.throttle.*` of
//! our own group alone: its throttling knows no hierarchy (Documentation/admin-guide/cgroup-v1/blkio-controller.rst,
//! "Hierarchical Cgroups"). Start reading at [`cgroup_io_limit`].

use std::path::{Path, PathBuf};

use iostack_model::{Direction, IoLimit, Storage};

use crate::chain;
use crate::mounts::{Mount, mounts};
use crate::roots::{Root, text};

/// Key of a version 2 line, file of version 1, what they limit, and whether they count bytes.
const LIMITS: [(&str, &str, Direction, bool); 4] = [
    ("rbps", "blkio.throttle.read_bps_device", Direction::Read, true),
    ("wbps", "blkio.throttle.write_bps_device", Direction::Write, true),
    ("riops", "blkio.throttle.read_iops_device", Direction::Read, false),
    ("wiops", "blkio.throttle.write_iops_device", Direction::Write, false),
];

/// The limits on our I/O to this storage, in words, with the files that set them.
pub fn cgroup_io_limit(storage: &Storage) -> Option<String> {
    in_words(&cgroup_io_limits(storage))
}

/// The limits on our I/O to this storage.
pub fn cgroup_io_limits(storage: &Storage) -> Vec<IoLimit> {
    let names: Vec<String> = storage.devices.iter().map(|device| device.name.clone()).collect();
    limits_in(&Root::live(), Some(&names))
}

/// Limit as in [`cgroup_io_limit`], for any device at all.
pub(crate) fn limit_in(root: &Root) -> Option<String> {
    in_words(&limits_in(root, None))
}

/// Limits as in [`cgroup_io_limits`], for the devices named; for any device at all when `names` is `None`.
fn limits_in(root: &Root, names: Option<&[String]>) -> Vec<IoLimit> {
    let wanted: Option<Vec<String>> =
        names.map(|names| names.iter().filter_map(|name| chain::number_text(root, name)).collect());
    let concerns = |number: &str| wanted.as_ref().is_none_or(|wanted| wanted.iter().any(|n| n == number));
    let groups = root.text("proc/self/cgroup").unwrap_or_default();
    let mounts = mounts(root);
    let limits = groups.lines().filter_map(|line| {
        // `0::/user.slice` is version 2, `7:blkio,net_cls:/group` version 1.
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        if controllers.is_empty() {
            let mount = mounts.iter().find(|mount| mount.kind == "cgroup2")?;
            Some(limits_of_version_2(root, mount, &directory_of(mount, path)?, &concerns))
        } else if controllers.split(',').any(|name| name == "blkio") {
            let has_blkio = |mount: &&Mount| mount.options.split(',').any(|option| option == "blkio");
            let mount = mounts.iter().filter(|mount| mount.kind == "cgroup").find(has_blkio)?;
            Some(limits_of_version_1(root, &directory_of(mount, path)?, &concerns))
        } else {
            None
        }
    });
    limits.flatten().collect()
}

/// Directory where a group is to be seen. Inside a container the mount shows only the part below its own root.
fn directory_of(mount: &Mount, group: &str) -> Option<PathBuf> {
    let below =
        Path::new(group).strip_prefix(&mount.root).or_else(|_| Path::new(group).strip_prefix("/")).ok()?;
    Some(mount.point.join(below))
}

/// Those of the group and of all above it: each of them holds.
fn limits_of_version_2(
    root: &Root,
    mount: &Mount,
    own: &Path,
    concerns: &dyn Fn(&str) -> bool,
) -> Vec<IoLimit> {
    // `ancestors` goes on above the mount point, where there are no groups.
    let groups = own.ancestors().take_while(|directory| directory.starts_with(&mount.point));
    let mut limits = Vec::new();
    for file in groups.map(|directory| directory.join("io.max")) {
        let lines = text(&root.at(&file)).unwrap_or_default();
        for (number, keys) in lines.lines().filter_map(|line| line.split_once(' ')) {
            if concerns(number) {
                limits
                    .extend(keys.split_whitespace().filter_map(|key| limit_of_key(root, number, key, &file)));
            }
        }
    }
    limits
}

/// `riops=500` of `254:0 rbps=max wbps=1048576 riops=500 wiops=max`
fn limit_of_key(root: &Root, number: &str, key: &str, file: &Path) -> Option<IoLimit> {
    let (key, value) = key.split_once('=')?;
    let (.., direction, bytes) = LIMITS.into_iter().find(|(known, ..)| *known == key)?;
    let (device, per_second) = (name_of(root, number), value.parse().ok()?);
    Some(IoLimit { device, direction, per_second, bytes, file: file.into() })
}

fn limits_of_version_1(root: &Root, group: &Path, concerns: &dyn Fn(&str) -> bool) -> Vec<IoLimit> {
    let mut limits = Vec::new();
    for (_, name, direction, bytes) in LIMITS {
        let file = group.join(name);
        let lines = text(&root.at(&file)).unwrap_or_default();
        for (number, value) in lines.lines().filter_map(|line| line.split_once(' ')) {
            if let (true, Ok(per_second)) = (concerns(number), value.trim().parse()) {
                let (device, file) = (name_of(root, number), file.clone());
                limits.push(IoLimit { device, direction, per_second, bytes, file });
            }
        }
    }
    limits
}

/// The device's name, or its number where it has none.
fn name_of(root: &Root, number: &str) -> String {
    let known = number
        .split_once(':')
        .and_then(|(major, minor)| chain::name_of_number(root, (major.parse().ok()?, minor.parse().ok()?)));
    known.unwrap_or_else(|| number.to_owned())
}

/// All of them as one clause.
fn in_words(limits: &[IoLimit]) -> Option<String> {
    let words: Vec<String> = limits.iter().map(ToString::to_string).collect();
    (!words.is_empty()).then(|| words.join("; "))
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
        in_words(&limits_in(&tree.root(), names.as_deref()))
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
            "writes of vda are limited to 1 MiB/s by /sys/fs/cgroup/a/io.max; reads of vda are limited to 500 IOPS by \
             /sys/fs/cgroup/a/io.max"
                .to_owned();
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
            Some("reads of 8:0 are limited to 4 KiB/s by /sys/fs/cgroup/io.max".to_owned())
        );
    }

    #[test]
    fn version_1_limits_our_own_group_only() {
        let mount = "38 31 0:35 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio";
        let throttle = "sys/fs/cgroup/blkio/a/blkio.throttle.read_iops_device";
        let files =
            |group| [("proc/self/cgroup", group), ("proc/self/mountinfo", mount), (throttle, "254:0 100")];
        let text = limit(&files("7:blkio:/a"), Some("vda")).expect("a limit of our own group");
        assert!(
            text.starts_with("reads of vda are limited to 100 IOPS by /sys/fs/cgroup/blkio/a/"),
            "{text}"
        );
        assert_eq!(limit(&files("7:blkio:/a/b"), Some("vda")), None);
        assert_eq!(limit(&files("7:cpu:/a"), Some("vda")), None);
    }

    #[test]
    fn no_limit_is_none() {
        assert_eq!(limit(&[("proc/self/cgroup", "0::/")], None), None);
        assert_eq!(limit(&[], None), None);
    }
}

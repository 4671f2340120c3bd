//! What do numbers of the kernel mean? Devices, control groups and processes by name.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bits of a cgroup's number below the number of its hierarchy.
const CGROUP_BITS: u32 = 48;

/// Names met so far.
#[derive(Default)]
pub(super) struct Names {
    devices: HashMap<u32, String>,
    /// Paths within their hierarchy, by number.
    cgroups: HashMap<u64, String>,
    processes: HashMap<u32, String>,
    /// Walks over the trees of cgroups that are left in this interval.
    walks: u32,
}

impl Names {
    /// A new interval: names of processes may have changed, and new cgroups are looked for once.
    pub(super) fn begin(&mut self) {
        self.processes.clear();
        if self.cgroups.len() > CGROUPS_MOST {
            self.cgroups.clear();
        }
        self.walks = 1;
    }

    /// Kernel name of a device, or its numbers where it is gone.
    pub(super) fn device(&mut self, number: u32) -> String {
        let named = || {
            let (major, minor) = (number >> 20, number & 0xf_ffff);
            let link = fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok();
            let name =
                link.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
            name.unwrap_or_else(|| format!("{major}:{minor}"))
        };
        self.devices.entry(number).or_insert_with(named).clone()
    }

    /// Path of a cgroup, or its number where it is gone.
    pub(super) fn cgroup(&mut self, number: u64) -> String {
        if !self.cgroups.contains_key(&number) && self.walks > 0 {
            self.walks -= 1;
            for (hierarchy, place) in hierarchies() {
                walk(Path::new(&place), "/", hierarchy << CGROUP_BITS, &mut self.cgroups, DEPTH_MAX);
            }
        }
        match self.cgroups.get(&number) {
            Some(path) => path.clone(),
            None if number & ((1 << CGROUP_BITS) - 1) <= 1 => "/".to_owned(),
            None => format!("cgroup {}", number & ((1 << CGROUP_BITS) - 1)),
        }
    }

    /// Name of a process that runs, or the one that `ended` knows.
    pub(super) fn process(&mut self, number: u32, ended: impl FnOnce(u32) -> Option<String>) -> String {
        let named = || match fs::read_to_string(format!("/proc/{number}/comm")) {
            Ok(name) => name.trim_end().to_owned(),
            Err(_) => ended(number).unwrap_or_default(),
        };
        self.processes.entry(number).or_insert_with(named).clone()
    }
}

/// Control groups that are remembered: where containers come and go, most of more than that are gone.
const CGROUPS_MOST: usize = 8192;

/// Cgroup of a thread whose limits its I/O obeys, where it is in a hierarchy by itself (version 1); `/` also when it is gone.
pub(super) fn io_cgroup(thread: u32) -> String {
    let groups = fs::read_to_string(format!("/proc/{thread}/cgroup")).unwrap_or_default();
    io_cgroup_of(&groups).unwrap_or("/").to_owned()
}

fn io_cgroup_of(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| {
        let (_, line) = line.split_once(':')?;
        let (controllers, path) = line.split_once(':')?;
        controllers.split(',').any(|name| name == "blkio").then_some(path)
    })
}

/// Devices on which a device lies: that of its file, where it is a loop device, or its members.
pub(super) fn below(name: &str) -> Vec<String> {
    let place = format!("/sys/class/block/{name}");
    if let Ok(file) = fs::read_to_string(format!("{place}/loop/backing_file")) {
        let Ok(known) = fs::metadata(file.trim_end()) else { return Vec::new() };
        let link = fs::read_link(format!(
            "/sys/dev/block/{}:{}",
            libc::major(known.dev()),
            libc::minor(known.dev())
        ));
        return link.iter().filter_map(|link| whole(link)).collect();
    }
    let members = fs::read_dir(format!("{place}/slaves")).into_iter().flatten().flatten();
    members.filter_map(|member| whole(&fs::read_link(member.path()).ok()?)).collect()
}

/// I/O scheduler of a device; empty without one.
pub(super) fn scheduler(name: &str) -> String {
    let text = fs::read_to_string(format!("/sys/class/block/{name}/queue/scheduler")).unwrap_or_default();
    scheduler_of(&text).to_owned()
}

/// The word in brackets.
fn scheduler_of(text: &str) -> &str {
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or("", |(name, _)| if name == "none" { "" } else { name })
}

/// Name of the device at the end of a link of sysfs; of a partition, whose folder lies in its device's, the device's.
fn whole(link: &Path) -> Option<String> {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let parent = link.parent()?;
    let above = parent.parent().and_then(Path::file_name);
    if above.is_some_and(|above| above == "block") { name(parent) } else { name(link) }
}

/// Depth of a tree of cgroups beyond which nobody looks.
const DEPTH_MAX: u32 = 12;

/// The folder's number is that of the cgroup (kernfs).
fn walk(folder: &Path, path: &str, hierarchy: u64, cgroups: &mut HashMap<u64, String>, depth: u32) {
    let Ok(known) = folder.metadata() else { return };
    cgroups.insert(known.ino() | hierarchy, path.to_owned());
    let Some(deeper) = depth.checked_sub(1) else { return };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let below = format!("{}/{}", path.trim_end_matches('/'), entry.file_name().to_string_lossy());
            walk(&entry.path(), &below, hierarchy, cgroups, deeper);
        }
    }
}

/// Number and mount point of each mounted hierarchy of cgroups.
fn hierarchies() -> Vec<(u64, String)> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    mounted(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"))
}

/// From `/proc/self/mountinfo`, and the numbers of hierarchies in `/proc/self/cgroup`.
fn mounted(mounts: &str, groups: &str) -> Vec<(u64, String)> {
    let numbers: BTreeMap<&str, u64> = groups
        .lines()
        .filter_map(|line| {
            let (number, rest) = line.split_once(':')?;
            Some((rest.split(':').next()?, number.parse().ok()?))
        })
        .collect();
    let each = mounts.lines().filter_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let place = left.split(' ').nth(4)?.to_owned();
        let mut right = right.split(' ');
        match right.next()? {
            "cgroup2" => Some((0, place)),
            "cgroup" => {
                let options: Vec<&str> = right.nth(1)?.split(',').collect();
                let is_it =
                    |name: &&str| name.split(',').all(|part| options.contains(&part)) && !name.is_empty();
                let number = numbers.iter().find(|(name, _)| is_it(name))?.1;
                Some((*number, place))
            }
            _ => None,
        }
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_of_both_versions_are_found_by_their_controllers() {
        let mounts = "38 31 0:35 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio\n\
                      32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                      22 20 0:5 / /proc rw - proc proc rw\n";
        let groups = "12:blkio:/a\n4:cpu,cpuacct:/\n0::/\n";
        let expected = [(12, "blkio"), (4, "cpu"), (0, "unified")];
        let found = mounted(mounts, groups);
        let named: Vec<(u64, &str)> =
            found.iter().map(|(number, place)| (*number, place.rsplit('/').next().unwrap_or(""))).collect();
        assert_eq!(named, expected);
        assert!(mounted("nonsense\n", "x\n").is_empty());
    }

    #[test]
    fn a_partition_stands_for_its_device_and_a_thread_for_the_cgroup_of_its_ios() {
        let whole = |link: &str| whole(Path::new(link));
        assert_eq!(whole("../../devices/pci/virtio1/block/vda/vda1").as_deref(), Some("vda"));
        assert_eq!(whole("../../devices/pci/virtio1/block/vda").as_deref(), Some("vda"));
        assert_eq!(io_cgroup_of("7:blkio:/a/b\n0::/c\n"), Some("/a/b"));
        assert_eq!(io_cgroup_of("0::/c\n"), None);
        assert_eq!(
            (scheduler_of("none mq-deadline [bfq]"), scheduler_of("[none] bfq"), scheduler_of("")),
            ("bfq", "", "")
        );
        assert!(below("no-such-device").is_empty());
    }

    #[test]
    fn what_is_gone_is_told_by_its_number() {
        let mut names = Names::default();
        names.begin();
        assert_eq!(names.device(4095 << 20 | 7), "4095:7");
        assert_eq!(names.cgroup(1), "/");
        assert_eq!(names.cgroup((1 << 40) + 5), format!("cgroup {}", (1_u64 << 40) + 5));
        assert_eq!(names.process(u32::MAX, |_| Some("gone".to_owned())), "gone");
    }
}

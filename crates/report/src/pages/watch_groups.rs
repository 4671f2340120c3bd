//! Which control groups and containers use the storage, and how are they called?

use std::collections::{BTreeMap, BTreeSet};

use iostack_model::answers::WatchSlice;

use crate::document::{Column, Table};
use crate::text::format::{cut, megabytes, percent, rate};

/// Columns of a control group, whose end says most.
const CGROUP: usize = 19;
/// Digits of a container's number that its tools show.
const SHORT: usize = 12;
/// Digits of the whole number.
const WHOLE: usize = 64;

/// Short name of a control group: its container, or the end of its path.
pub(super) fn cgroup(path: &str) -> String {
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or("");
    let name = container(path).unwrap_or_else(|| if last.is_empty() { "/" } else { last }.to_owned());
    cut(&name, CGROUP)
}

/// Name of the container that a control group is of, as its tools say it: `docker 0123456789ab`.
fn container(path: &str) -> Option<String> {
    let mut above = "";
    for part in path.split('/') {
        if let Some(name) = part.strip_prefix("lxc.payload.") {
            return Some(format!("lxc {name}"));
        }
        // `docker/NUMBER`, `docker-NUMBER.scope`, `cri-containerd-NUMBER.scope`, `kubepods/burstable/podNAME/NUMBER`.
        let bare = part.strip_suffix(".scope").unwrap_or(part);
        let (runtime, number) = bare.rsplit_once('-').unwrap_or((above, bare));
        if number.len() == WHOLE && number.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let runtime = if runtime.starts_with("pod") { "pod" } else { runtime };
            let runtime = runtime.strip_prefix("cri-").unwrap_or(runtime);
            return Some(format!("{runtime} {}", &number[..SHORT]).trim_start().to_owned());
        }
        above = part;
    }
    None
}

/// Sums of one control group.
#[derive(Default)]
struct GroupSums {
    processes: BTreeSet<u32>,
    ios: u64,
    bytes: u64,
    device_ns: u64,
    slept_ns: u64,
    cpu_ns: u64,
    kernel_ns: u64,
}

/// Rows of control groups, the one with most device time first; `None` where there is but one.
pub(super) fn group_table(whole: &WatchSlice) -> Option<Table> {
    let mut groups: BTreeMap<&str, GroupSums> = BTreeMap::new();
    for row in &whole.ios {
        let group = groups.entry(&row.owner.cgroup).or_default();
        group.processes.insert(row.owner.process);
        group.ios += row.ios;
        group.bytes += row.bytes;
        group.device_ns += row.device_ns;
    }
    for row in &whole.waits {
        let group = groups.entry(&row.owner.cgroup).or_default();
        group.processes.insert(row.owner.process);
        group.slept_ns += row.slept_ns;
        group.cpu_ns += row.cpu_ns;
        group.kernel_ns += row.kernel_ns;
    }
    if groups.len() < 2 {
        return None;
    }
    let mut table = Table::of(&[
        "control group",
        "processes",
        "IOPS",
        "MB/s",
        "in flight",
        "asleep %",
        "CPU %",
        "kernel %",
    ]);
    table.columns[0] = Column::words("control group");
    let seconds = whole.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| std::cmp::Reverse((group.device_ns, group.slept_ns)));
    for (path, group) in groups {
        let share = |ns: u64| ns as f64 / 1e9 / seconds;
        table.row([
            cgroup(path),
            group.processes.iter().filter(|&&process| process != 0).count().to_string(),
            rate(group.ios as f64 / seconds),
            megabytes(group.bytes as f64 / seconds),
            format!("{:.2}", share(group.device_ns)),
            percent(share(group.slept_ns)),
            percent(share(group.cpu_ns)),
            percent(share(group.kernel_ns)),
        ]);
    }
    "in flight: mean number of I/Os that devices had; asleep, CPU: as of the processes that waited"
        .clone_into(&mut table.page_caption);
    Some(table)
}

#[cfg(test)]
mod tests {
    use iostack_model::Nanos;
    use iostack_model::answers::{IoKind, OwnedHow, OwnedIo, Owner, ProcessWait};

    use super::*;

    const NUMBER: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn a_container_is_called_as_its_tools_call_it() {
        let short = |path: &str| cgroup(&path.replace("NUMBER", NUMBER));
        assert_eq!(short("/docker/NUMBER"), "docker 0123456789ab");
        assert_eq!(short("/system.slice/docker-NUMBER.scope"), "docker 0123456789ab");
        assert_eq!(short("/machine.slice/libpod-NUMBER.scope/container"), "libpod 0123456789ab");
        assert_eq!(
            container(&format!("/k/cri-containerd-{NUMBER}.scope")).unwrap(),
            "containerd 0123456789ab"
        );
        assert_eq!(short("/kubepods/burstable/pod12-34/NUMBER"), "pod 0123456789ab");
        assert_eq!(short("/lxc.payload.web/system.slice"), "lxc web");
        assert_eq!(short("/NUMBER"), "0123456789ab");
        assert_eq!(short("/system.slice/mariadb.service"), "mariadb.service");
        assert_eq!(short("/docker/NUMBER0"), cut(&format!("{NUMBER}0"), CGROUP), "one digit too many");
        assert_eq!((short("/"), short("")), ("/".to_owned(), "/".to_owned()));
    }

    fn owner(process: u32, cgroup: &str) -> Owner {
        Owner { process, name: "x".to_owned(), cgroup: cgroup.to_owned() }
    }

    #[test]
    fn sums_of_a_group_are_of_all_its_processes() {
        let io = |process, cgroup: &str, ios| OwnedIo {
            owner: owner(process, cgroup),
            how: OwnedHow::Itself,
            device: "vda".to_owned(),
            kind: IoKind::Read,
            ios,
            bytes: 0,
            queue_ns: 0,
            device_ns: ios * 1_000_000,
            slowest_ns: 0,
        };
        let wait = ProcessWait {
            owner: owner(3, "/b"),
            sleeps: 1,
            slept_ns: 500_000_000,
            runnable_ns: 0,
            cpu_ns: 250_000_000,
            kernel_ns: 50_000_000,
        };
        let mut slice = WatchSlice {
            elapsed: Nanos::secs(1),
            ios: vec![io(1, "/a", 100), io(0, "/b", 1), io(2, "/a", 200)],
            waits: vec![wait],
            ..WatchSlice::default()
        };
        let table = group_table(&slice).expect("two groups");
        let cells: Vec<Vec<&str>> =
            table.rows.iter().map(|row| row.cells.iter().map(|cell| cell.text.as_str()).collect()).collect();
        assert_eq!(cells[0][..3], ["a", "2", "300"]);
        assert_eq!(cells[0][4], "0.30");
        assert_eq!(cells[1], ["b", "1", "1.000", "0", "0.00", "50.0", "25.0", "5.0"]);
        slice.ios.retain(|row| row.owner.cgroup == "/b");
        assert!(group_table(&slice).is_none(), "one group says nothing that the rows do not");
    }
}

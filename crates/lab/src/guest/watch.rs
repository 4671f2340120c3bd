//! What does not move, and since when?
//!
//! A look finds the tasks that wait without an end in sight (state D) and the requests that the block layer has open. What
//! two looks find alike, a task that was not switched to meanwhile, has not moved between them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::Message;
use super::near_side::tell;
use crate::sys::guest as sys;

/// Time between two looks.
const EVERY: Duration = Duration::from_secs(20);

/// Tasks and requests that are shown.
const SHOWN: usize = 12;

/// Frames of a stack that are shown.
const FRAMES: usize = 8;

/// Findings of a look: words that stay the same while it does not move, and what is shown below them.
type Stuck = Vec<(String, String)>;

/// Looks from now on, and ends the machine when something has not moved for so many seconds.
pub(super) fn start(gives_up_s: Option<u64>) {
    std::thread::spawn(move || {
        let (mut since, mut said) = (BTreeMap::new(), false);
        loop {
            std::thread::sleep(EVERY);
            let (now, found) = (Instant::now(), look());
            since = kept(&since, &found, now);
            let oldest = since.values().map(|first| now - *first).max().unwrap_or_default();
            let Some(limit) = gives_up_s.map(Duration::from_secs).filter(|_| !oldest.is_zero()) else {
                continue;
            };
            if oldest >= limit {
                tell(&Message::Failed(report(&since, &found, now)));
                sys::power_off();
            } else if !said {
                let (waited, limit) = (oldest.as_secs(), limit.as_secs());
                let text = format!(
                    "something has not moved for {waited} s of the machine's own time; after {limit} s it is given up \
                     (--time-limit)"
                );
                tell(&Message::Waits(text));
                said = true;
            }
        }
    });
}

fn kept(before: &BTreeMap<String, Instant>, found: &Stuck, now: Instant) -> BTreeMap<String, Instant> {
    found.iter().map(|(name, _)| (name.clone(), before.get(name).copied().unwrap_or(now))).collect()
}

fn report(since: &BTreeMap<String, Instant>, found: &Stuck, now: Instant) -> String {
    let mut stuck: Vec<(u64, &str, &str)> = found
        .iter()
        .map(|(name, below)| ((now - since[name]).as_secs(), name.as_str(), below.as_str()))
        .filter(|(age, ..)| *age > 0)
        .collect();
    stuck.sort_by_key(|(age, ..)| std::cmp::Reverse(*age));
    let oldest = stuck.first().map_or(0, |(age, ..)| *age);
    let mut text = format!("it hangs: this has not moved for {oldest} s of the machine's own time");
    for (age, name, below) in stuck.iter().take(SHOWN) {
        text.extend(["\n  ", name, ", ", &age.to_string(), " s or more"]);
        below.lines().for_each(|line| text.extend(["\n      ", line]));
    }
    if stuck.len() > SHOWN {
        text.extend(["\n  and ", &(stuck.len() - SHOWN).to_string(), " more"]);
    }
    text
}

fn look() -> Stuck {
    let mut found = requests(Path::new("/sys/kernel/debug/block"));
    // Not the links to the process that looks.
    let is_number = |one: &fs::DirEntry| one.file_name().to_string_lossy().parse::<u32>().is_ok();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten().filter(is_number) {
        for task in fs::read_dir(process.path().join("task")).into_iter().flatten().flatten() {
            found.extend(waiting(&task.path()));
        }
    }
    found
}

/// The task of this folder, if it waits without an end in sight.
fn waiting(task: &Path) -> Option<(String, String)> {
    let read = |name: &str| fs::read_to_string(task.join(name)).unwrap_or_default();
    let status = read("status");
    let of = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
    if !of("State:").starts_with('D') {
        return None;
    }
    let switches = of("voluntary_ctxt_switches:");
    let name = format!("task {} ({}) in state D, at its switch {switches}", of("Pid:"), of("Name:"));
    let stack: Vec<String> = read("stack").lines().take(FRAMES).map(str::to_owned).collect();
    Some((name, stack.join("\n")))
}

/// Open requests, and how many tags are taken, by queue of each disk.
fn requests(disks: &Path) -> Stuck {
    let mut found = Vec::new();
    for disk in fs::read_dir(disks).into_iter().flatten().flatten() {
        for queue in fs::read_dir(disk.path()).into_iter().flatten().flatten() {
            let read = |name: &str| fs::read_to_string(queue.path().join(name)).unwrap_or_default();
            let place =
                format!("{} {}", disk.file_name().to_string_lossy(), queue.file_name().to_string_lossy());
            let tags = read("tags");
            let taken = tags.lines().find(|line| line.starts_with("busy=")).unwrap_or("busy=?").to_owned();
            for (list, what) in [("busy", "open"), ("dispatch", "not yet with the driver")] {
                let lines = read(list);
                let all = lines.lines().filter(|line| line.contains(".op="));
                found.extend(all.map(|line| (request(&place, what, line), format!("tags: {taken}"))));
            }
        }
    }
    found
}

/// The request of a line, `ADDRESS {.op=READ, .cmd_flags=.., .., .tag=7, .internal_tag=-1}` (`__blk_mq_debugfs_rq_show` of the
/// kernel's block/blk-mq-debugfs.c).
fn request(place: &str, what: &str, line: &str) -> String {
    let (address, fields) = line.split_once(' ').unwrap_or((line, ""));
    let of = |name: &str| {
        let value = fields.split_once(name).map_or("", |(_, rest)| rest);
        value.split([',', '}']).next().unwrap_or_default()
    };
    format!("{place}: {} with tag {} ({address}), {what}", of(".op="), of(".tag="))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "00000000c2d1a9f4 {.op=READ, .cmd_flags=SYNC|IDLE, .rq_flags=IO_STAT, .state=in_flight, .tag=37, \
                        .internal_tag=-1}";

    #[test]
    fn a_request_is_named_by_queue_operation_and_tag() {
        let said = request("sim0 hctx0", "open", LINE);
        assert_eq!(said, "sim0 hctx0: READ with tag 37 (00000000c2d1a9f4), open");
    }

    #[test]
    fn what_two_looks_find_alike_has_its_age_and_what_moved_has_none() {
        let start = Instant::now();
        let later = start + Duration::from_secs(40);
        let found = |names: &[&str]| -> Stuck {
            names.iter().map(|name| ((*name).to_owned(), "stack of it".to_owned())).collect()
        };
        let first = kept(&BTreeMap::new(), &found(&["a", "b"]), start);
        let now = found(&["c", "b"]);
        let second = kept(&first, &now, later);
        assert_eq!(
            report(&second, &now, later),
            "it hangs: this has not moved for 40 s of the machine's own time\n  b, 40 s or more\n      stack of it"
        );
    }

    #[test]
    fn open_requests_of_every_disk_are_found() {
        let folder = std::env::temp_dir().join(format!("iostack-watch-{}", std::process::id()));
        let queue = folder.join("sim0/hctx0");
        fs::create_dir_all(&queue).expect("a new folder");
        fs::write(queue.join("busy"), format!("{LINE}\n")).expect("a new file");
        fs::write(queue.join("dispatch"), "").expect("a new file");
        fs::write(queue.join("tags"), "nr_tags=64\nbusy=1\n").expect("a new file");
        let found = requests(&folder);
        fs::remove_dir_all(&folder).expect("our own folder");
        let name = "sim0 hctx0: READ with tag 37 (00000000c2d1a9f4), open".to_owned();
        assert_eq!(found, [(name, "tags: busy=1".to_owned())]);
    }
}

//! What did a whole watch see? Sums of its intervals.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use iostack_model::answers::{OwnedIo, Owner, ProcessWait, WatchSlice, WatchedDevice, WatchedHeat};
use iostack_model::{Direction, HEAT_COLUMNS, Heat, Nanos};

/// Slow I/Os, long sleeps, flushes and discards that are kept: the longest of each.
const KEPT: usize = 200;

/// Rows of owners, and of waits, from which on those of the past are put together: a watch runs for months.
const ROWS_MOST: usize = 2000;

/// Sums of the intervals so far, and the latencies of each.
#[derive(Clone, Debug, Default)]
pub struct Summed {
    /// Sums; of slow I/Os, sleeps and events the longest.
    pub whole: WatchSlice,
    /// Latencies of the last intervals by device: as many as a heat map has columns.
    columns: VecDeque<Vec<WatchedDevice>>,
}

impl Summed {
    /// Adds an interval.
    pub fn add(&mut self, slice: WatchSlice) {
        let whole = &mut self.whole;
        whole.ended_unix_ns = slice.ended_unix_ns;
        whole.elapsed.0 += slice.elapsed.0;
        whole.lost += slice.lost;
        whole.missed += slice.missed;
        whole.runs += slice.runs;
        whole.kernel_cost_ns += slice.kernel_cost_ns;
        whole.own_cost_ns += slice.own_cost_ns;
        whole.interrupts_ns.resize(whole.interrupts_ns.len().max(slice.interrupts_ns.len()), 0);
        whole.interrupts_ns.iter_mut().zip(&slice.interrupts_ns).for_each(|(sum, each)| *sum += each);
        let present: BTreeSet<u32> = slice.ios.iter().map(|row| row.owner.process).collect();
        whole.ios = joined(std::mem::take(&mut whole.ios), slice.ios, io_key, add_ios);
        shorten(&mut whole.ios, &present, |row| &mut row.owner, io_key, add_ios);
        let present: BTreeSet<u32> = slice.waits.iter().map(|row| row.owner.process).collect();
        whole.waits = joined(std::mem::take(&mut whole.waits), slice.waits, wait_key, add_waits);
        shorten(&mut whole.waits, &present, |row| &mut row.owner, wait_key, add_waits);
        self.columns.push_back(slice.devices.clone());
        if self.columns.len() > HEAT_COLUMNS {
            self.columns.pop_front();
        }
        whole.devices = joined(std::mem::take(&mut whole.devices), slice.devices, device_key, |sum, each| {
            sum.cells = together(&sum.cells, &each.cells);
            sum.reads = together(&sum.reads, &each.reads);
            sum.kernel_ios += each.kernel_ios;
        });
        longest(&mut whole.slow, slice.slow, iostack_model::answers::SlowIo::whole_ns);
        longest(&mut whole.sleeps, slice.sleeps, |sleep| sleep.slept_ns + sleep.runnable_ns);
        longest(&mut whole.events, slice.events, |event| event.took_ns);
    }

    /// Latency over time of each device, in the last intervals, reads apart; `interval` is the length of one.
    pub fn heat(&self, interval: Nanos) -> Vec<WatchedHeat> {
        let each = self.whole.devices.iter().flat_map(|device| {
            [Direction::Read, Direction::Write].map(|direction| (device.name.clone(), direction))
        });
        let of_device = |(device, direction): (String, Direction)| {
            let column = |devices: &Vec<WatchedDevice>| {
                let found = devices.iter().find(|each| each.name == device);
                found.map(|found| found.cells_of(direction)).unwrap_or_default()
            };
            let heat = Heat { length: interval, columns: self.columns.iter().map(column).collect() };
            WatchedHeat { device, direction, heat }
        };
        each.map(of_device).filter(|each| !each.heat.is_empty()).collect()
    }
}

/// Puts rows of processes that are not `present` together while there are too many: by name and group, then by name, then
/// all. Nothing is taken out of the sums.
fn shorten<T, K: Ord>(
    rows: &mut Vec<T>,
    present: &BTreeSet<u32>,
    owner: impl Fn(&mut T) -> &mut Owner,
    key: impl Fn(&T) -> K,
    add: impl Fn(&mut T, &T),
) {
    let forgets: [fn(&mut Owner); 3] = [
        |owner| owner.process = 0,
        |owner| "gone".clone_into(&mut owner.cgroup),
        |owner| "ended".clone_into(&mut owner.name),
    ];
    for forget in forgets {
        if rows.len() <= ROWS_MOST {
            return;
        }
        let forgotten = |mut row: T| {
            let owner = owner(&mut row);
            if owner.process == 0 && owner.name.is_empty() {
                return row;
            }
            if !present.contains(&owner.process) || owner.process == 0 {
                forget(owner);
                if owner.name.is_empty() {
                    "ended".clone_into(&mut owner.name);
                }
            }
            row
        };
        let news = std::mem::take(rows).into_iter().map(forgotten).collect();
        *rows = joined(Vec::new(), news, &key, &add);
    }
}

fn add_ios(sum: &mut OwnedIo, each: &OwnedIo) {
    sum.ios += each.ios;
    sum.bytes += each.bytes;
    sum.queue_ns += each.queue_ns;
    sum.device_ns += each.device_ns;
    sum.slowest_ns = sum.slowest_ns.max(each.slowest_ns);
}

fn add_waits(sum: &mut ProcessWait, each: &ProcessWait) {
    sum.sleeps += each.sleeps;
    sum.slept_ns += each.slept_ns;
    sum.runnable_ns += each.runnable_ns;
    sum.cpu_ns += each.cpu_ns;
    sum.kernel_ns += each.kernel_ns;
}

fn io_key(io: &OwnedIo) -> impl Ord + use<> {
    (io.owner.clone(), io.how, io.device.clone(), io.kind)
}

fn wait_key(wait: &ProcessWait) -> impl Ord + use<> {
    wait.owner.clone()
}

fn device_key(device: &WatchedDevice) -> impl Ord + use<> {
    device.name.clone()
}

/// Rows of both; those of one key are added.
fn joined<T, K: Ord>(sums: Vec<T>, news: Vec<T>, key: impl Fn(&T) -> K, add: impl Fn(&mut T, &T)) -> Vec<T> {
    let mut rows: BTreeMap<K, T> = BTreeMap::new();
    for row in sums.into_iter().chain(news) {
        match rows.entry(key(&row)) {
            std::collections::btree_map::Entry::Occupied(mut known) => add(known.get_mut(), &row),
            std::collections::btree_map::Entry::Vacant(new) => drop(new.insert(row)),
        }
    }
    rows.into_values().collect()
}

/// Adds `news`, and keeps the longest.
fn longest<T>(kept: &mut Vec<T>, news: Vec<T>, length: impl Fn(&T) -> u64) {
    kept.extend(news);
    kept.sort_by_key(|each| std::cmp::Reverse(length(each)));
    kept.truncate(KEPT);
}

fn together(a: &[(u32, u64)], b: &[(u32, u64)]) -> Vec<(u32, u64)> {
    let mut sum = BTreeMap::new();
    for &(cell, ios) in a.iter().chain(b) {
        *sum.entry(cell).or_insert(0) += ios;
    }
    sum.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::why::tests::{neighbour, slow};

    #[test]
    fn two_intervals_are_one_twice_as_long() {
        let slice = WatchSlice {
            elapsed: Nanos::secs(1),
            ios: vec![neighbour("dd", 7, 100)],
            devices: vec![WatchedDevice {
                name: "vda".to_owned(),
                cells: vec![(40, 3), (41, 2)],
                reads: vec![(40, 1)],
                kernel_ios: 5,
                ..WatchedDevice::default()
            }],
            slow: vec![slow("dd", 7)],
            ..WatchSlice::default()
        };
        let mut summed = Summed::default();
        summed.add(slice.clone());
        summed.add(slice.clone());
        assert_eq!(summed.whole.elapsed, Nanos::secs(2));
        assert_eq!((summed.whole.ios.len(), summed.whole.ios[0].ios), (1, 200));
        assert_eq!(summed.whole.devices[0].cells, [(40, 6), (41, 4)]);
        assert_eq!(summed.whole.devices[0].reads, [(40, 2)]);
        let heat = summed.heat(Nanos::secs(1));
        assert_eq!((heat[0].direction, heat[1].direction), (Direction::Read, Direction::Write));
        assert_eq!(heat[0].heat.columns, [[(40, 1)], [(40, 1)]]);
        assert_eq!(heat[1].heat.columns, [[(40, 2), (41, 2)], [(40, 2), (41, 2)]]);
        (0..2 * KEPT as u64).for_each(|_| summed.add(slice.clone()));
        assert_eq!(summed.whole.slow.len(), KEPT);
    }

    #[test]
    fn a_watch_of_months_keeps_its_sums_in_few_rows() {
        let mut summed = Summed::default();
        let rows = |from: u32, name: &dyn Fn(u32) -> String| {
            let row = |process| neighbour(&name(process), process, 1);
            WatchSlice { ios: (from..from + 1000).map(row).collect(), ..WatchSlice::default() }
        };
        let unowned = OwnedIo {
            owner: Owner { process: 0, name: String::new(), cgroup: "/a".to_owned() },
            ..neighbour("", 0, 5)
        };
        summed.add(WatchSlice { ios: vec![unowned.clone()], ..WatchSlice::default() });
        for turn in 0..2 {
            summed.add(rows(1 + turn * 1000, &|_| "cc1".to_owned()));
        }
        // One more than there is room for: all but the last thousand become one row of their name.
        assert_eq!(summed.whole.ios.len(), 1002, "unowned, cc1, and the present");
        let old = summed.whole.ios.iter().find(|row| row.owner.name == "cc1" && row.owner.process == 0);
        assert_eq!(old.map(|row| (row.ios, row.is_owned())), Some((1000, true)));
        assert!(summed.whole.ios.contains(&unowned), "what nobody owns stays so");
        for turn in 2..50 {
            summed.add(rows(1 + turn * 1000, &|process| format!("job{process}")));
        }
        assert!(summed.whole.ios.len() <= ROWS_MOST, "{}", summed.whole.ios.len());
        assert_eq!(summed.whole.ios.iter().map(|row| row.ios).sum::<u64>(), 50 * 1000 + 5);
    }
}

//! What did a whole watch see? Sums of its intervals.

use std::collections::{BTreeMap, VecDeque};

use iostack_model::answers::{OwnedIo, ProcessWait, WatchSlice, WatchedDevice};
use iostack_model::{HEAT_COLUMNS, Heat, Nanos};

/// Slow I/Os, long sleeps, flushes and discards that are kept: the longest of each.
const KEPT: usize = 200;

/// Device, and its I/Os by cell of latency.
type DeviceCells = (String, Vec<(u32, u64)>);

/// Sums of the intervals so far, and the latencies of each.
#[derive(Clone, Debug, Default)]
pub struct Summed {
    /// Sums; of slow I/Os, sleeps and events the longest.
    pub whole: WatchSlice,
    /// Latencies of the last intervals by device: as many as a heat map has columns.
    columns: VecDeque<Vec<DeviceCells>>,
}

impl Summed {
    /// Adds an interval.
    pub fn add(&mut self, slice: WatchSlice) {
        let whole = &mut self.whole;
        whole.ended_unix_ns = slice.ended_unix_ns;
        whole.elapsed.0 += slice.elapsed.0;
        whole.lost += slice.lost;
        whole.runs += slice.runs;
        whole.kernel_cost_ns += slice.kernel_cost_ns;
        whole.own_cost_ns += slice.own_cost_ns;
        whole.ios = joined(std::mem::take(&mut whole.ios), slice.ios, io_key, |sum, each| {
            sum.ios += each.ios;
            sum.bytes += each.bytes;
            sum.queue_ns += each.queue_ns;
            sum.device_ns += each.device_ns;
            sum.slowest_ns = sum.slowest_ns.max(each.slowest_ns);
        });
        whole.waits = joined(std::mem::take(&mut whole.waits), slice.waits, wait_key, |sum, each| {
            sum.sleeps += each.sleeps;
            sum.slept_ns += each.slept_ns;
            sum.runnable_ns += each.runnable_ns;
            sum.cpu_ns += each.cpu_ns;
        });
        self.columns
            .push_back(slice.devices.iter().map(|each| (each.name.clone(), each.cells.clone())).collect());
        if self.columns.len() > HEAT_COLUMNS {
            self.columns.pop_front();
        }
        whole.devices = joined(std::mem::take(&mut whole.devices), slice.devices, device_key, |sum, each| {
            sum.cells = together(&sum.cells, &each.cells);
            sum.kernel_ios += each.kernel_ios;
        });
        longest(&mut whole.slow, slice.slow, iostack_model::answers::SlowIo::whole_ns);
        longest(&mut whole.sleeps, slice.sleeps, |sleep| sleep.slept_ns + sleep.runnable_ns);
        longest(&mut whole.events, slice.events, |event| event.took_ns);
    }

    /// Latency over time of each device, in the last intervals; `interval` is the length of one.
    pub fn heat(&self, interval: Nanos) -> Vec<(String, Heat)> {
        let names = self.whole.devices.iter().map(|device| &device.name);
        let of_device = |name: &String| {
            let column = |devices: &Vec<DeviceCells>| {
                let found = devices.iter().find(|(device, _)| device == name);
                found.map(|(_, cells)| cells.clone()).unwrap_or_default()
            };
            (name.clone(), Heat { length: interval, columns: self.columns.iter().map(column).collect() })
        };
        names.map(of_device).collect()
    }
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
                cells: vec![(40, 3)],
                kernel_ios: 3,
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
        assert_eq!(summed.whole.devices[0].cells, [(40, 6)]);
        assert_eq!(summed.heat(Nanos::secs(1))[0].1.columns, [[(40, 3)], [(40, 3)]]);
        (0..2 * KEPT as u64).for_each(|_| summed.add(slice.clone()));
        assert_eq!(summed.whole.slow.len(), KEPT);
    }
}

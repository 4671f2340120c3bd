//! I/Os of a watched host by owner, device and kind; and what held the slowest.

use iostack_model::answers::{Watch, Why};
use iostack_model::{Direction, cell_range};

use super::Table;
use super::columns::Columns;

/// A row an owner, device and kind.
pub fn of_watch(watch: &Watch) -> Table {
    let rows: Vec<_> = watch.whole.ios.iter().collect();
    let mut columns = Columns::of_rows(&rows);
    columns.key("device", "kernel name of the device", |row| Some(row.device.clone()));
    columns.key("kind", "kind of the I/Os", |row| Some(row.kind.name().to_owned()));
    columns.key("cgroup", "control group that is charged", |row| Some(row.owner.cgroup.clone()));
    columns.number_key(
        "process",
        "number of the process, or of the kernel's thread; 0: nobody's, or of ended ones",
        |row| Some(u64::from(row.owner.process)),
    );
    columns.key("name", "name of the process, or of the kernel's thread", |row| Some(row.owner.name.clone()));
    columns
        .key("how", "how the owner was found, or why there is none", |row| Some(row.how.words().to_owned()));
    columns.counter("ios", "I/Os as /proc/diskstats counts them", |row| Some(row.ios));
    columns.counter("bytes", "bytes of all bios of the owner", |row| Some(row.bytes));
    columns.counter("queue_ns", "time from the first bio to the issue, summed", |row| Some(row.queue_ns));
    columns.counter("device_ns", "time from the issue to the end, summed", |row| Some(row.device_ns));
    columns.count("slowest_ns", "latency of the slowest", |row| Some(row.slowest_ns));
    Table { columns: columns.made }
}

/// Octaves whose ends are the edges of a histogram: 1 us to 17 s, always the same.
const OCTAVES: [u32; 25] =
    [9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33];

/// `OpenMetrics` of a watch: its rows, and for each device a histogram of latencies, whose edges are octaves.
pub fn metrics_of_watch(watch: &Watch) -> String {
    let mut text = super::openmetrics(&of_watch(watch));
    text.truncate(text.len() - "# EOF\n".len());
    text += "# TYPE iostack_latency_seconds histogram\n# UNIT iostack_latency_seconds seconds\n\
             # HELP iostack_latency_seconds time from the first bio to the end\n";
    text.extend(watch.whole.devices.iter().flat_map(|device| {
        [(Direction::Read, "read"), (Direction::Write, "write")].map(|(direction, name)| {
            let labels = format!("device=\"{}\",direction=\"{name}\"", device.name);
            histogram(&labels, &device.cells_of(direction))
        })
    }));
    let lost = watch.whole.lost + watch.whole.missed;
    text + &format!(
        "# TYPE iostack_lost counter\n# HELP iostack_lost events, bios and rows that were not seen or found no place\n\
         iostack_lost_total {lost}\n# EOF\n"
    )
}

/// The buckets of one histogram.
fn histogram(labels: &str, cells: &[(u32, u64)]) -> String {
    let up_to = |last: u32| cells.iter().filter(|(cell, _)| *cell <= last).map(|(_, ios)| ios).sum::<u64>();
    let bucket = |edge: &str, last| {
        format!("iostack_latency_seconds_bucket{{{labels},le=\"{edge}\"}} {}\n", up_to(last))
    };
    let edges = OCTAVES.map(|octave| {
        let last = 4 * (octave - 5) + 3;
        bucket(&(cell_range(last as usize).1 as f64 / 1e9).to_string(), last)
    });
    edges.concat() + &bucket("+Inf", u32::MAX)
}

/// A row a slow I/O or a long sleep.
pub fn of_why(why: &Why) -> Table {
    let rows: Vec<_> = why.findings.iter().collect();
    let mut columns = Columns::of_rows(&rows);
    columns.number_key("ended_unix_ns", "end, since 1970 UTC", |row| Some(row.ended_unix_ns));
    columns.key("name", "name of the process", |row| Some(row.owner.name.clone()));
    columns.number_key("process", "number of the process; 0: nobody's", |row| {
        Some(u64::from(row.owner.process))
    });
    columns.key("cgroup", "control group of the process", |row| Some(row.owner.cgroup.clone()));
    columns.key("device", "kernel name of the device; empty for a sleep", |row| Some(row.device.clone()));
    columns.key("what", "kind of I/O, or the thread that slept", |row| Some(row.what.clone()));
    columns.key("cause", "what held it", |row| Some(crate::pages::cause_of_wait(row.cause).to_owned()));
    columns.count("took_ns", "how long it took", |row| Some(row.took.0));
    columns.count("sure", "1: the evidence leaves no other cause", |row| Some(u64::from(row.sure)));
    columns.note("evidence", "sentences of evidence", |row| Some(row.evidence.join(" ")));
    Table { columns: columns.made }
}

#[cfg(test)]
mod tests {
    use iostack_model::answers::{WatchSlice, WatchedDevice};

    use super::*;
    use crate::fixture;

    #[test]
    fn a_histogram_counts_all_up_to_each_edge() {
        let watch: Watch = fixture::answer("watch");
        // 512 to 639 ns, 896 to 1023 ns, 1024 to 1279 ns, and 2 minutes.
        let cells = vec![(16, 1), (19, 2), (20, 4), (4 * (36 - 5) + 3, 8)];
        let device = WatchedDevice {
            name: "vda".to_owned(),
            cells,
            reads: vec![(20, 3)],
            kernel_ios: 15,
            ..WatchedDevice::default()
        };
        let whole = WatchSlice { devices: vec![device], lost: 7, ..WatchSlice::default() };
        let text = metrics_of_watch(&Watch { whole, ..watch });
        let says = |direction: &str, edge: &str, ios: u64| {
            let line = format!("{{device=\"vda\",direction=\"{direction}\",le=\"{edge}\"}} {ios}\n");
            assert!(text.contains(&line), "{line}{text}");
        };
        says("read", "0.000001023", 0);
        says("read", "0.000002047", 3);
        says("read", "+Inf", 3);
        says("write", "0.000001023", 3);
        says("write", "0.000002047", 4);
        says("write", "17.179869183", 4);
        says("write", "+Inf", 12);
        assert!(text.ends_with("iostack_lost_total 7\n# EOF\n"), "{text}");
        assert_eq!(text.matches("# EOF").count(), 1);
    }
}

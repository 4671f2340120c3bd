//! I/Os of a watched host by owner, device and kind.

use iostack_model::answers::Watch;

use super::Table;
use super::columns::Columns;

/// A row an owner, device and kind.
pub fn of_watch(watch: &Watch) -> Table {
    let rows: Vec<_> = watch.whole.ios.iter().collect();
    let mut columns = Columns::of_rows(&rows);
    columns.key("device", "kernel name of the device", |row| Some(row.device.clone()));
    columns.key("kind", "kind of the I/Os", |row| Some(row.kind.name().to_owned()));
    columns.key("cgroup", "control group that is charged", |row| Some(row.owner.cgroup.clone()));
    columns.number_key("process", "number of the process; 0: nobody's", |row| {
        Some(u64::from(if row.is_owned() { row.owner.process } else { 0 }))
    });
    columns.key("name", "name of the process, or of the kernel's thread", |row| Some(row.owner.name.clone()));
    columns.key("how", "how the owner was found, or why there is none", |row| Some(row.how.words().to_owned()));
    columns.counter("ios", "I/Os as /proc/diskstats counts them", |row| Some(row.ios));
    columns.counter("bytes", "bytes of all bios of the owner", |row| Some(row.bytes));
    columns.counter("queue_ns", "time from the first bio to the issue, summed", |row| Some(row.queue_ns));
    columns.counter("device_ns", "time from the issue to the end, summed", |row| Some(row.device_ns));
    columns.count("slowest_ns", "latency of the slowest", |row| Some(row.slowest_ns));
    Table { columns: columns.made }
}

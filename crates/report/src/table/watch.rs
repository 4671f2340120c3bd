//! I/Os of a watched host by owner, device and kind; and what held the slowest.

use iostack_model::answers::{Watch, Why};

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
    columns
        .key("how", "how the owner was found, or why there is none", |row| Some(row.how.words().to_owned()));
    columns.counter("ios", "I/Os as /proc/diskstats counts them", |row| Some(row.ios));
    columns.counter("bytes", "bytes of all bios of the owner", |row| Some(row.bytes));
    columns.counter("queue_ns", "time from the first bio to the issue, summed", |row| Some(row.queue_ns));
    columns.counter("device_ns", "time from the issue to the end, summed", |row| Some(row.device_ns));
    columns.count("slowest_ns", "latency of the slowest", |row| Some(row.slowest_ns));
    Table { columns: columns.made }
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

//! Which columns does a served drive have? A row a kind of I/O.

use iostack_model::answers::{Served, ServedKind};

use super::Table;
use super::columns::Columns;

/// Reads, writes, trims and flushes with their rates and latencies.
pub fn of_served(served: &Served) -> Table {
    let seconds = served.elapsed.as_secs_f64();
    let rows: Vec<&ServedKind> = served.served.iter().collect();
    let mut columns = Columns::of_rows(&rows);
    columns.key("drive", "the simulated drive, as typed", |_| Some(served.drive.clone()));
    columns.key("kind", "read, write, trim or flush", |row| Some(row.name.clone()));
    columns.counter("ios", "I/Os answered", |row| Some(row.ios));
    columns.counter("bytes", "bytes of them", |row| Some(row.bytes.0));
    columns.number("iops_per_second", "I/Os a second, over the whole time", |row| {
        (seconds > 0.0).then(|| row.ios as f64 / seconds)
    });
    columns.latency("asked", "latency that the model asks for", |row| Some(row.asked.clone()));
    columns.latency("late", "how much later answers left, of all kinds", |_| Some(served.late.clone()));
    Table { columns: columns.made }
}

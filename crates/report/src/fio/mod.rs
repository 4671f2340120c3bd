//! What do fio's readers expect?
//!
//! fio-plot, CBT, kubestr, YABS and `fio_jsonplus_clat2csv` parse fio's output, so ours has the same keys, types and
//! units: the forms of fio 3.33, whose own output the tests compare with key by key.
//!
//!   normal the report for people
//!   json   the report, and with `plus` the whole histogram
//!   terse  one line of fields for each job
//!   logs   one line for each I/O or each span
//!
//! What an outcome does not hold is not made up: our latency includes the submission, so `clat_ns` equals `lat_ns`;
//! the depth levels show the mean depth only; the device's `read_ticks`, `write_ticks` and `in_queue` are 0.
//! Start reading at `report`, then `normal`.

#![expect(
    clippy::format_push_string,
    reason = "a report is made once; `write!` would return an error that cannot happen"
)]

mod eta;
mod histogram;
mod logs;
mod normal;
mod report;
mod shares;
mod side;
mod spread;
mod steady;
mod terse;
mod unified;
mod value;

pub use eta::eta;
pub use logs::{log_names, logs};
pub use normal::normal;
pub use report::json;
pub use terse::{TERSE_VERSION, terse};

/// fio's version whose forms these are, and ours; it parses like one of fio's development versions.
pub fn version(iostack: &str) -> String {
    format!("fio-3.33-iostack-{iostack}")
}

#[cfg(test)]
mod tests;

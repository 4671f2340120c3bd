//! What does an application ask of storage, and what came of it?
//!
//! An application is a job whose next I/O depends on its data: a page that is cached is not read, a commit waits for the log,
//! a lock for whoever holds it. So its figure is transactions per second, and its latency that of a transaction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bins, Bytes};

/// An application as a job.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum App {
    /// TPC-C on a database like `InnoDB`.
    Tpcc(Tpcc),
    /// Postmark: many small files.
    Postmark(Postmark),
}

impl App {
    /// Its word in job files.
    pub const fn name(&self) -> &'static str {
        match self {
            App::Tpcc(_) => "tpcc",
            App::Postmark(_) => "postmark",
        }
    }
}

/// How transactions reach the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Commit {
    /// Whoever commits while the log is being flushed shares the next flush.
    Group,
    /// One after the other, each with a flush of its own: `MySQL` 5.0 and 5.1 with the binary log on.
    Serial,
}

/// TPC-C as storage sees it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tpcc {
    /// About 70 MB of data each.
    pub warehouses: u32,
    /// Each begins a transaction when its last one has ended.
    pub users: u32,
    /// The buffer pool.
    pub pool: Bytes,
    /// The redo log, all its files together.
    pub redo_log: Bytes,
    /// Users that the server lets in at a time; 0 is all.
    pub inside: u32,
    /// How transactions reach the log.
    pub commit: Commit,
}

impl Default for Tpcc {
    fn default() -> Self {
        Tpcc {
            warehouses: 10,
            users: 100,
            pool: Bytes::mib(1536),
            redo_log: Bytes::mib(768),
            inside: 8,
            commit: Commit::Group,
        }
    }
}

/// Postmark as storage sees it. Each thread of the job runs one, with files of its own.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Postmark {
    /// Files that there are at first.
    pub files: u32,
    /// Bytes of the smallest.
    pub smallest: Bytes,
    /// Bytes of the largest.
    pub largest: Bytes,
    /// Transactions of each thread.
    pub transactions: u64,
}

impl Default for Postmark {
    fn default() -> Self {
        Postmark { files: 500, smallest: Bytes(500), largest: Bytes(9_770), transactions: 500 }
    }
}

/// What an application did. All figures cover the measured time.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct AppUse {
    /// [`App::name`].
    pub name: String,
    /// Transactions that ended.
    pub transactions: u64,
    /// The same per second.
    pub per_second: f64,
    /// From the first statement to the answer.
    pub latency: Bins,
    /// Transactions by kind, in the order of the application's rules.
    pub kinds: Vec<AppKind>,
    /// Where the time of a transaction went, most first. The sum is that of `latency`.
    pub parts: Vec<AppPart>,
    /// Share of looks into the application's own cache that found their page; `None` without one.
    pub hit_share: Option<f64>,
    /// Reads per transaction.
    pub reads: f64,
    /// Writes per transaction, of data and of the log.
    pub writes: f64,
    /// Flushes per transaction.
    pub flushes: f64,
    /// Clocks of a core per transaction, those of its I/O not counted.
    pub clocks: f64,
}

/// Transactions of one kind.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct AppKind {
    /// `new order`.
    pub name: String,
    /// How many ended.
    pub count: u64,
}

/// A part of the time of a transaction.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct AppPart {
    /// `processor`, `reads`, `log`.
    pub name: String,
    /// Mean of all transactions, ns.
    pub mean_ns: f64,
}

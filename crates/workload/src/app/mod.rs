//! What does an application ask next?
//!
//! ```text
//!   actor (user, page flusher) ──► Application::next ──► Step ──► (whoever runs it) ──► next, when the step is through
//!                                       │ woken ──► other actors that may go on
//! ```
//!
//! An application is a state machine for each of its actors over what they share: a cache, locks, a log. It decides and does
//! nothing: it has no clock, and whoever runs it says when a step is through. The same job and seed, with the same order of
//! steps, ask for the same bytes.
//!
//! Start reading at [`Application::next`], then `tpcc/user.rs`.

mod lock;
mod lru;
mod postmark;
mod tpcc;

use iostack_model::{App, Bytes, Job, Nanos};

use crate::{Region, WorkloadError};
pub use lock::{Gate, Locks};
pub use lru::{Lru, Slot};
pub use postmark::Postmark;
pub use tpcc::Tpcc;

/// What an actor does next. The next one is asked for when this is through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Read, and wait for it.
    Read {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
        /// What the time counts as.
        part: Part,
    },
    /// Write, and wait for it.
    Write {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
        /// What the time counts as.
        part: Part,
    },
    /// Write, and go on at once.
    Post {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
    },
    /// Wait for everything posted.
    Drain,
    /// Flush, and wait for it.
    Flush(Part),
    /// So many clocks of a core.
    Compute(u32),
    /// Nothing for so long.
    Pause(Nanos, Part),
    /// Nothing, until [`Application::woken`] names this actor.
    Wait(Part),
    /// A transaction of this kind has ended, and the next one begins.
    End(usize),
    /// Nothing more, ever.
    Over,
}

/// What the time of a transaction goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Clocks, and waiting for a core.
    Processor,
    /// Reads of data, and pages that somebody else is reading.
    Reads,
    /// Writes of data that a user waits for.
    Writes,
    /// Writes and flushes of the log, and waiting for the turn.
    Log,
    /// Waiting for a page that may be given up, or for room in the log: others write first.
    Cleaning,
    /// Waiting for a lock on a row.
    Rows,
    /// Waiting to be let in.
    Entry,
    /// The client and the network.
    Client,
}

impl Part {
    /// All of them.
    pub const ALL: [Part; 8] = [
        Part::Processor,
        Part::Reads,
        Part::Writes,
        Part::Log,
        Part::Cleaning,
        Part::Rows,
        Part::Entry,
        Part::Client,
    ];

    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Part::Processor => "processor",
            Part::Reads => "reads",
            Part::Writes => "writes",
            Part::Log => "log",
            Part::Cleaning => "waiting for page writes",
            Part::Rows => "locked rows",
            Part::Entry => "waiting to be let in",
            Part::Client => "client and network",
        }
    }
}

/// How an actor asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// Past the operating system's page cache.
    pub direct: bool,
    /// I/Os in flight at most.
    pub depth: u32,
}

/// A state machine for each actor, and what they share.
pub trait Actors {
    /// How many there are.
    fn actors(&self) -> u32;

    /// How this one asks.
    fn manner(&self, actor: u32) -> Manner;

    /// The step of `actor`, whose last step is through.
    fn next(&mut self, actor: u32) -> Step;

    /// An actor that waited and may go on.
    fn woken(&mut self) -> Option<u32>;

    /// Measuring starts.
    fn begin(&mut self);

    /// Looks into its cache and those that found their page, since [`Actors::begin`].
    fn hits(&self) -> Option<(u64, u64)>;

    /// The names of the kinds of transactions.
    fn kinds(&self) -> &'static [&'static str];
}

/// An application that runs.
pub enum Application {
    /// TPC-C.
    Tpcc(Box<Tpcc>),
    /// Postmark.
    Postmark(Box<Postmark>),
}

impl Application {
    /// The application of `job`, on a target of `capacity` bytes with blocks of `block`.
    pub fn new(job: &Job, capacity: Bytes, block: Bytes) -> Result<Application, WorkloadError> {
        let app = job.app.as_ref().expect("asked of jobs that are an application");
        let region = crate::region(job, capacity, 1, 0)?;
        let needed = needed(app, job);
        if region.length < needed {
            return Err(too_small(app, needed, region));
        }
        Ok(match app {
            App::Tpcc(load) => Application::Tpcc(Box::new(Tpcc::new(load, region, block, job.seed))),
            App::Postmark(load) => {
                Application::Postmark(Box::new(Postmark::new(load, job.threads, region, job.seed)))
            }
        })
    }

    /// The machine behind it.
    pub fn actors(&mut self) -> &mut dyn Actors {
        match self {
            Application::Tpcc(tpcc) => &mut **tpcc,
            Application::Postmark(postmark) => &mut **postmark,
        }
    }

    /// The next step of an actor.
    pub fn next(&mut self, actor: u32) -> Step {
        match self {
            Application::Tpcc(tpcc) => tpcc.next(actor),
            Application::Postmark(postmark) => postmark.next(actor),
        }
    }
}

/// Bytes of the target that it uses.
fn needed(app: &App, job: &Job) -> u64 {
    match app {
        App::Tpcc(load) => tpcc::needed(load),
        App::Postmark(load) => postmark::needed(load, job.threads),
    }
}

fn too_small(app: &App, needed: u64, region: Region) -> WorkloadError {
    WorkloadError::Impossible {
        what: format!("{} needs {}, and the region has {}", app.name(), Bytes(needed), Bytes(region.length)),
        remedy: "make it smaller, or take a larger target".to_owned(),
    }
}

/// Refuses an application that cannot run.
pub(crate) fn validate(app: &App, job: &Job, target_size: Bytes) -> Result<(), WorkloadError> {
    let refuse = |refused: bool, what: &str, remedy: &str| {
        let error = WorkloadError::Impossible { what: what.to_owned(), remedy: remedy.to_owned() };
        if refused { Err(error) } else { Ok(()) }
    };
    match app {
        App::Tpcc(load) => {
            refuse(job.runtime.is_none(), "TPC-C never ends by itself", "give a runtime")?;
            let most = u64::from(load.users.max(load.warehouses));
            refuse(
                load.users == 0 || load.warehouses == 0,
                "TPC-C without users or warehouses",
                "give at least 1",
            )?;
            refuse(most > 4000, "more than 4000 users or warehouses", "give fewer")?;
            refuse(load.pool < Bytes::mib(8), "a pool below 8 MiB", "give a larger one")?;
            refuse(load.redo_log < Bytes::mib(8), "a redo log below 8 MiB", "give a larger one")?;
        }
        App::Postmark(load) => {
            refuse(
                load.files == 0 || load.transactions == 0,
                "Postmark without files or transactions",
                "give some",
            )?;
            let sizes = load.smallest.0 > 0 && load.smallest <= load.largest && load.largest <= Bytes::mib(1);
            refuse(!sizes, "files of these sizes", "give file_size = SMALLEST-LARGEST, up to 1 MiB")?;
        }
    }
    let region = crate::region(job, target_size, 1, 0)?;
    let needed = needed(app, job);
    if region.length < needed { Err(too_small(app, needed, region)) } else { Ok(()) }
}

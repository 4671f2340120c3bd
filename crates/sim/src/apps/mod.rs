//! What would a program ask?
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

mod application;
mod lock;
mod lru;
mod postmark;
mod tpcc;

use iostack_model::{App, Bytes, Job};
use iostack_workload::{Region, WorkloadError, region};

pub use application::{Application, Manner, Part, Step};
use postmark::Postmark;
use tpcc::Tpcc;

/// The application of `job`, on a target of `capacity` bytes with blocks of `block`.
pub fn application(job: &Job, capacity: Bytes, block: Bytes) -> Result<Box<dyn Application>, WorkloadError> {
    let app = job.app.as_ref().expect("asked of jobs that are an application");
    let region = validate(app, job, capacity)?;
    Ok(match app {
        App::Tpcc(load) => Box::new(Tpcc::new(load, region, block, job.seed)),
        App::Postmark(load) => Box::new(Postmark::new(load, job.threads, region, job.seed)),
    })
}

/// Refuses an application that cannot run; the region that it runs in.
pub fn validate(app: &App, job: &Job, target_size: Bytes) -> Result<Region, WorkloadError> {
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
    let region = region(job, target_size, 1, 0)?;
    let needed = match app {
        App::Tpcc(load) => tpcc::needed(load),
        App::Postmark(load) => postmark::needed(load, job.threads),
    };
    let what = format!("{} needs {}, and the region has {}", app.name(), Bytes(needed), Bytes(region.length));
    refuse(region.length < needed, &what, "make it smaller, or take a larger target")?;
    Ok(region)
}

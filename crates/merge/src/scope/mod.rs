//! How does code wait for a request without holding a thread?
//!
//! ```text
//!   scope(2, |s| { s.spawn(|| file.read_exact_at(..)); .. })
//!     caller ── tasks ──► executor thread: coroutine, coroutine, coroutine ..   (executor.rs)
//!                              │ each runs until it reads or writes, then the next
//!                              └──► lane of the file: one enter for all that was queued
//! ```
//!
//! Start reading at [`scope`](crate::scope()), then `executor.rs`; what is unsafe is in `sys/coroutine.rs`, and the contract in
//! `sys/scope.rs`.

mod executor;
mod join;
mod lanes;
mod pool;
mod wait;

use std::sync::Arc;

pub use crate::sys::Scope;
pub(crate) use crate::sys::is_inside;
use crate::sys::{Device, Pending, Request, Start, scoped, suspend};
pub use join::JoinHandle;
pub(crate) use lanes::Lanes;
use pool::Pool;
pub(crate) use wait::wait_for;

/// Options of a scope's coroutines.
#[derive(Clone, Debug)]
pub struct ScopeOptions {
    /// Number of executor threads.
    pub threads: usize,
    /// Memory of a coroutine's stack, bytes, rounded up to pages; what is not touched is not used. A page below it cannot be
    /// touched: who needs more gets SIGSEGV.
    pub stack_bytes: usize,
}

impl Default for ScopeOptions {
    /// Takes as many threads as processors, and stacks of 64 KiB: a panic that prints its backtrace takes up to 24 KiB of
    /// it (measured on `x86_64`).
    fn default() -> ScopeOptions {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        ScopeOptions { threads, stack_bytes: 64 * 1024 }
    }
}

/// Runs [`scope`](crate::scope()), whose contract stands where it is called.
pub(crate) fn run<'env, T>(
    options: &ScopeOptions,
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
) -> T {
    assert!(options.threads > 0, "a scope needs a thread");
    if is_inside()
        && let Some(pool) = executor::pool()
    {
        return scoped(pool, |poll| wait_for(poll), body);
    }
    let executors = Executors::new(options);
    let pool: Arc<dyn Start> = Arc::clone(&executors.pool) as _;
    scoped(pool, |poll| wait_for(poll), body)
}

/// Threads that run a pool's coroutines; dropping waits for them.
struct Executors {
    pool: Arc<Pool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Executors {
    fn new(options: &ScopeOptions) -> Executors {
        let pool = Arc::new(Pool::new(options.threads, options.stack_bytes));
        let mut executors = Executors { pool, threads: Vec::new() };
        for index in 0..options.threads {
            let pool = Arc::clone(&executors.pool);
            let builder = std::thread::Builder::new().name(format!("executor-{index}"));
            let thread = builder.spawn(move || executor::run(pool, index));
            executors.threads.push(thread.expect("a thread can be made"));
        }
        executors
    }
}

impl Drop for Executors {
    fn drop(&mut self) {
        self.pool.close();
        for thread in self.threads.drain(..) {
            thread.join().expect("an executor that panics ends the process");
        }
    }
}

/// Lets the other coroutines of the thread run; outside of a coroutine, other threads.
pub fn yield_now() {
    if is_inside() {
        executor::is_ready();
        suspend();
    } else {
        std::thread::yield_now();
    }
}

/// Queues a request of the coroutine that runs here; gives it back where none runs. [`wait_for`] lets others run until it, or a
/// group of them, is done.
pub(crate) fn submit(device: &dyn Device, file_id: u64, request: Request) -> Result<(), Request> {
    if is_inside() { executor::submit(device, file_id, request) } else { Err(request) }
}

/// Lets others run until that is true, which is looked at whenever a request of this coroutine is through.
pub(crate) fn wait_until(mut is_done: impl FnMut() -> bool) {
    while !is_done() {
        suspend();
    }
}

/// Carries a request of the calling coroutine: others run until it is done. Gives it back where no coroutine runs.
pub(crate) fn carry(
    device: &dyn Device,
    file_id: u64,
    request: Request,
    pending: &Pending<'_>,
) -> Result<(), Request> {
    submit(device, file_id, request)?;
    wait_until(|| pending.is_done());
    Ok(())
}

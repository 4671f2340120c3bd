//! How does code wait for a request without holding a thread?
//!
//! ```text
//!   scope(2, |s| { s.spawn(|| file.read_exact_at(..)); .. })
//!     caller ── tasks ──► executor thread: coroutine, coroutine, coroutine ..   (executor.rs)
//!                              │ each runs until it reads or writes, then the next
//!                              └──► lane of the file: one enter for all that was queued
//! ```
//!
//! Start reading at [`scope`], then `executor.rs`; what is unsafe is in `sys/coroutine.rs`.

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

/// How a scope runs its coroutines.
#[derive(Clone, Debug)]
pub struct ScopeOptions {
    /// Executor threads.
    pub threads: usize,
    /// Memory of a coroutine's stack, bytes, rounded up to pages; what is not touched is not used. A page below it cannot be
    /// touched: who needs more gets SIGSEGV.
    pub stack_bytes: usize,
}

impl Default for ScopeOptions {
    /// As many threads as processors, and stacks of 64 KiB: a panic that prints its backtrace takes up to 24 KiB of it (measured on
    /// `x86_64`).
    fn default() -> ScopeOptions {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        ScopeOptions { threads, stack_bytes: 64 * 1024 }
    }
}

/// Runs `body`, which starts coroutines on `threads` executor threads; returns when all of them are through.
///
/// It is used as [`std::thread::scope`] is: what a coroutine borrows may lie on the caller's stack. But a coroutine that reads or
/// writes a [`File`](crate::File) does not block its thread: others run, and when all of a thread wait, their requests go as one
/// batch. So many coroutines cost few system calls and no switches of threads.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # let cost = iostack_model::BatchCost { fixed_ns: 100.0, each_ns: 100.0 };
/// # let file = iostack_merge::Options::default().simulated(&iostack_merge::Simulated::new(1 << 20, cost));
/// let mut blocks = vec![[0_u8; 4096]; 32];
/// iostack_merge::scope(2, |s| {
///     for (index, block) in blocks.iter_mut().enumerate() {
///         let file = &file;
///         s.spawn(move || file.read_exact_at(block, index as u64 * 4096).expect("the device is sound"));
///     }
/// });
/// # Ok(())
/// # }
/// ```
///
/// What a coroutine borrows must outlive the scope:
///
/// ```compile_fail,E0597
/// iostack_merge::scope(1, |s| {
///     let mut buffer = [0_u8; 4096];
///     s.spawn(|| buffer[0] = 1);
/// });
/// ```
///
/// * **What blocks, blocks all.** Only reads and writes of a `File`, [`JoinHandle::join`], [`block_on`](crate::block_on) and
///   [`yield_now`] let others run. A mutex, a channel, a sleep or a long computation holds the thread and all its coroutines: who
///   never waits starves the others. A lock that is held while one reads can thus be waited for for ever by another coroutine of
///   the same thread.
/// * **Latency.** A thread with n requests under way sleeps until n/4 of them are through (one, if there are below 8), so a quick
///   one may wait for slower ones.
/// * **No moving.** A coroutine stays on the thread that started it; thread-locals are shared by all of a thread.
/// * **Unwinding.** A read within a destructor while a panic unwinds blocks the thread.
/// * **Panics.** The others run to their end; then the first panic that no `join` has taken goes on in the caller.
/// * **Nested.** A scope within a coroutine runs its coroutines on the executors of the outer one; `threads` does not count.
/// * **Fork.** A child has none of the executors and may only call what is safe after fork in a program with threads (`exec`).
/// * **Cost.** Threads are made for each scope, some 50 us; a coroutine costs below 1 us; stacks are kept and used again.
///
/// # Panics
///
/// If `threads` is 0, if no thread can be made, and with the panic of a coroutine. Where no stack can be mapped the process ends:
/// who waits for the coroutine could not go on.
pub fn scope<'env, T>(threads: usize, body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T) -> T {
    ScopeOptions { threads, ..ScopeOptions::default() }.run(body)
}

impl ScopeOptions {
    /// As [`scope`].
    ///
    /// # Panics
    ///
    /// As [`scope`].
    pub fn run<'env, T>(&self, body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T) -> T {
        assert!(self.threads > 0, "a scope needs a thread");
        if is_inside()
            && let Some(pool) = executor::pool()
        {
            return scoped(pool, |poll| wait_for(poll), body);
        }
        let executors = Executors::new(self);
        let pool: Arc<dyn Start> = Arc::clone(&executors.pool) as _;
        scoped(pool, |poll| wait_for(poll), body)
    }
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

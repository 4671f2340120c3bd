//! What does a caller of coroutines promise?
//!
//! Everything else about them is safe; see `scope/mod.rs`.

use super::Scope;
use crate::ScopeOptions;
use crate::scope::run;

/// Runs `body`, which starts coroutines on `threads` executor threads; returns when all of them are through.
///
/// It is used as [`std::thread::scope`] is: what a coroutine borrows may lie on the caller's stack. But a coroutine that reads or
/// writes a [`File`](crate::File) does not block its thread: others run, and when all of a thread wait, their requests go as one
/// batch. So many coroutines cost few system calls and no switches of threads.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # let cost = iostack_batch::BatchCost { fixed_ns: 100.0, each_ns: 100.0 };
/// # let file = iostack_merge::Options::default().simulated(&iostack_merge::Simulated::new(1 << 20, cost));
/// let mut blocks = vec![[0_u8; 4096]; 32];
/// // SAFETY: a coroutine only reads; no initialiser of a thread-local does.
/// unsafe {
///     iostack_merge::scope(2, |s| {
///         for (index, block) in blocks.iter_mut().enumerate() {
///             let file = &file;
///             s.spawn(move || file.read_exact_at(block, index as u64 * 4096).expect("the device is sound"));
///         }
///     });
/// }
/// # Ok(())
/// # }
/// ```
///
/// What a coroutine borrows must outlive the scope:
///
/// ```compile_fail,E0597
/// // SAFETY: nothing waits.
/// unsafe {
///     iostack_merge::scope(1, |s| {
///         let mut buffer = [0_u8; 4096];
///         s.spawn(|| buffer[0] = 1);
///     });
/// }
/// ```
///
/// # What to know
///
/// * **What blocks, blocks all.** Only reads and writes of a `File`, [`JoinHandle::join`](crate::JoinHandle::join),
///   [`block_on`](crate::block_on) and [`yield_now`](crate::yield_now) let others run. A mutex, a channel, a sleep or a long computation holds the thread and all its coroutines: who
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
/// # Safety
///
/// While a coroutine waits, others run **on its own thread**, in the middle of whatever it has called. Code that is sound only
/// because a call on its thread returns before the next begins must not be waited in. There is one such place that safe code can
/// reach: **the initialiser of a `thread_local!`**. A coroutine that waits there lets a second one initialise again, and the
/// standard library drops the value that the second then uses. So: nothing that a coroutine runs may wait (above: what lets others
/// run) in the initialiser of a thread-local, nor in a call back from code with `unsafe` that counts on running to its end. A
/// `RefCell`, `OnceCell` or `LazyCell` that is busy while one waits panics, a `Mutex` blocks, and neither harms.
///
/// Safe without a contract: [`block_on`](crate::block_on) with [`join_all`](crate::join_all) on each of a few threads, outside of
/// any scope. Futures are left only where it says `await`, which no initialiser can.
///
/// ```compile_fail,E0133
/// iostack_merge::scope(1, |_| ());
/// ```
///
/// # Panics
///
/// If `threads` is 0, if no thread can be made, and with the panic of a coroutine. Where no stack can be mapped the process ends:
/// who waits for the coroutine could not go on.
pub unsafe fn scope<'env, T>(
    threads: usize,
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
) -> T {
    run(&ScopeOptions { threads, ..ScopeOptions::default() }, body)
}

impl ScopeOptions {
    /// Runs `body` as [`scope`] does, with these options.
    ///
    /// # Safety
    ///
    /// As [`scope`].
    ///
    /// # Panics
    ///
    /// As [`scope`].
    pub unsafe fn run<'env, T>(&self, body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T) -> T {
        run(self, body)
    }
}

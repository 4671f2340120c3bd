//! What `iostack merge` promises to the library's coroutines.

use iostack_merge::Scope;

/// Coroutines on so many threads, which only measure: they wait in no initialiser of a thread-local.
pub(crate) fn scope<'env, T>(
    threads: usize,
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
) -> T {
    // SAFETY: what they run is `load.rs` and the recorder, whose thread-locals read nothing and wait for nobody.
    unsafe { iostack_merge::scope(threads, body) }
}

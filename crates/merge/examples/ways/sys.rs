//! What examples promise to `iostack_merge::scope`.

#![expect(unsafe_code, reason = "a scope has a contract")]

use iostack_merge::Scope;

/// Coroutines on so many threads, of code that waits in no initialiser of a thread-local.
pub(crate) fn scope<'env, T>(
    threads: usize,
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
) -> T {
    // SAFETY: the coroutines of an example read, write, count and meet; its thread-locals, if any, are constants.
    unsafe { iostack_merge::scope(threads, body) }
}

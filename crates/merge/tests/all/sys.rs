//! What tests promise to `iostack_merge::scope`.

#![expect(unsafe_code, reason = "a scope has a contract")]

use iostack_merge::{Scope, ScopeOptions};

/// Coroutines on so many threads.
pub(crate) fn scope<'env, T>(
    threads: usize,
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
) -> T {
    run(&ScopeOptions { threads, ..ScopeOptions::default() }, body)
}

/// The same with stacks of another size.
pub(crate) fn run<'env, T>(
    options: &ScopeOptions,
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
) -> T {
    // SAFETY: the thread-locals of the tests are constants, or, where one waits in an initialiser, not borrowed when the other's
    // value is dropped.
    unsafe { options.run(body) }
}

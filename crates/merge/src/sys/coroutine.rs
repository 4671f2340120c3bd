//! How does code leave its stack and come back, and what keeps that which it borrows alive?
//!
//! ```text
//!   scoped(|scope| ..) ── Scope ── lend(closure) ─► Task ('static) ── Coroutine::new ─► resume .. suspend .. resume
//!        │                                            │ run, or dropped: what it borrowed is gone
//!        └── waits until no task is left ◄────────────┘
//! ```
//!
//! A [`Task`] has forgotten how long what it borrows lives. That is sound because [`scoped`] returns only when every task has run
//! or was dropped; one that is forgotten keeps its scope waiting for ever. A [`Coroutine`] stays on the thread that made it and
//! is never dropped half way: its stack may be where a request in flight has its result and its buffer.

use std::any::Any;
use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::abort;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

use corosensei::stack::DefaultStack;
use corosensei::{CoroutineResult, Yielder};

/// Pool that runs tasks.
pub(crate) trait Start: Send + Sync {
    fn start(&self, task: Task);
}

/// Starts coroutines that may borrow what outlives the call of [`scope`](crate::scope()).
pub struct Scope<'scope, 'env: 'scope> {
    pub(crate) start: Arc<dyn Start>,
    pub(crate) debt: Arc<Debt>,
    /// Neither lifetime may shrink or grow, as in `std::thread::Scope`.
    borrows: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Debt of a scope: tasks that are not through, and the first panic that nobody asked for.
#[derive(Default)]
pub(crate) struct Debt {
    tasks: AtomicUsize,
    waker: Mutex<Option<Waker>>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Debt {
    /// Keeps the first panic for the scope's caller.
    pub(crate) fn note_panic(&self, payload: Box<dyn Any + Send>) {
        self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
    }

    fn poll(&self, waker: &Waker) -> Poll<()> {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
        if self.tasks.load(Ordering::Acquire) == 0 { Poll::Ready(()) } else { Poll::Pending }
    }

    fn paid(&self) {
        if self.tasks.fetch_sub(1, Ordering::AcqRel) == 1 {
            let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
            waker.inspect(Waker::wake_by_ref);
        }
    }
}

/// A closure whose scope waits for it.
pub(crate) struct Task {
    closure: Option<Box<dyn FnOnce() + Send>>,
    debt: Arc<Debt>,
}

impl Task {
    pub(crate) fn run(mut self) {
        if let Some(closure) = self.closure.take()
            && let Err(payload) = catch_unwind(AssertUnwindSafe(closure))
        {
            self.debt.note_panic(payload);
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // What it borrows goes before the scope is told.
        let closure = self.closure.take();
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(closure))) {
            self.debt.note_panic(payload);
        }
        self.debt.paid();
    }
}

impl<'scope> Scope<'scope, '_> {
    /// A task of the scope, which does not return before the task is through.
    pub(crate) fn lend(&'scope self, closure: impl FnOnce() + Send + 'scope) -> Task {
        let closure: Box<dyn FnOnce() + Send + 'scope> = Box::new(closure);
        // SAFETY: only the lifetime changes. The task counts as a debt until the closure is gone, and `scoped`, which cannot be
        // left otherwise, waits for that within 'scope.
        let closure = unsafe {
            std::mem::transmute::<Box<dyn FnOnce() + Send + 'scope>, Box<dyn FnOnce() + Send + 'static>>(
                closure,
            )
        };
        // Only what runs within the scope can come here, so the count is not yet final.
        self.debt.tasks.fetch_add(1, Ordering::Relaxed);
        Task { closure: Some(closure), debt: Arc::clone(&self.debt) }
    }
}

/// Calls `body` with a scope, and waits, by `wait`, until all its tasks are through; then a panic goes on.
///
/// `wait` calls what it is given until that is ready, and sleeps in between until the waker is called.
pub(crate) fn scoped<'env, T>(
    start: Arc<dyn Start>,
    wait: impl Fn(&mut dyn FnMut(&Waker) -> Poll<()>),
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
) -> T {
    let scope = Scope { start, debt: Arc::default(), borrows: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    let waited = catch_unwind(AssertUnwindSafe(|| wait(&mut |waker| scope.debt.poll(waker))));
    if waited.is_err() || scope.debt.tasks.load(Ordering::Acquire) != 0 {
        // What the tasks borrow would go away under them.
        abort();
    }
    let panic = scope.debt.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (result, panic) {
        (Ok(value), None) => value,
        (Err(payload), _) | (Ok(_), Some(payload)) => resume_unwind(payload),
    }
}

/// A stack with a page below it that cannot be touched.
pub(crate) struct Stack {
    stack: DefaultStack,
    bytes: usize,
}

impl Stack {
    pub(crate) fn new(bytes: usize) -> io::Result<Stack> {
        Ok(Stack { stack: DefaultStack::new(bytes)?, bytes })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

thread_local! {
    /// Leads from the coroutine that runs to who resumed it; null where none runs.
    static YIELDER: Cell<*const Yielder<(), ()>> = const { Cell::new(std::ptr::null()) };
}

/// A task on a stack of its own.
pub(crate) struct Coroutine {
    /// Empty only while it is taken apart.
    inner: Option<corosensei::Coroutine<(), (), ()>>,
    bytes: usize,
}

impl Coroutine {
    pub(crate) fn new(stack: Stack, task: Task) -> Coroutine {
        let inner = corosensei::Coroutine::with_stack(stack.stack, |yielder, ()| {
            YIELDER.set(yielder);
            task.run();
        });
        Coroutine { inner: Some(inner), bytes: stack.bytes }
    }

    /// Runs it until it waits, or is through: then its stack comes back.
    pub(crate) fn resume(mut self) -> Result<Coroutine, Stack> {
        let outer = YIELDER.replace(std::ptr::null());
        let result = self.inner.as_mut().map(|inner| inner.resume(()));
        YIELDER.set(outer);
        if let Some(CoroutineResult::Return(())) = result
            && let Some(inner) = self.inner.take()
        {
            return Err(Stack { stack: inner.into_stack(), bytes: self.bytes });
        }
        Ok(self)
    }
}

impl Drop for Coroutine {
    fn drop(&mut self) {
        if self.inner.is_some() {
            // Its stack holds what requests in flight write to, and what others borrow.
            abort();
        }
    }
}

/// True when a coroutine runs here that may wait. One that unwinds may not: the thread's count of panics is for one at a
/// time.
pub(crate) fn is_inside() -> bool {
    !YIELDER.get().is_null() && !std::thread::panicking()
}

/// Leaves the coroutine that runs here; returns when it is resumed.
pub(crate) fn suspend() {
    let yielder = YIELDER.get();
    assert!(!yielder.is_null(), "only a coroutine can be left");
    // SAFETY: the coroutine that runs on this thread has set it, and it lives on that coroutine's stack until it returns.
    let leads_back = unsafe { &*yielder };
    leads_back.suspend(());
    YIELDER.set(yielder);
}

/// Ends the process when what it guards unwinds.
pub(crate) struct NoUnwinding;

impl Drop for NoUnwinding {
    fn drop(&mut self) {
        if std::thread::panicking() {
            abort();
        }
    }
}

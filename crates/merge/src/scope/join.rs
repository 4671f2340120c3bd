//! What did a coroutine return?

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use super::wait_for;
use crate::sys::{Debt, Scope};

impl<'scope> Scope<'scope, '_> {
    /// Starts a coroutine: on an executor that sleeps, else on one after the other. One that was not started yet may be taken by
    /// another executor that has nothing to do.
    pub fn spawn<T: Send + 'scope>(
        &'scope self,
        body: impl FnOnce() -> T + Send + 'scope,
    ) -> JoinHandle<'scope, T> {
        let state = Mutex::new(PacketState { result: None, waker: None });
        let packet = Arc::new(Packet { state, debt: Arc::clone(&self.debt) });
        let theirs = Arc::clone(&packet);
        self.start.start(self.lend(move || theirs.finish(catch_unwind(AssertUnwindSafe(body)))));
        JoinHandle { packet, scope: PhantomData }
    }
}

/// A coroutine that was started. Dropping it lets the coroutine run on; its scope waits for it.
pub struct JoinHandle<'scope, T> {
    packet: Arc<Packet<T>>,
    scope: PhantomData<&'scope ()>,
}

impl<T> JoinHandle<'_, T> {
    /// Waits for what it returns, or for what it panicked with. A coroutine that joins lets others run.
    ///
    /// # Errors
    ///
    /// With the payload of the coroutine's panic, which then does not go on in the scope's caller.
    pub fn join(self) -> std::thread::Result<T> {
        wait_for(|waker| self.packet.poll(waker))
    }
}

struct Packet<T> {
    state: Mutex<PacketState<T>>,
    debt: Arc<Debt>,
}

struct PacketState<T> {
    result: Option<std::thread::Result<T>>,
    waker: Option<Waker>,
}

impl<T> Packet<T> {
    fn lock(&self) -> MutexGuard<'_, PacketState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, result: std::thread::Result<T>) {
        let mut state = self.lock();
        state.result = Some(result);
        let waker = state.waker.take();
        drop(state);
        waker.inspect(Waker::wake_by_ref);
    }

    fn poll(&self, waker: &Waker) -> Poll<std::thread::Result<T>> {
        let mut state = self.lock();
        state.result.take().map_or_else(
            || {
                state.waker = Some(waker.clone());
                Poll::Pending
            },
            Poll::Ready,
        )
    }
}

impl<T> Drop for Packet<T> {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(Err(payload)) = state.result.take() {
            self.debt.note_panic(payload);
        }
    }
}

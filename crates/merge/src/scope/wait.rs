//! How does whoever waits sleep: a thread by parking, a coroutine by letting others run?

use std::cell::OnceCell;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};
use std::thread::Thread;

use super::executor;
use crate::sys::{is_inside, suspend};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn thread_waker() -> Waker {
    thread_local! {
        static WAKER: OnceCell<Waker> = const { OnceCell::new() };
    }
    let new = || Waker::from(Arc::new(Unpark(std::thread::current())));
    // At a thread's end its own may be gone already.
    WAKER.try_with(|waker| waker.get_or_init(new).clone()).unwrap_or_else(|_| new())
}

/// Polls until that is ready, and sleeps in between until the waker it gave was called, or a little less.
pub(crate) fn wait_for<T>(mut poll: impl FnMut(&Waker) -> Poll<T>) -> T {
    let inside = is_inside();
    let waker = inside.then(executor::waker).flatten().unwrap_or_else(thread_waker);
    loop {
        if let Poll::Ready(value) = poll(&waker) {
            return value;
        }
        if inside {
            suspend();
        } else {
            std::thread::park();
        }
    }
}

//! Whose is the memory of a request that nobody waits for?
//!
//! ```text
//!   future: Owned ──► Arc { slot, waker, buffer } ◄── Revocable ── claim ──► Request ──► lane, kernel
//!      │ poll: done? then the buffer                      │ in a queue              │ completed, or dropped
//!      └ dropped or forgotten: the request goes on        └ cancelled: never sent   └ done, wake, its share of the Arc goes
//! ```
//!
//! The buffer belongs to the request until that is through. A future that goes away leaves it there, and whoever goes last frees
//! it.

use std::cell::UnsafeCell;
use std::io;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use super::request::{DONE, OPEN, Op, Request, Slot, slot};
use crate::Buffer;
use crate::place::FileRange;

/// Its memory is with the kernel, or with who carries it.
const CLAIMED: u32 = 2;
/// It was taken back before it was sent.
const CANCELLED: u32 = 3;

/// Bytes that an operation can own.
///
/// # Safety
///
/// What `address` returns must stay valid for reads and writes of `length` initialised bytes until the value is used in another
/// way or dropped, also if the value is moved.
pub unsafe trait StableBuffer: Send + 'static {
    /// Address of the first.
    fn address(&mut self) -> *mut u8;

    /// Number of bytes.
    fn length(&self) -> usize;
}

// SAFETY: a vector's elements lie on the heap; nobody has it to make it grow.
unsafe impl StableBuffer for Vec<u8> {
    fn address(&mut self) -> *mut u8 {
        self.as_mut_ptr()
    }

    fn length(&self) -> usize {
        self.len()
    }
}

// SAFETY: they lie on the heap.
unsafe impl StableBuffer for Box<[u8]> {
    fn address(&mut self) -> *mut u8 {
        self.as_mut_ptr()
    }

    fn length(&self) -> usize {
        self.len()
    }
}

// SAFETY: they lie on the heap.
unsafe impl StableBuffer for Buffer {
    fn address(&mut self) -> *mut u8 {
        self.as_mut_ptr()
    }

    fn length(&self) -> usize {
        self.len()
    }
}

/// The slot comes first: a pointer to it is one to all of this.
#[repr(C)]
struct OwnedSlot<B> {
    slot: Slot,
    waker: Mutex<Option<Waker>>,
    buffer: UnsafeCell<Option<B>>,
}

// SAFETY: the buffer is touched by whom the slot's state names: the request until DONE, then the one `Owned`.
unsafe impl<B: Send> Send for OwnedSlot<B> {}
// SAFETY: as above; the waker has its lock, the slot's other fields are atomic or do not change.
unsafe impl<B: Send> Sync for OwnedSlot<B> {}

impl<B> OwnedSlot<B> {
    fn waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The future's side of a request that owns its buffer.
pub(crate) struct Owned<B> {
    shared: Arc<OwnedSlot<B>>,
}

/// A request that can still be taken back.
pub(crate) struct Revocable {
    request: Request,
}

impl Revocable {
    /// Claims the request for sending; `None` if it was taken back.
    pub(crate) fn claim(self) -> Option<Request> {
        let state = &self.request.slot().state;
        let claimed = state.compare_exchange(OPEN, CLAIMED, Ordering::Acquire, Ordering::Relaxed);
        claimed.is_ok().then_some(self.request)
    }
}

impl<B: StableBuffer> Owned<B> {
    /// Gives the buffer, from its byte `skip` on, to a new request for that place.
    pub(crate) fn lend(op: Op, buffer: B, skip: usize, place: FileRange) -> (Owned<B>, Revocable) {
        let mut shared = Arc::new(OwnedSlot {
            slot: slot(op, null_mut(), FileRange::NONE),
            waker: Mutex::new(None),
            buffer: UnsafeCell::new(Some(buffer)),
        });
        let new = Arc::get_mut(&mut shared).expect("nobody else has it yet");
        // The address is asked for where the buffer stays: moving a box may make older addresses invalid.
        let buffer = new.buffer.get_mut().as_mut().expect("it was put there");
        let (address, length) = (buffer.address(), buffer.length());
        let wanted = place.length();
        assert!(skip <= length && wanted <= length - skip, "{wanted} bytes from byte {skip} of {length}");
        new.slot = slot(op, address.wrapping_add(skip), place);
        new.slot.completed = Some(completed::<B>);
        let theirs = Arc::into_raw(Arc::clone(&shared)).cast_mut().cast::<Slot>();
        let request = Request::from_slot(NonNull::new(theirs).expect("an Arc has an address"));
        (Owned { shared }, Revocable { request })
    }

    /// Result of the request, and the buffer; else the waker is called once when it is done.
    pub(crate) fn poll(&mut self, waker: &Waker) -> Poll<(io::Result<usize>, B)> {
        let mut place = self.shared.waker();
        if !self.shared.slot.is_done() {
            place.clone_from(&Some(waker.clone()));
            return Poll::Pending;
        }
        drop(place);
        let buffer = self.take().expect("a future is not polled after it was ready");
        Poll::Ready((self.shared.slot.result(), buffer))
    }

    pub(crate) fn is_done(&self) -> bool {
        self.shared.slot.is_done()
    }

    /// The buffer of a request that was not sent yet, and now will not be; else this again.
    pub(crate) fn cancel(mut self) -> Result<B, Owned<B>> {
        let state = &self.shared.slot.state;
        if state.compare_exchange(OPEN, CANCELLED, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return Err(self);
        }
        // Nobody is to be woken by the carrier, who finds out later.
        drop(self.shared.waker().take());
        Ok(self.take().expect("it was neither sent nor taken"))
    }

    /// Only when the request is done or cancelled.
    fn take(&mut self) -> Option<B> {
        // SAFETY: the request is through, or can no longer be claimed; the buffer is ours, and `&mut self` is the only `Owned`.
        let place = unsafe { &mut *self.shared.buffer.get() };
        place.take()
    }
}

/// Tells the future of a request that owns its buffer that the result is stored.
///
/// # Safety
///
/// The slot is the first field of a `OwnedSlot<B>` in an Arc, of which the request has a share that ends here.
unsafe fn completed<B>(slot: NonNull<Slot>) {
    let place = slot.as_ptr().cast::<OwnedSlot<B>>().cast_const();
    // SAFETY: `lend` has made it by `into_raw` for this request, which is completed once.
    let shared = unsafe { Arc::from_raw(place) };
    let waker = {
        let mut waker = shared.waker();
        shared.slot.state.store(DONE, Ordering::Release);
        waker.take()
    };
    drop(shared);
    waker.inspect(Waker::wake_by_ref);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    /// Tells when it is freed.
    struct Tells(Box<[u8]>, Arc<AtomicUsize>);

    // SAFETY: the bytes lie on the heap.
    unsafe impl StableBuffer for Tells {
        fn address(&mut self) -> *mut u8 {
            self.0.as_mut_ptr()
        }

        fn length(&self) -> usize {
            self.0.len()
        }
    }

    impl Drop for Tells {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[derive(Default)]
    struct CountingWaker(AtomicUsize);

    impl Wake for CountingWaker {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn lend(freed: &Arc<AtomicUsize>) -> (Owned<Tells>, Revocable) {
        let place = FileRange::new(0, 6).expect("the kernel can name it");
        Owned::lend(Op::Read, Tells(vec![0; 8].into(), Arc::clone(freed)), 2, place)
    }

    /// Fills a request's memory as a kernel would, after its caller has gone on.
    fn fill(request: Request) {
        let byte = u8::try_from(request.length()).expect("8 at most");
        // SAFETY: the request's memory is the holder's until it is completed.
        unsafe { request.address().write_bytes(byte, request.length()) };
        let bytes = request.length();
        request.complete(Ok(bytes));
    }

    #[test]
    fn the_buffer_comes_back_filled_from_another_thread() {
        let freed = Arc::default();
        let (mut owned, request) = lend(&freed);
        let counts = Arc::new(CountingWaker::default());
        let waker = Waker::from(Arc::clone(&counts));
        assert!(owned.poll(&waker).is_pending());
        let request = request.claim().expect("nobody took it back");
        std::thread::spawn(|| fill(request)).join().expect("it filled");
        let Poll::Ready((result, buffer)) = owned.poll(&waker) else { panic!("it is through") };
        assert_eq!((result.expect("all came"), &*buffer.0), (6, &[0, 0, 6, 6, 6, 6, 6, 6][..]));
        assert_eq!((counts.0.load(Ordering::SeqCst), freed.load(Ordering::SeqCst)), (1, 0));
    }

    #[test]
    fn a_buffer_whose_future_was_dropped_is_freed_when_the_request_is_through_and_not_before() {
        let freed = Arc::default();
        let (owned, request) = lend(&freed);
        let request = request.claim().expect("nobody took it back");
        drop(owned);
        assert_eq!(freed.load(Ordering::SeqCst), 0);
        std::thread::spawn(|| fill(request)).join().expect("it filled");
        assert_eq!(freed.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_request_that_nobody_sends_comes_back_as_cancelled() {
        let freed = Arc::default();
        let (mut owned, request) = lend(&freed);
        drop(request);
        let Poll::Ready((result, buffer)) = owned.poll(Waker::noop()) else { panic!("it is through") };
        assert_eq!(result.expect_err("nobody sent it").raw_os_error(), Some(libc::ECANCELED));
        drop((owned, buffer));
        assert_eq!(freed.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_waker_that_panics_is_called_once_and_frees_nothing_twice() {
        struct Panics;
        impl Wake for Panics {
            fn wake(self: Arc<Self>) {
                panic!("a waker should not");
            }
        }
        let freed = Arc::default();
        let (mut owned, request) = lend(&freed);
        assert!(owned.poll(&Waker::from(Arc::new(Panics))).is_pending());
        let request = request.claim().expect("nobody took it back");
        assert!(std::panic::catch_unwind(|| fill(request)).is_err());
        assert_eq!(Arc::strong_count(&owned.shared), 1, "the request's share went once");
        let Poll::Ready((result, buffer)) = owned.poll(Waker::noop()) else { panic!("it is through") };
        assert_eq!(result.expect("all came"), 6);
        drop((owned, buffer));
        assert_eq!(freed.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn either_it_is_sent_or_it_is_taken_back() {
        let freed = Arc::default();
        let (owned, request) = lend(&freed);
        let buffer = owned.cancel().unwrap_or_else(|_| panic!("it was not sent"));
        assert!(request.claim().is_none());
        drop(buffer);
        let (owned, request) = lend(&freed);
        let request = request.claim().expect("nobody took it back");
        let Err(mut owned) = owned.cancel() else { panic!("it was sent") };
        fill(request);
        assert!(owned.poll(Waker::noop()).is_ready());
        assert_eq!(freed.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_race_between_sending_and_taking_back_has_one_winner() {
        for _ in 0..if cfg!(miri) { 10 } else { 1000 } {
            let freed = Arc::default();
            let (owned, request) = lend(&freed);
            let carrier = std::thread::spawn(move || request.claim().map(fill).is_some());
            let taken = owned.cancel().is_ok();
            let sent = carrier.join().expect("it ended");
            assert!(taken != sent);
            assert_eq!(freed.load(Ordering::SeqCst), 1);
        }
    }
}

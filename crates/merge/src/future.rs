//! How does an asynchronous program read and write?
//!
//! ```text
//!   first poll ──► in a coroutine or in our block_on: this thread's lane ──► sent when all wait
//!              └─► elsewhere: the file's thread, which takes all that are queued as one batch
//!   next poll  ──► on another thread than the block_on's: what was not sent is taken back, and sent from there
//!   dropped    ──► goes on by itself; its buffer is freed when the kernel is through
//! ```

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use crate::File;
use crate::place::FileRange;
use crate::scope::{self, Lanes};
use crate::sys::{Finished, Op, Owned, Request, Revocable, StableBuffer, by_itself};

/// A read or write that owns its buffer: a future of bytes that came or went, and the buffer.
///
/// It is sent when it is polled for the first time. **Dropping or forgetting it** then does not take it back: the kernel may go on
/// reading or writing, and the buffer is freed when that is through; a write that was dropped may or may not be done.
///
/// Any executor can poll it, and it may **move between threads**. One limit: [`block_on`] sends what it has polled when it waits,
/// by the thread's own lane, and brings it on whenever it waits again. From then on until it is through, a poll on another thread
/// panics: if the first thread did not come back, because it waits for the other, both would wait for ever.
#[must_use = "it is sent when it is polled"]
pub struct Transfer<B: StableBuffer> {
    state: TransferState<B>,
}

enum TransferState<B> {
    Fresh { errand: Errand, buffer: B },
    Sent(Owned<B>, Option<Home>),
    Over,
}

/// Operation on a buffer, from its byte `skip` on.
struct Errand {
    file: File,
    op: Op,
    skip: usize,
    offset: u64,
}

/// Mark of a request that the `block_on` of a thread brings on, and nobody else.
struct Home {
    /// Address of that thread's [`LOCAL`].
    local: usize,
    /// Operation to begin anew elsewhere, before it is sent.
    errand: Errand,
}

// Nothing in it is ever pinned: the request's place is an allocation of its own.
impl<B: StableBuffer> Unpin for Transfer<B> {}

impl<B: StableBuffer> Transfer<B> {
    /// Takes it back, if it was not sent: the buffer, whose operation then never happens (the kernel would say `ECANCELED`).
    ///
    /// # Errors
    ///
    /// With itself if it was sent: it will be done, and is to be awaited for the buffer.
    ///
    /// # Panics
    ///
    /// If it was polled until it was ready.
    pub fn cancel(self) -> Result<B, Transfer<B>> {
        match self.state {
            TransferState::Fresh { buffer, .. } => Ok(buffer),
            TransferState::Sent(owned, home) => {
                owned.cancel().map_err(|owned| Transfer { state: TransferState::Sent(owned, home) })
            }
            TransferState::Over => panic!("it is through"),
        }
    }
}

impl<B: StableBuffer> Future for Transfer<B> {
    type Output = (io::Result<usize>, B);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let sent = match std::mem::replace(&mut self.state, TransferState::Over) {
            TransferState::Fresh { errand, buffer } => errand.begin(buffer),
            TransferState::Sent(owned, Some(home)) if !home.is_here() => home.leave(owned),
            TransferState::Sent(owned, home) => Ok((owned, home)),
            TransferState::Over => panic!("a future is not polled after it was ready"),
        };
        let (mut owned, home) = match sent {
            Ok(sent) => sent,
            Err((error, buffer)) => return Poll::Ready((Err(error), buffer)),
        };
        let result = owned.poll(context.waker());
        if result.is_pending() {
            self.state = TransferState::Sent(owned, home);
        }
        result
    }
}

impl File {
    /// Reads at an offset into a buffer that comes back with the result: bytes that came, fewer at the end of the file.
    pub fn read_at_async<B: StableBuffer>(&self, buffer: B, offset: u64) -> Transfer<B> {
        self.transfer(Op::Read, buffer, 0, offset)
    }

    /// Writes a buffer, which comes back with the result, at an offset: bytes that were taken.
    pub fn write_at_async<B: StableBuffer>(&self, buffer: B, offset: u64) -> Transfer<B> {
        self.transfer(Op::Write, buffer, 0, offset)
    }

    /// Fills the buffer, or fails: [`io::ErrorKind::UnexpectedEof`] at the end of the file.
    pub fn read_exact_at_async<B: StableBuffer>(
        &self,
        buffer: B,
        offset: u64,
    ) -> impl Future<Output = (io::Result<()>, B)> + Send + use<B> {
        all(self.clone(), Op::Read, buffer, offset)
    }

    /// Writes all of the buffer, or fails.
    pub fn write_all_at_async<B: StableBuffer>(
        &self,
        buffer: B,
        offset: u64,
    ) -> impl Future<Output = (io::Result<()>, B)> + Send + use<B> {
        all(self.clone(), Op::Write, buffer, offset)
    }

    fn transfer<B: StableBuffer>(&self, op: Op, buffer: B, skip: usize, offset: u64) -> Transfer<B> {
        Transfer {
            state: TransferState::Fresh { errand: Errand { file: self.clone(), op, skip, offset }, buffer },
        }
    }
}

async fn all<B: StableBuffer>(file: File, op: Op, mut buffer: B, offset: u64) -> (io::Result<()>, B) {
    let mut moved = 0;
    while moved < buffer.length() {
        let (result, back) = file.transfer(op, buffer, moved, offset + moved as u64).await;
        buffer = back;
        match (result, op) {
            (Ok(0), Op::Read) => return (Err(io::ErrorKind::UnexpectedEof.into()), buffer),
            (Ok(0), Op::Write) => return (Err(io::ErrorKind::WriteZero.into()), buffer),
            (Ok(bytes), _) => moved += bytes,
            (Err(error), _) => return (Err(error), buffer),
        }
    }
    (Ok(()), buffer)
}

/// Panic text of a poll on another thread, of what the first may be kept from bringing on.
const ELSEWHERE: &str = "a read or write that `block_on` has sent on one thread was polled on another before it was through: \
                         await it on the first";

/// Request on its way; or why not, and the buffer.
type Begun<B> = Result<(Owned<B>, Option<Home>), (io::Error, B)>;

impl Errand {
    /// Sends it; gives the buffer back where the file has no such place.
    fn begin<B: StableBuffer>(self, buffer: B) -> Begun<B> {
        match FileRange::new(self.offset, buffer.length() - self.skip) {
            Ok(place) => {
                let (owned, request) = Owned::lend(self.op, buffer, self.skip, place);
                let local = send(&self.file, request);
                Ok((owned, local.map(|local| Home { local, errand: self })))
            }
            Err(error) => Err((error, buffer)),
        }
    }
}

impl Home {
    fn is_here(&self) -> bool {
        LOCAL.try_with(address).is_ok_and(|here| self.local == here)
    }

    /// Begins anew on this thread what was not sent; what is through stays so.
    fn leave<B: StableBuffer>(self, owned: Owned<B>) -> Begun<B> {
        match owned.cancel() {
            Ok(buffer) => self.errand.begin(buffer),
            Err(owned) => {
                assert!(owned.is_done(), "{ELSEWHERE}");
                Ok((owned, None))
            }
        }
    }
}

/// Sends a request; gives the address of the [`LOCAL`] that will, if one does.
fn send(file: &File, request: Revocable) -> Option<usize> {
    let (device, file_id) = (file.device(), file.id());
    if scope::is_inside() {
        let request = request.claim().expect("it is new");
        if let Err(request) = scope::submit(&**device, file_id, request) {
            // No lane can be had.
            by_itself(&**device, request);
        }
        return None;
    }
    let mut request = Some(request);
    let local = LOCAL.try_with(|place| {
        let mut local = place.borrow_mut();
        local.as_mut()?.unsent.extend(request.take().map(|request| (file.clone(), request)));
        Some(address(place))
    });
    if let Some(request) = request {
        file.gather().put(device, request);
    }
    local.ok().flatten()
}

thread_local! {
    /// State of the `block_on` that runs here.
    static LOCAL: RefCell<Option<Local>> = const { RefCell::new(None) };
}

fn address(local: &RefCell<Option<Local>>) -> usize {
    std::ptr::from_ref(local).addr()
}

/// Requests that a `block_on` has polled.
#[derive(Default)]
struct Local {
    /// Requests that wait to be sent: another thread may take them back.
    unsent: Vec<(File, Revocable)>,
    lanes: Lanes,
}

impl Local {
    fn held(&self) -> bool {
        !self.unsent.is_empty() || self.lanes.held()
    }

    /// Sends what was polled, and fetches what is through; if `wait`, until a part of it is. Gives back what has no lane.
    fn serve(&mut self, wait: bool, finished: &mut Vec<Finished>) -> Vec<(File, Request)> {
        let mut left = Vec::new();
        for (file, request) in self.unsent.drain(..) {
            let Some(request) = request.claim() else { continue };
            if let Err(request) = self.lanes.push(&**file.device(), file.id(), request) {
                left.push((file, request));
            }
        }
        if self.lanes.held() {
            self.lanes.serve(wait && left.is_empty(), finished);
        }
        left
    }
}

/// Runs a future to its end on this thread, or in this coroutine, where others then run while it waits.
///
/// Reads and writes that it polls go by the thread's own lanes: those that are polled before it waits, as by [`join_all`], go as one
/// batch. What other threads wake it for is seen when a read or write is through, if any is under way. As under any executor, a
/// future that blocks its thread keeps all from being brought on that it has polled: see [`Transfer`].
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    if scope::is_inside() {
        return scope::wait_for(|waker| future.as_mut().poll(&mut Context::from_waker(waker)));
    }
    let _lanes = HasLanes::new();
    let woken = Arc::new(Woken { thread: std::thread::current(), is_woken: AtomicBool::new(true) });
    let waker = Waker::from(Arc::clone(&woken));
    loop {
        if woken.is_woken.swap(false, Ordering::Acquire)
            && let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker))
        {
            return value;
        }
        let mut finished = Vec::new();
        let is_woken = woken.is_woken.load(Ordering::Acquire);
        let left = LOCAL.with_borrow_mut(|local| {
            let local = local.as_mut().filter(|local| local.held());
            local.map(|local| local.serve(!is_woken, &mut finished))
        });
        if left.is_none() && !woken.is_woken.load(Ordering::Acquire) {
            std::thread::park();
        }
        deliver(&mut finished, left.unwrap_or_default());
    }
}

/// Tells whose requests are through. Whom that wakes may send more.
fn deliver(finished: &mut Vec<Finished>, left: Vec<(File, Request)>) {
    finished.drain(..).for_each(Finished::deliver);
    for (file, request) in left {
        by_itself(&**file.device(), request);
    }
}

struct Woken {
    thread: Thread,
    is_woken: AtomicBool,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_woken.swap(true, Ordering::Release) {
            self.thread.unpark();
        }
    }
}

/// The outermost `block_on` has them, and waits at its end for what is under way.
struct HasLanes {
    is_outermost: bool,
}

impl HasLanes {
    fn new() -> HasLanes {
        let is_outermost = LOCAL.with_borrow(Option::is_none);
        if is_outermost {
            LOCAL.set(Some(Local::default()));
        }
        HasLanes { is_outermost }
    }
}

impl Drop for HasLanes {
    fn drop(&mut self) {
        if self.is_outermost {
            // Whom this wakes may send more, but elsewhere.
            let mut local = LOCAL.take().unwrap_or_default();
            let mut finished = Vec::new();
            while local.held() {
                let left = local.serve(true, &mut finished);
                deliver(&mut finished, left);
            }
        }
    }
}

/// Waits for all of them: their values, in order. All are polled before it waits, so that their requests can go as one batch.
pub async fn join_all<F: Future>(list: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = list.into_iter().map(|future| Some(Box::pin(future))).collect();
    let mut values: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        let mut is_pending = false;
        for (future, value) in futures.iter_mut().zip(&mut values) {
            let Some(running) = future else { continue };
            match running.as_mut().poll(context) {
                Poll::Ready(ready) => (*future, *value) = (None, Some(ready)),
                Poll::Pending => is_pending = true,
            }
        }
        if is_pending { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    values.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    //! For Miri, whose checks need no kernel: a device in memory.

    use super::*;
    use crate::{Buffer, Options, Simulated};
    use iostack_batch::BatchCost;

    fn file() -> File {
        let cost = BatchCost { fixed_ns: 1000.0, each_ns: 100.0 };
        let file = Options::default().simulated(&Simulated::new(4096, cost));
        file.write_all_at(b"0123456789abcdef", 0).expect("the device is sound");
        file
    }

    fn poll_once<B: StableBuffer>(transfer: &mut Transfer<B>) -> bool {
        Pin::new(transfer).poll(&mut Context::from_waker(Waker::noop())).is_pending()
    }

    #[test]
    fn a_file_that_nobody_of_ours_polls_has_a_thread_that_reads() {
        let file = file();
        let mut kept = file.read_at_async(vec![0; 4].into_boxed_slice(), 4);
        let mut dropped = file.read_at_async(vec![0; 4], 8);
        assert!(poll_once(&mut kept));
        assert!(poll_once(&mut dropped));
        drop((dropped, file));
        let (result, buffer) = block_on(kept);
        assert_eq!((result.expect("the device is sound"), &*buffer), (4, &b"4567"[..]));
    }

    #[test]
    fn block_on_reads_by_itself_and_leaves_nothing_behind() {
        let file = file();
        let both = block_on(async {
            let mut dropped = file.write_at_async(vec![b'x'; 2], 0);
            assert!(poll_once(&mut dropped));
            drop(dropped);
            join_all([file.read_at_async(Buffer::new(2), 2), file.read_at_async(Buffer::new(2), 14)]).await
        });
        let text: Vec<&[u8]> = both.iter().map(|(_, buffer)| &buffer[..]).collect();
        assert_eq!(text, [b"23", b"ef"]);
        let mut head = [0; 3];
        file.read_exact_at(&mut head, 0).expect("the device is sound");
        assert_eq!(&head, b"xx2");
    }
}

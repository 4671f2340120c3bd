//! Does a buffer come back with its own block, whoever polls, and when nobody does?

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use iostack_batch::BatchCost;
use iostack_merge::{
    Backend, Buffer, File, Options, Simulated, StableBuffer, Transfer, block_on, join_all, yield_now,
};
use iostack_testkit::or_skip;

use crate::sys::scope;
use crate::{BLOCK, QUICK, at, block_of, number_at, numbered, on_coroutines, on_threads};

const SLOW: BatchCost = BatchCost { fixed_ns: 20_000_000.0, each_ns: 50.0 };

/// An executor that knows nothing of ours.
fn plain_block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

async fn reads(file: &File) {
    let list = (0..64).map(|index| file.read_exact_at_async(vec![0; BLOCK], at(index)));
    for (index, (result, buffer)) in join_all(list).await.into_iter().enumerate() {
        result.expect("the device is sound");
        assert_eq!(buffer, block_of(index));
    }
}

#[test]
fn each_future_gets_its_own_block_on_any_executor() {
    let file = numbered(64);
    block_on(reads(&file));
    plain_block_on(reads(&file));
    on_coroutines(2, 4, |_| block_on(reads(&file)));
}

#[test]
fn what_is_polled_before_anyone_waits_goes_as_one_batch() {
    let options = Options { count: true, ..Options::default() };
    let file = options.simulated(&Simulated::new(64 * BLOCK, QUICK));
    block_on(reads_anything(&file));
    let stats = file.stats().expect("it counts");
    assert_eq!((stats.requests, stats.batches), (32, 1));
}

async fn reads_anything(file: &File) {
    join_all((0..32).map(|index| file.read_at_async(vec![0; BLOCK], at(index)))).await;
}

#[test]
fn every_kind_of_buffer_comes_back() {
    fn both<B: StableBuffer + std::ops::DerefMut<Target = [u8]>>(file: &File, buffer: B) {
        let (result, mut buffer) = block_on(file.read_at_async(buffer, at(3)));
        assert_eq!((result.expect("sound"), &mut buffer[..]), (BLOCK, &mut block_of(3)[..]));
        let (result, _) = block_on(file.write_all_at_async(buffer, at(5)));
        result.expect("the device is sound");
        let mut written = vec![0; BLOCK];
        file.read_exact_at(&mut written, at(5)).expect("the device is sound");
        assert_eq!(written, block_of(3));
        file.write_all_at(&block_of(5), at(5)).expect("the device is sound");
    }
    let file = numbered(8);
    both(&file, vec![0; BLOCK]);
    both(&file, vec![0; BLOCK].into_boxed_slice());
    both(&file, Buffer::new(BLOCK));
}

#[test]
fn errors_and_ends_are_told_with_the_buffer() {
    let device = Simulated::broken(8 * BLOCK, QUICK, at(2)..at(3));
    let file = Options::default().simulated(&device);
    let (result, buffer) = plain_block_on(file.read_at_async(vec![7; BLOCK], at(2)));
    assert_eq!(result.expect_err("the block is broken").raw_os_error(), Some(libc::EIO));
    assert_eq!(buffer.len(), BLOCK);
    let (result, _) = block_on(file.read_at_async(vec![0; 2 * BLOCK], at(7)));
    assert_eq!(result.expect("short"), BLOCK);
    let (result, _) = block_on(file.read_exact_at_async(vec![0; 2 * BLOCK], at(7)));
    assert_eq!(result.expect_err("it ends").kind(), io::ErrorKind::UnexpectedEof);
    let (result, _) = block_on(file.write_all_at_async(vec![0; 2 * BLOCK], at(7)));
    assert_eq!(result.expect_err("it ends").kind(), io::ErrorKind::WriteZero);
}

/// A transfer has brought a numbered block.
fn assert_is_block((result, buffer): (io::Result<usize>, Vec<u8>), index: usize) {
    assert_eq!((result.expect("sound"), buffer), (BLOCK, block_of(index)));
}

fn start<B: StableBuffer>(transfer: &mut Transfer<B>) -> Poll<(io::Result<usize>, B)> {
    Pin::new(transfer).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn futures_that_are_dropped_or_forgotten_in_flight_disturb_nobody() {
    let file = numbered(16);
    for index in 0..16 {
        let mut dropped = file.read_at_async(vec![0; BLOCK], at(index));
        assert!(start(&mut dropped).is_pending());
        drop(dropped);
        let mut forgotten = file.read_at_async(Buffer::new(BLOCK), at(index));
        assert!(start(&mut forgotten).is_pending());
        std::mem::forget(forgotten);
    }
    // One that is polled afterwards by the same thread of the library's is through after those.
    let (result, buffer) = plain_block_on(file.read_at_async(vec![0; BLOCK], at(9)));
    assert_eq!((result.expect("sound"), buffer), (BLOCK, block_of(9)));
}

#[test]
fn a_write_that_was_dropped_goes_on() {
    let file = numbered(4);
    let mut write = file.write_at_async(vec![9; BLOCK], 0);
    let _ = start(&mut write);
    drop(write);
    // The file's thread takes them in the order they came, and the device serves one batch at a time.
    plain_block_on(file.read_at_async(vec![0; 1], 0)).0.expect("the device is sound");
    let (result, buffer) = plain_block_on(file.read_at_async(vec![0; 1], 0));
    assert_eq!((result.expect("sound"), buffer), (1, vec![9]));
}

#[test]
fn block_on_returns_when_all_that_it_sent_is_through() {
    let file = numbered(4);
    block_on(async {
        let mut write = file.write_at_async(vec![8; BLOCK], at(2));
        std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut write).poll(context).is_pending())).await;
    });
    assert_eq!(number_at(&file, 2), u64::from_le_bytes([8; 8]));
}

#[test]
fn the_file_may_be_closed_while_futures_are_in_flight() {
    let file = numbered(32);
    let mut list: Vec<_> = (0..32).map(|index| file.read_at_async(vec![0; BLOCK], at(index))).collect();
    assert!(list.iter_mut().all(|transfer| start(transfer).is_pending()));
    drop(file);
    for (index, transfer) in list.into_iter().enumerate() {
        assert_is_block(plain_block_on(transfer), index);
    }
}

#[test]
fn what_was_not_sent_can_be_taken_back() {
    let device = Simulated::new(16 * BLOCK, SLOW);
    let file = Options::default().simulated(&device);
    let never_polled = file.write_at_async(vec![5; BLOCK], 0);
    assert_eq!(never_polled.cancel().map_err(drop), Ok(vec![5; BLOCK]));
    // The first keeps the file's thread in the device for 20 ms; the second mostly waits in its queue.
    let mut first = file.read_at_async(vec![0; BLOCK], 0);
    let _ = start(&mut first);
    std::thread::sleep(std::time::Duration::from_millis(5));
    let mut second = file.write_at_async(vec![6; BLOCK], at(1));
    let _ = start(&mut second);
    let cancelled = second.cancel();
    let was_cancelled = cancelled.is_ok();
    match cancelled {
        Ok(buffer) => assert_eq!(buffer, vec![6; BLOCK]),
        Err(sent) => assert_eq!(plain_block_on(sent).0.expect("sound"), BLOCK),
    }
    plain_block_on(first).0.expect("the device is sound");
    assert_eq!(number_at(&file, 1), u64::from_le_bytes([if was_cancelled { 0 } else { 6 }; 8]));
}

#[test]
fn a_future_may_be_finished_by_another_thread_than_began_it() {
    let file = numbered(16);
    let (send, receive) = mpsc::channel();
    for index in 0..16 {
        let mut transfer = file.read_at_async(vec![0; BLOCK], at(index));
        let _ = start(&mut transfer);
        send.send((index, transfer)).expect("it is received");
    }
    drop(send);
    std::thread::spawn(move || {
        for (index, transfer) in receive {
            assert_is_block(
                if index % 2 == 0 { block_on(transfer) } else { plain_block_on(transfer) },
                index,
            );
        }
    })
    .join()
    .expect("it read what was there");
}

/// Ready after so many polls, each of which asks for the next.
async fn turns(count: usize) {
    let mut left = count;
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Polled once under `block_on`, which then waits so often; what another thread gets, while that of `block_on` waits for it.
fn moved(file: &File, turns_between: usize, own: bool) -> std::thread::Result<(io::Result<usize>, Vec<u8>)> {
    block_on(async {
        let mut transfer = file.read_at_async(vec![0; BLOCK], at(3));
        std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut transfer).poll(context).is_pending())).await;
        turns(turns_between).await;
        let other = move || if own { block_on(transfer) } else { plain_block_on(transfer) };
        std::thread::spawn(other).join()
    })
}

#[test]
fn a_future_that_block_on_has_polled_moves_to_a_thread_that_it_joins() {
    let file = numbered(4);
    for own in [true, false] {
        assert_is_block(moved(&file, 0, own).expect("it was not sent yet"), 3);
    }
}

#[test]
fn a_future_in_flight_refuses_to_be_awaited_by_a_thread_that_cannot_bring_it_on() {
    const TEST: &str = "a_future_in_flight_refuses_to_be_awaited_by_a_thread_that_cannot_bring_it_on";
    let file = Options::default().simulated(&Simulated::new(4 * BLOCK, QUICK));
    // The simulated device is through when the lane was entered; a ring need not be. Both are allowed, to hang is not.
    let (result, _) = moved(&file, 1, true).expect("it is through");
    assert_eq!(result.expect("sound"), BLOCK);
    let (reader, writer) = io::pipe().expect("a pipe can be had");
    let pipe = Options { backend: Backend::IoUring, ..Options::default() }.over(as_file(reader));
    let Some(pipe) = or_skip(TEST, pipe) else { return };
    let refused = block_on(async {
        let mut transfer = pipe.read_at_async(vec![0; 8], 0);
        std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut transfer).poll(context).is_pending())).await;
        turns(1).await;
        let joined = std::thread::spawn(move || block_on(transfer)).join();
        // Now it may end: `block_on` waits for what it has sent.
        drop(writer);
        joined
    });
    let payload = refused.expect_err("nothing came through the pipe");
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).expect("a panic says why");
    assert!(text.contains("await it on the first"), "{text}");
}

fn as_file(reader: io::PipeReader) -> std::fs::File {
    std::os::fd::OwnedFd::from(reader).into()
}

#[test]
fn wakers_of_other_threads_wake_coroutines_and_block_on() {
    type State = Arc<Mutex<(bool, Option<Waker>)>>;
    /// Ready once another thread says so.
    struct Told(State);
    impl Future for Told {
        type Output = ();
        fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
            let mut state = self.0.lock().expect("nobody panics with it");
            state.1 = Some(context.waker().clone());
            if state.0 { Poll::Ready(()) } else { Poll::Pending }
        }
    }
    fn tell(state: &Mutex<(bool, Option<Waker>)>) {
        let waker = {
            let mut state = state.lock().expect("nobody panics with it");
            state.0 = true;
            state.1.take()
        };
        waker.inspect(Waker::wake_by_ref);
    }
    let states: Vec<State> = (0..64).map(|_| Arc::default()).collect();
    let theirs = states.clone();
    let teller = std::thread::spawn(move || theirs.iter().rev().for_each(|state| tell(state)));
    let file = numbered(4);
    scope(2, |s| {
        for state in &states[..32] {
            s.spawn(|| block_on(Told(Arc::clone(state))));
            s.spawn(|| file.read_exact_at(&mut [0; BLOCK], at(1)).expect("the device is sound"));
            s.spawn(yield_now);
        }
    });
    block_on(join_all(states[32..].iter().map(|state| Told(Arc::clone(state)))));
    teller.join().expect("it told all");
}

#[test]
fn hundreds_of_futures_of_many_threads_share_a_file() {
    let file = numbered(64);
    on_threads(4, |thread| {
        for step in 0..50 {
            let index = |one: usize| (thread as usize * 17 + step * 5 + one) % 64;
            let list = (0..8).map(|one| file.read_at_async(vec![0; BLOCK], at(index(one))));
            let all = plain_block_on(join_all(list));
            all.into_iter().enumerate().for_each(|(one, read)| assert_is_block(read, index(one)));
        }
    });
}

#[test]
fn more_futures_than_a_lane_has_room_for_wait_their_turn() {
    let file = numbered(64);
    block_on(async {
        let list = (0..1000).map(|index| file.read_at_async(vec![0; BLOCK], at(index % 64)));
        for (index, read) in join_all(list).await.into_iter().enumerate() {
            assert_is_block(read, index % 64);
        }
    });
}

#[test]
fn a_block_on_within_a_block_on_brings_both_on() {
    let file = numbered(8);
    block_on(async {
        let outer = file.read_at_async(vec![0; BLOCK], at(1));
        let inner = block_on(file.read_at_async(vec![0; BLOCK], at(2)));
        assert_eq!(inner.1, block_of(2));
        assert_eq!(outer.await.1, block_of(1));
    });
}

#[test]
fn a_waker_that_panics_does_not_stop_the_files_thread_for_good() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker should not");
        }
    }
    let file = numbered(4);
    let waker = Waker::from(Arc::new(Panics));
    let mut transfer = file.read_at_async(vec![0; BLOCK], at(1));
    assert!(Pin::new(&mut transfer).poll(&mut Context::from_waker(&waker)).is_pending());
    // This one may be given back by the thread that ends; a later one is read by another.
    let mut results = (0..10).map(|_| plain_block_on(file.read_exact_at_async(vec![0; BLOCK], at(2))));
    assert!(results.any(|(result, buffer)| result.is_ok() && buffer == block_of(2)));
}

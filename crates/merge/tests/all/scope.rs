//! Does code on coroutines read as code on threads does, and nothing it borrows goes away under it?

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ThreadId;

use iostack_merge::{File, Options, Scope, ScopeOptions, Simulated, yield_now};

use crate::pattern::{Page, group};
use crate::sys::{self, scope};
use crate::{BLOCK, QUICK, at, block_of, number_at, numbered, on_coroutines};

#[test]
fn each_coroutine_gets_its_own_block_into_its_own_buffer() {
    let file = numbered(64);
    let mut buffers = vec![vec![0; BLOCK]; 64];
    scope(2, |s| {
        for (index, buffer) in buffers.iter_mut().enumerate() {
            let file = &file;
            s.spawn(move || {
                for step in 0..50 {
                    let place = (index * 7 + step * 13) % 64;
                    file.read_exact_at(buffer, at(place)).expect("the device is sound");
                    assert_eq!(*buffer, block_of(place));
                }
                file.read_exact_at(buffer, at(index)).expect("the device is sound");
            });
        }
    });
    buffers.iter().enumerate().for_each(|(index, buffer)| assert_eq!(*buffer, block_of(index)));
}

#[test]
fn ten_thousand_coroutines_read_and_return() {
    let file = numbered(64);
    let file = &file;
    let read = scope(2, |s| results(s, (0..10_000).map(|index| move || number_at(file, index % 64))));
    assert_eq!(read, (0..10_000).map(|index| index % 64).collect::<Vec<u64>>());
}

/// Starts all; what each returned.
fn results<'scope, T: Send + 'scope>(
    s: &'scope Scope<'scope, '_>,
    bodies: impl Iterator<Item = impl FnOnce() -> T + Send + 'scope>,
) -> Vec<T> {
    let handles: Vec<_> = bodies.map(|body| s.spawn(body)).collect();
    handles.into_iter().map(|handle| handle.join().expect("none panics")).collect()
}

fn chain<'scope>(s: &'scope Scope<'scope, '_>, count: &'scope AtomicUsize, left: usize) {
    if left > 0 {
        s.spawn(move || chain(s, count, left - 1)).join().expect("none panics");
    }
    count.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn ten_thousand_that_wait_for_one_another_come_to_an_end() {
    // Far more are started and not through than an executor starts by itself; each waits for the next.
    let count = AtomicUsize::new(0);
    scope(2, |s| chain(s, &count, 10_000));
    assert_eq!(count.into_inner(), 10_001);
}

#[test]
fn a_panic_is_carried_to_the_caller_after_the_others_have_ended() {
    let file = numbered(16);
    let ended = AtomicUsize::new(0);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        on_coroutines(2, 16, |index| {
            file.read_exact_at(&mut [0; BLOCK], at(index)).expect("the device is sound");
            assert!(index != 3, "the fourth dies");
            (0..5).for_each(|_| yield_now());
            ended.fetch_add(1, Ordering::Relaxed);
        });
    }));
    let payload = caught.expect_err("one died");
    assert_eq!(payload.downcast_ref(), Some(&"the fourth dies"));
    assert_eq!(ended.into_inner(), 15);
}

#[test]
fn a_panic_that_was_joined_does_not_go_on() {
    let kind = scope(1, |s| {
        let dies = s.spawn(|| -> u32 { panic!("by itself") });
        let asks = s.spawn(move || dies.join().is_err());
        asks.join().expect("it only asked")
    });
    assert!(kind);
}

#[test]
fn a_panic_of_the_body_waits_for_the_coroutines() {
    let file = numbered(8);
    let ended = AtomicUsize::new(0);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        scope(1, |s| {
            for index in 0..8 {
                let (file, ended) = (&file, &ended);
                s.spawn(move || {
                    file.read_exact_at(&mut [0; BLOCK], at(index)).expect("the device is sound");
                    ended.fetch_add(1, Ordering::Relaxed);
                });
            }
            panic!("the body dies");
        })
    }));
    assert!(caught.is_err());
    assert_eq!(ended.into_inner(), 8);
}

#[test]
fn a_coroutine_stays_on_its_thread_and_lets_others_run_there() {
    let file = numbered(4);
    let order = Mutex::new(Vec::new());
    on_coroutines(1, 4, |index| {
        let here: ThreadId = std::thread::current().id();
        order.lock().expect("none panics").push(('a', index));
        yield_now();
        order.lock().expect("none panics").push(('b', index));
        file.read_exact_at(&mut [0; BLOCK], at(index)).expect("the device is sound");
        assert_eq!(here, std::thread::current().id());
    });
    let order = order.into_inner().expect("none panics");
    let first_b = order.iter().position(|(step, _)| *step == 'b').expect("all went on");
    assert_eq!(order.len(), 8);
    assert!(first_b > 0 && order.iter().filter(|(step, _)| *step == 'a').count() == 4, "{order:?}");
}

#[test]
fn a_scope_within_a_coroutine_runs_on_the_same_executors() {
    let file = &numbered(16);
    let read = scope(1, |s| {
        let outer = (0..4_usize).map(|group| {
            move || {
                let here = std::thread::current().id();
                let mut buffers = [[0_u8; BLOCK]; 2];
                scope(7, |inner| {
                    for (index, buffer) in buffers.iter_mut().enumerate() {
                        inner.spawn(move || {
                            file.read_exact_at(buffer, at(group * 4 + index)).expect("the device is sound");
                            assert_eq!(here, std::thread::current().id());
                        });
                    }
                });
                buffers.map(|buffer| usize::from(buffer[0]))
            }
        });
        results(s, outer)
    });
    assert_eq!(read, [0, 4, 8, 12].map(|first| [first, first + 1]));
}

#[test]
fn a_panic_within_a_nested_scope_reaches_the_coroutine_that_opened_it() {
    let seen = scope(1, |s| {
        s.spawn(|| catch_unwind(|| scope(1, |inner| drop(inner.spawn(|| panic!("inner"))))).is_err()).join()
    });
    assert!(seen.expect("the outer one caught it"));
}

#[test]
fn errors_belong_to_the_coroutine_whose_request_failed() {
    let device = Simulated::broken(16 * BLOCK, QUICK, at(5)..at(6));
    let file = Options::default().simulated(&device);
    let fails = |index| file.read_exact_at(&mut [0; BLOCK], at(index)).is_err();
    let fails = &fails;
    let failed = scope(2, |s| results(s, (0..16).map(|index| move || fails(index))));
    assert_eq!(failed, (0..16).map(|index| index == 5).collect::<Vec<_>>());
}

#[test]
fn a_read_while_a_panic_unwinds_is_carried_by_the_thread() {
    struct Reads<'a>(&'a File, &'a AtomicUsize);
    impl Drop for Reads<'_> {
        fn drop(&mut self) {
            self.1.store(number_at(self.0, 3) as usize, Ordering::Relaxed);
        }
    }
    let file = numbered(4);
    let seen = AtomicUsize::new(0);
    scope(1, |s| {
        let (file, seen) = (&file, &seen);
        let dies = s.spawn(move || {
            let _reads = Reads(file, seen);
            panic!("it dies");
        });
        assert!(dies.join().is_err());
    });
    assert_eq!(seen.into_inner(), 3);
}

#[test]
fn several_files_at_once_keep_their_results_apart() {
    let files: Vec<File> = (0..3).map(|_| numbered(32)).collect();
    on_coroutines(2, 96, |index| {
        let mut buffer = vec![0; BLOCK];
        for place in (index..index + 20).map(|place| place % 32) {
            files[index % 3].read_exact_at(&mut buffer, at(place)).expect("the device is sound");
            assert_eq!(buffer, block_of(place));
        }
    });
}

#[test]
fn a_backtrace_fits_on_the_stack() {
    // The deepest that ordinary code goes: formatting floats, capturing a backtrace and writing it out.
    let text = scope(1, |s| {
        let text = s.spawn(|| {
            let trace = std::backtrace::Backtrace::force_capture();
            format!("{trace} {:e} {:?}", 1.0_f64 / 3.0, 1e300_f64)
        });
        text.join().expect("it fits")
    });
    assert!(text.contains("e-1"));
}

#[test]
fn a_small_stack_is_enough_for_small_code() {
    let file = numbered(8);
    let options = ScopeOptions { threads: 1, stack_bytes: 16 * 1024 };
    let file = &file;
    let read = sys::run(&options, |s| results(s, (0..8).map(|index| move || number_at(file, index))));
    assert_eq!(read, (0..8).collect::<Vec<u64>>());
}

#[test]
fn coroutines_of_other_executors_may_be_joined_and_threads_may_spawn() {
    let count = AtomicUsize::new(0);
    scope(3, |s| {
        let count = &count;
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(move || {
                    for _ in 0..100 {
                        let one = s.spawn(move || count.fetch_add(1, Ordering::Relaxed));
                        let other = s.spawn(move || one.join().is_ok());
                        assert!(other.join().expect("none panics"));
                    }
                });
            }
        });
    });
    assert_eq!(count.into_inner(), 400);
}

#[test]
fn thread_locals_are_shared_by_the_coroutines_of_a_thread() {
    thread_local!(static SEEN: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) });
    let seen = scope(1, |s| {
        (0..3).for_each(|index| drop(s.spawn(move || SEEN.with_borrow_mut(|seen| seen.push(index)))));
        s.spawn(|| SEEN.with_borrow(Clone::clone)).join().expect("none panics")
    });
    assert_eq!(seen, [0, 1, 2]);
}

#[test]
fn a_wait_in_the_initialiser_of_a_thread_local_breaks_the_contract_of_scope() {
    // What makes `scope` unsafe to call: two coroutines initialise one thread-local, and the value of the second is dropped when
    // the first goes on. Here nobody uses it any more; who still borrowed it would use freed memory.
    thread_local! {
        static WAITS: Cell<bool> = const { Cell::new(true) };
        static INITIALISED: Cell<usize> = const { Cell::new(0) };
        static VALUE: Vec<usize> = {
            if WAITS.replace(false) {
                yield_now();
            }
            INITIALISED.set(INITIALISED.get() + 1);
            vec![INITIALISED.get()]
        };
    }
    let seen = scope(1, |s| {
        let first = s.spawn(|| VALUE.with(Clone::clone));
        let second = s.spawn(|| VALUE.with(Clone::clone));
        [first, second].map(|one| one.join().expect("none panics"))
    });
    assert_eq!(seen, [[2], [1]], "each has initialised, the second first");
}

#[test]
fn what_a_coroutine_owned_is_dropped_before_the_scope_returns() {
    struct CountsDrops<'a>(&'a AtomicUsize);
    impl Drop for CountsDrops<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = AtomicUsize::new(0);
    scope(2, |s| {
        for _ in 0..100 {
            let owned = CountsDrops(&dropped);
            // The result is dropped as well, which nobody asks for.
            s.spawn(move || owned);
        }
    });
    assert_eq!(dropped.load(Ordering::Relaxed), 100);
}

#[test]
fn a_group_within_a_coroutine_goes_beside_the_requests_of_others() {
    let device = Simulated::broken(64 * BLOCK, QUICK, at(40)..at(41));
    let file = Options { count: true, ..Options::default() }.simulated(&device);
    on_coroutines(1, 8, |number| {
        let mut pages = vec![Page::zero(); 8];
        let mut list = group((0..8).map(|one| at(number * 8 + one)), &mut pages);
        let failed = file.read_many(&mut list).err().map(|error| error.failures[0].0);
        assert_eq!(failed, (number == 5).then_some(0));
    });
    let stats = file.stats().expect("it counts");
    // Groups of coroutines that were started before the executor had nothing else to do went together.
    assert_eq!(stats.requests, 64);
    assert!(stats.batch_max >= 8, "{stats:?}");
}

#[test]
#[should_panic(expected = "a scope needs a thread")]
fn a_scope_without_threads_is_refused() {
    scope(0, |_| ());
}

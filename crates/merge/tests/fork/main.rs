//! Do parent and child both read the right data after a fork, while others read?
//!
//! A child that starts a thread takes a lock of the standard library, which a thread of the parent's that began or ended at
//! the fork holds for ever (its list of guard pages). So none begins or ends here meanwhile: a process of its own, with one test.

#[path = "../all/pattern.rs"]
mod pattern;
mod sys;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use iostack_merge::{Backend, File, Options, Policy};
use iostack_testkit::{folder, or_skip};
use pattern::{PAGE, Page, filled, group, is_right, new_file};

const PAGES: u64 = 64;
const SEED: u64 = 11;

/// Groups and single reads over the whole file; whether all is right.
fn is_all_right(file: &File) -> bool {
    (0..PAGES).step_by(8).all(|first| {
        let mut memory = vec![Page::zero(); 8];
        let many = file.read_many(&mut group((first * PAGE as u64..).step_by(PAGE), &mut memory));
        let is_page_right = |(page, memory): (u64, &Page)| is_right(&memory.0, page * PAGE as u64, SEED);
        let right = (first..).zip(&memory).all(is_page_right);
        let mut single = Page::zero();
        let one = file.read_exact_at(&mut single.0, first * PAGE as u64);
        many.is_ok() && right && one.is_ok() && is_right(&single.0, first * PAGE as u64, SEED)
    })
}

/// Two threads read for as long as children are made one after another, by a thread that has a lane itself.
fn forked_while_reading(file: &File) {
    let (stop, rounds) = (AtomicBool::new(false), AtomicU64::new(0));
    let all_begun = Barrier::new(3);
    std::thread::scope(|scope| {
        let read = || {
            all_begun.wait();
            while !stop.load(Ordering::Relaxed) {
                assert!(is_all_right(file), "{file:?}: in the parent");
                rounds.fetch_add(1, Ordering::Relaxed);
            }
        };
        let readers = [scope.spawn(read), scope.spawn(read)];
        all_begun.wait();
        for child in 0..2 {
            assert!(is_all_right(file), "{file:?}: in the forking thread");
            let seen = rounds.load(Ordering::Relaxed);
            let ended = sys::in_child(|| {
                let first = is_all_right(file);
                // Threads of the child's have lanes as well, and its handle may go.
                let second =
                    std::thread::scope(|scope| scope.spawn(|| is_all_right(file)).join().unwrap_or(false));
                first && second
            });
            if ended != Ok(0) {
                stop.store(true, Ordering::Relaxed);
            }
            assert_eq!(ended, Ok(0), "{file:?}: child {child}");
            while rounds.load(Ordering::Relaxed) == seen && !stop.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        }
        stop.store(true, Ordering::Relaxed);
        // Joined one by one, they are gone; the end of the scope would only wait for their work.
        for reader in readers {
            reader.join().expect("it says why");
        }
    });
}

/// Since Linux 6.3 a child gets copies of pages that direct I/O writes to, and the parent keeps its own.
fn fork_is_safe_beside_direct_reads() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).filter_map(|text| text.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(3))
}

#[test]
fn a_fork_disturbs_neither_parent_nor_child() {
    parent_and_child_read_the_right_data_by_every_way();
    a_child_may_drop_a_handle_of_its_parents();
}

fn parent_and_child_read_the_right_data_by_every_way() {
    let folder = folder!("fork");
    let path = new_file(&folder, "data", &filled(PAGES as usize * PAGE, SEED));
    for backend in [Backend::Best, Backend::Libaio, Backend::Pread] {
        for policy in Policy::ALL {
            for direct in [false, true] {
                if direct && !fork_is_safe_beside_direct_reads() {
                    println!("SKIPPED parent_and_child: direct reads beside fork: Linux 6.3 is the first");
                    continue;
                }
                let file = Options { backend, policy, direct, ..Options::default() }.open(&path);
                or_skip("parent_and_child", file).inspect(forked_while_reading);
            }
        }
    }
}

fn a_child_may_drop_a_handle_of_its_parents() {
    let folder = folder!("fork-drop");
    let path = new_file(&folder, "data", &filled(PAGES as usize * PAGE, SEED));
    for policy in Policy::ALL {
        let file = Options { policy, ..Options::default() }.open(&path).expect("the file is there");
        assert!(is_all_right(&file), "{policy}");
        let mut mine = Some(file.clone());
        drop(file);
        let ended = sys::in_child(|| {
            let right = mine.as_ref().is_some_and(is_all_right);
            mine = None;
            right
        });
        assert_eq!(ended, Ok(0), "{policy}");
    }
}

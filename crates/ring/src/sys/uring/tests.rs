//! Does what is pushed come back, by its slot?

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use super::*;
use crate::sys::memory_file::{BLOCK, WHOLE, numbered, permitted};

/// `None`, said aloud, where no rings are to be had.
fn ring(test: &str, options: RingOptions) -> Option<Ring> {
    permitted(test, Ring::new(options))
}

fn plain() -> RingOptions {
    RingOptions { entries: 8, ..RingOptions::default() }
}

/// Where the kernel's threads run that submit for this process.
fn submitters() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux").flatten();
    let status = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
    let own = status.filter(|status| status.starts_with("Name:\tiou-sqp"));
    let cpus = |status: String| Some(status.split_once("Cpus_allowed_list:\t")?.1.lines().next()?.to_owned());
    own.filter_map(cpus).collect()
}

#[test]
fn the_submitting_thread_runs_where_it_is_told() {
    let test = "the_submitting_thread_runs_where_it_is_told";
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
        return println!("SKIPPED {test}: there is one CPU");
    }
    let asked = RingOptions { submit_poll: true, submitter_cpu: Some(1), ..plain() };
    let Some(_ring) = ring(test, asked) else { return };
    // It names and places itself when it runs for the first time.
    let until = Instant::now() + Duration::from_secs(20);
    while !submitters().contains(&"1".to_owned()) {
        assert!(Instant::now() < until, "{:?}", submitters());
        std::thread::yield_now();
    }
    let nowhere = RingOptions { submitter_cpu: Some(u32::MAX), ..asked };
    assert!(Ring::new(nowhere).is_err(), "there is no such CPU");
}

/// A request for the block that its slot numbers.
fn request(head: u64, slot: u32, memory: &mut [u8; BLOCK]) -> Request {
    Request {
        head,
        offset: u64::from(slot) * BLOCK as u64,
        address: memory.as_mut_ptr(),
        length: BLOCK as u32,
        slot,
        buffer_index: slot as u16,
    }
}

/// Sends all, one for each block of `memory`, and waits for them; slots and results in the order of the slots.
fn carry<const REGISTERED: bool>(ring: &mut Ring, head: u64, memory: &mut [[u8; BLOCK]]) -> Vec<(u32, i32)> {
    let count = memory.len() as u32;
    let requests = memory.iter_mut().zip(0..).map(|(memory, slot)| request(head, slot, memory));
    // SAFETY: `memory` is borrowed until all have come back, below, and the ring has room.
    assert_eq!(unsafe { ring.push_all::<REGISTERED>(requests) }, count);
    assert_eq!(ring.enter(count, count).cast_unsigned(), memory.len());
    let mut came = vec![ring.take().expect("one was waited for")];
    ring.reap(1, |slot, result| came.push((slot, result)));
    assert_eq!(came.len(), 2, "no more than were asked for");
    ring.reap(u32::MAX, |slot, result| came.push((slot, result)));
    assert!(!ring.is_ready() && ring.take().is_none());
    came.sort_unstable();
    came
}

fn all(count: u32) -> Vec<(u32, i32)> {
    (0..count).map(|slot| (slot, WHOLE)).collect()
}

/// More rounds than the ring has entries, so that it goes round.
fn reads_and_writes<const REGISTERED: bool>(ring: &mut Ring, file: &File, number: u32, is_number: bool) {
    let head = head_word(number, is_number, REGISTERED);
    let mut memory = [[0; BLOCK]; 5];
    if REGISTERED {
        let vector =
            |block: &mut [u8; BLOCK]| libc::iovec { iov_base: block.as_mut_ptr().cast(), iov_len: BLOCK };
        let vectors: Vec<_> = memory.iter_mut().map(vector).collect();
        ring.register_buffers(&vectors).expect("five small buffers");
    }
    for round in 0..9_u8 {
        assert_eq!(carry::<REGISTERED>(ring, head, &mut memory), all(5));
        for (block, index) in memory.iter_mut().zip(0..) {
            assert_eq!(*block, [index + round; BLOCK], "what was read in round {round}");
            block.fill(index + round + 1);
        }
        assert_eq!(carry::<REGISTERED>(ring, head + WRITE, &mut memory), all(5));
        let mut last = [0; BLOCK];
        file.read_exact_at(&mut last, 4 * BLOCK as u64).expect("it is there");
        assert_eq!(last, [4 + round + 1; BLOCK], "what was written in round {round}");
        memory.as_flattened_mut().fill(0xEE);
    }
}

#[test]
fn a_ring_reads_and_writes_however_it_is_built() {
    let test = "a_ring_reads_and_writes_however_it_is_built";
    let ways = [
        plain(),
        RingOptions { by_itself: true, ..plain() },
        RingOptions { submit_all: true, keep_from_children: true, ..plain() },
    ];
    for options in ways {
        let Some(mut ring) = ring(test, options) else { return };
        let file = numbered(8);
        reads_and_writes::<false>(&mut ring, &file, file.as_raw_fd().cast_unsigned(), false);
    }
}

#[test]
fn files_and_buffers_may_be_registered() {
    let Some(mut ring) = ring("files_and_buffers_may_be_registered", plain()) else { return };
    let (other, file) = (numbered(1), numbered(8));
    ring.register_files(&[other.as_raw_fd(), file.as_raw_fd()]).expect("both are open");
    reads_and_writes::<true>(&mut ring, &file, 1, true);
}

#[test]
fn a_ring_has_room_for_what_was_asked() {
    let Some(ring) = ring("a_ring_has_room_for_what_was_asked", RingOptions { entries: 5, ..plain() }) else {
        return;
    };
    assert_eq!(ring.entries(), 8);
}

#[test]
fn a_wait_for_nothing_ends_in_time() {
    let Some(mut ring) = ring("a_wait_for_nothing_ends_in_time", plain()) else { return };
    if ring.waits_with_timeout() {
        assert_eq!(ring.enter_for(0, 1, 1_000), -(libc::ETIME as isize));
    }
    assert_eq!(ring.enter_and_collect(0, 0), 0);
}

/// How many of three the kernel takes whose second it does not know, and whether it was to send all.
fn taken(test: &str, options: RingOptions) -> Option<(isize, bool)> {
    let mut ring = ring(test, options)?;
    let file = numbered(3);
    let good = head_word(file.as_raw_fd().cast_unsigned(), false, false);
    let mut memory = [[0; BLOCK]; 3];
    let heads = [good, 0xFF, good];
    let requests =
        memory.iter_mut().zip(heads).zip(0..).map(|((memory, head), slot)| request(head, slot, memory));
    // SAFETY: `memory` lives until all that were taken have come back, and the ring is dropped, below.
    unsafe { ring.push_all::<false>(requests) };
    let taken = ring.enter_and_collect(3, 0);
    assert_eq!(ring.enter_and_collect(0, taken as u32), 0);
    let mut came = Vec::new();
    ring.reap(u32::MAX, |slot, result| came.push((slot, result)));
    came.sort_unstable();
    let expected = [(0, WHOLE), (1, -libc::EINVAL), (2, WHOLE)];
    assert_eq!(came, expected[..taken as usize]);
    let sends_all = ring.parameters.flags & SETUP_SUBMIT_ALL != 0;
    drop(ring);
    Some((taken, sends_all))
}

#[test]
fn a_refused_request_holds_up_those_behind_it_unless_all_are_to_be_sent() {
    let test = "a_refused_request_holds_up_those_behind_it_unless_all_are_to_be_sent";
    let Some(found) = taken(test, plain()) else { return };
    assert_eq!(found, (2, false));
    let Some((sent, sends_all)) = taken(test, RingOptions { submit_all: true, ..plain() }) else { return };
    if sends_all {
        assert_eq!(sent, 3);
    } else {
        println!("SKIPPED {test}: Linux 5.18 is the first");
    }
}

/// Whether `/proc/self/smaps` says that the mapping with this address is not copied on fork (`dc`, proc(5)).
fn is_kept(address: usize) -> bool {
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("Linux tells");
    let holds_it = |line: &&str| {
        let ends = line.split(' ').next().and_then(|range| range.split_once('-'));
        let number = |text| usize::from_str_radix(text, 16).unwrap_or(0);
        ends.is_some_and(|(first, end)| (number(first)..number(end)).contains(&address))
    };
    let mut lines = maps.lines().skip_while(|line| !holds_it(line));
    let flags = lines.find(|line| line.starts_with("VmFlags:")).expect("it is mapped");
    flags.split(' ').any(|flag| flag == "dc")
}

#[test]
fn a_ring_is_kept_from_children_where_that_is_asked() {
    let test = "a_ring_is_kept_from_children_where_that_is_asked";
    for keep_from_children in [false, true] {
        let Some(ring) = ring(test, RingOptions { keep_from_children, ..plain() }) else { return };
        for address in [ring.entries as usize, ring.sq_tail.0 as usize, ring.cq_tail.0 as usize] {
            assert_eq!(is_kept(address), keep_from_children);
        }
    }
}

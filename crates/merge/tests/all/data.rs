//! Does each buffer get its own block, by every backend under every policy?

use iostack_batch::BatchCost;
use iostack_merge::{Backend, File, Options, Policy, Simulated};
use iostack_testkit::{Loop, folder, or_skip};

use crate::pattern::{PAGE, Page, fill, filled, group, is_right, new_file};
use crate::{on_coroutines, on_threads};

/// Pages of a file under test.
const PAGES: usize = 128;

const CHEAP: BatchCost = BatchCost { fixed_ns: 500.0, each_ns: 100.0 };

/// Writes all pages in groups of 1 to 64 and some by themselves, in some order, then reads them so from several threads.
fn written_and_read(file: &File, seed: u64) {
    write_all(file, seed);
    on_threads(3, |thread| read_all(file, seed, thread));
}

/// Groups of 1 to 64 that cover all pages, in an order by the seed: an odd step meets each of 128.
fn groups(seed: u64) -> Vec<Vec<usize>> {
    let place = |index: u64| ((index * (2 * seed + 1) + seed) % PAGES as u64) as usize;
    let mut order: Vec<usize> = (0..PAGES as u64).map(place).collect();
    let mut groups = Vec::new();
    for size in [1, 2, 3, 64, 5, 1, 16, usize::MAX] {
        let rest = order.split_off(order.len().min(size));
        groups.push(std::mem::replace(&mut order, rest));
    }
    groups.push(Vec::new());
    groups
}

fn write_all(file: &File, seed: u64) {
    for group in groups(seed) {
        let mut memory = vec![Page::zero(); group.len()];
        for (page, &place) in memory.iter_mut().zip(&group) {
            fill(&mut page.0, (place * PAGE) as u64, seed);
        }
        let list: Vec<(u64, &[u8])> =
            group.iter().zip(&memory).map(|(&place, page)| ((place * PAGE) as u64, &page.0[..])).collect();
        if let [(offset, page)] = list[..] {
            file.write_all_at(page, offset).expect("the file can be written");
        } else {
            file.write_many(&list).expect("the file can be written");
        }
    }
}

fn read_all(file: &File, seed: u64, thread: u64) {
    for (number, places) in (thread..).zip(groups(seed * 31 + thread)) {
        let mut memory = vec![Page::zero(); places.len()];
        if number % 2 == 0 {
            let offsets = places.iter().map(|&place| (place * PAGE) as u64);
            file.read_many(&mut group(offsets, &mut memory)).expect("the file can be read");
        } else {
            for (&place, page) in places.iter().zip(&mut memory) {
                file.read_exact_at(&mut page.0, (place * PAGE) as u64).expect("the file can be read");
            }
        }
        for (&place, page) in places.iter().zip(&memory) {
            let right = is_right(&page.0, (place * PAGE) as u64, seed);
            assert!(right, "{file:?}, seed {seed}: page {place} is not what was written");
        }
    }
}

/// All policies over a file or device, by all backends that work on it.
fn every_way(test: &str, path: &std::path::Path, backends: &[Backend]) {
    let mut seed = 1;
    for &backend in backends {
        for policy in Policy::ALL {
            for direct in [false, true] {
                let options = Options { policy, backend, direct, write: true, ..Options::default() };
                or_skip(test, options.open(path)).inspect(|file| written_and_read(file, seed));
                seed += 1;
            }
        }
    }
}

#[test]
fn every_buffer_gets_its_own_block_of_a_file() {
    let folder = folder!("data-file");
    let path = new_file(&folder, "data", &vec![0; PAGES * PAGE]);
    let backends = [Backend::IoUring, Backend::Libaio, Backend::Pread];
    every_way("every_buffer_gets_its_own_block_of_a_file", &path, &backends);
}

#[test]
fn every_buffer_gets_its_own_block_of_a_loop_device() {
    const TEST: &str = "every_buffer_gets_its_own_block_of_a_loop_device";
    let folder = folder!("data-loop");
    let path = new_file(&folder, "data", &vec![0; PAGES * PAGE]);
    let Some(device) = or_skip(TEST, Loop::over(&path)) else { return };
    every_way(TEST, &device, &[Backend::Best, Backend::Libaio]);
}

#[test]
fn every_buffer_gets_its_own_block_of_a_simulated_device() {
    let device = Simulated::new(PAGES * PAGE, CHEAP);
    for (seed, policy) in (1..).zip(Policy::ALL) {
        written_and_read(&Options { policy, ..Options::default() }.simulated(&device), seed);
    }
}

#[test]
fn every_buffer_gets_its_own_block_of_a_tmerge_device() {
    const TEST: &str = "every_buffer_gets_its_own_block_of_a_tmerge_device";
    let options = Options { backend: Backend::Tmerge, direct: true, write: true, ..Options::default() };
    if or_skip(TEST, options.open("/dev/tmerge0")).is_some() {
        every_way(TEST, "/dev/tmerge0".as_ref(), &[Backend::Tmerge]);
    }
}

#[test]
fn a_group_larger_than_any_lane_comes_whole() {
    let folder = folder!("data-large");
    let path = new_file(&folder, "data", &filled(600 * 512, 7));
    for backend in [Backend::Best, Backend::Libaio, Backend::Pread] {
        let file = Options { backend, ..Options::default() }.open(&path).expect("the file is there");
        let mut memory = vec![[0_u8; 512]; 600];
        let mut list: Vec<(u64, &mut [u8])> =
            (0..).zip(&mut memory).map(|(index, block)| (index * 512, &mut block[..])).collect();
        file.read_many(&mut list).expect("the file can be read");
        for (index, block) in memory.iter().enumerate() {
            assert!(is_right(block, index as u64 * 512, 7), "{file:?}: block {index}");
        }
    }
}

#[test]
fn one_command_carries_a_group_on_a_device_that_takes_one_at_a_time() {
    let device = Simulated::new(64 * PAGE, CHEAP);
    let file = Options { policy: Policy::Hybrid, count: true, ..Options::default() }.simulated(&device);
    let mut memory = vec![Page::zero(); 40];
    file.read_many(&mut group((0..).step_by(PAGE), &mut memory)).expect("the device is sound");
    let stats = file.stats().expect("they were asked for");
    assert_eq!((stats.requests, stats.batches, stats.batch_max), (40, 1, 40));
}

#[test]
fn of_writes_that_overlap_each_block_is_of_one_of_them() {
    let folder = folder!("data-overlap");
    let path = new_file(&folder, "data", &[0; 4 * PAGE]);
    let device = Simulated::new(4 * PAGE, CHEAP);
    let options = Options { write: true, direct: true, ..Options::default() };
    for file in [options.open(&path).expect("ext4 has direct I/O"), options.simulated(&device)] {
        let (mut first, mut second) = (vec![Page::zero(); 2], vec![Page::zero(); 2]);
        (0..).zip(&mut first).for_each(|(page, memory)| fill(&mut memory.0, page * PAGE as u64, 1));
        (0..).zip(&mut second).for_each(|(page, memory)| fill(&mut memory.0, page * PAGE as u64, 2));
        for _ in 0..50 {
            let list: Vec<(u64, &[u8])> = (0..)
                .zip(first.iter().zip(&second))
                .flat_map(|(page, (one, other))| {
                    let offset = page * PAGE as u64;
                    [(offset, &one.0[..]), (offset, &other.0[..])]
                })
                .collect();
            file.write_many(&list).expect("the file can be written");
            let mut now = vec![Page::zero(); 2];
            for (offset, page) in (0..).step_by(PAGE).zip(&mut now) {
                file.read_exact_at(&mut page.0, offset).expect("the file can be read");
                for (index, block) in page.0.chunks(512).enumerate() {
                    let offset = offset + index as u64 * 512;
                    assert!(
                        is_right(block, offset, 1) || is_right(block, offset, 2),
                        "{file:?}: at {offset}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_handle_knows_its_length_its_policy_and_what_carries_batches() {
    let folder = folder!("data-handle");
    let path = new_file(&folder, "data", &[0; 5000]);
    let file = Options { policy: Policy::Stm, backend: Backend::Pread, write: true, ..Options::default() };
    let file = file.open(&path).expect("the file is there");
    assert_eq!((file.len().ok(), file.is_empty().ok()), (Some(5000), Some(false)));
    assert_eq!((file.policy(), file.backend(), file.stats()), (Policy::Stm, "pread", None));
    file.write_all_at(&[1; 10], 4995).expect("the file can grow");
    assert_eq!(file.len().ok(), Some(5005));
    file.sync_data().and_then(|()| file.sync_all()).expect("the file can be synced");
}

#[test]
fn a_block_device_knows_its_length() {
    let folder = folder!("data-length");
    let path = new_file(&folder, "data", &vec![0; 8 * PAGE]);
    let Some(device) = or_skip("a_block_device_knows_its_length", Loop::over(&path)) else { return };
    assert_eq!(File::open(&*device).and_then(|file| file.len()).ok(), Some(8 * PAGE as u64));
}

#[test]
fn groups_of_coroutines_share_batches() {
    let device = Simulated::new(PAGES * PAGE, CHEAP);
    let file = Options { count: true, ..Options::default() }.simulated(&device);
    write_all(&file, 9);
    let before = file.stats().expect("they were asked for");
    on_coroutines(1, 8, |number| read_all(&file, 9, number as u64));
    let after = file.stats().expect("they were asked for");
    let (requests, batches) = (after.requests - before.requests, after.batches - before.batches);
    assert_eq!(requests, 8 * PAGES as u64);
    assert!(batches * 4 < requests, "{requests} requests went in {batches} batches");
}

//! What comes back when a request fails, and do the others still come?

use std::io::{self, ErrorKind};
use std::path::Path;

use iostack_batch::BatchCost;
use iostack_merge::{Backend, File, ManyError, Options, Policy, Simulated};
use iostack_testkit::{Loop, folder, or_skip};

use crate::pattern::{PAGE, Page, filled, group, is_right, new_file};

const CHEAP: BatchCost = BatchCost { fixed_ns: 500.0, each_ns: 100.0 };
const REAL: [Backend; 3] = [Backend::IoUring, Backend::Libaio, Backend::Pread];

/// A file or device by every backend that works here, under these policies.
fn opened(test: &str, path: &Path, policies: &[Policy], options: &Options) -> Vec<File> {
    let ways = REAL.iter().flat_map(|&backend| policies.iter().map(move |&policy| (backend, policy)));
    let open = |(backend, policy)| or_skip(test, Options { backend, policy, ..options.clone() }.open(path));
    ways.filter_map(open).collect()
}

/// Reads pages as one group: which failed how, after a look at all others.
fn pages(file: &File, places: &[u64], seed: u64) -> Vec<(usize, io::Error)> {
    let mut memory = vec![Page::zero(); places.len()];
    let offsets = places.iter().map(|place| place * PAGE as u64);
    let failures = match file.read_many(&mut group(offsets, &mut memory)) {
        Ok(()) => Vec::new(),
        Err(ManyError { count, failures }) => {
            assert_eq!(count, places.len());
            failures
        }
    };
    for (index, (&place, page)) in places.iter().zip(&memory).enumerate() {
        if failures.iter().all(|&(failed, _)| failed != index) {
            assert!(is_right(&page.0, place * PAGE as u64, seed), "{file:?}: page {place}");
        }
    }
    failures
}

fn codes(failures: &[(usize, io::Error)]) -> Vec<(usize, Option<i32>)> {
    failures.iter().map(|(index, error)| (*index, error.raw_os_error())).collect()
}

#[test]
fn a_medium_error_is_its_own_requests_only_under_every_policy() {
    let broken = 3 * PAGE as u64;
    let device = Simulated::broken(8 * PAGE, CHEAP, broken..broken + 1);
    let whole = filled(8 * PAGE, 1);
    for policy in Policy::ALL {
        let file = Options { policy, ..Options::default() }.simulated(&device);
        for page in [0, 1, 2, 4, 5, 6, 7] {
            file.write_all_at(&whole[page * PAGE..][..PAGE], (page * PAGE) as u64).expect("a sound page");
        }
        let failures = pages(&file, &[7, 3, 0, 3, 1], 1);
        assert_eq!(codes(&failures), [(1, Some(libc::EIO)), (3, Some(libc::EIO))], "{policy}");
        let error = file.read_exact_at(&mut [0; PAGE], broken).expect_err("a broken page");
        assert_eq!(error.raw_os_error(), Some(libc::EIO), "{policy}");
        let error = file.write_all_at(&[0; PAGE], broken).expect_err("a broken page");
        assert_eq!(error.raw_os_error(), Some(libc::EIO), "{policy}");
    }
}

#[test]
fn a_real_medium_error_is_its_own_requests_only() {
    const TEST: &str = "a_real_medium_error_is_its_own_requests_only";
    let folder = folder!("faults-loop");
    let path = new_file(&folder, "data", &filled(64 * PAGE, 5));
    let Some(device) = or_skip(TEST, Loop::over(&path)) else { return };
    // The device keeps its length, and has nothing to read where its file now ends.
    let backing = std::fs::OpenOptions::new().write(true).open(&path).expect("the file is ours");
    backing.set_len(32 * PAGE as u64).expect("the file is ours");
    let direct = Options { direct: true, ..Options::default() };
    for file in opened(TEST, &device, &[Policy::Auto, Policy::Ring, Policy::Stm], &direct) {
        let failures = pages(&file, &[0, 40, 31, 63, 2], 5);
        assert_eq!(codes(&failures), [(1, Some(libc::EIO)), (3, Some(libc::EIO))], "{file:?}");
        let error = file.read_exact_at(&mut Page::zero().0, 50 * PAGE as u64).expect_err("a hole");
        assert_eq!(error.raw_os_error(), Some(libc::EIO), "{file:?}");
    }
}

#[test]
fn the_end_of_the_file_is_told_and_what_lies_before_it_has_come() {
    let folder = folder!("faults-end");
    let path = new_file(&folder, "data", &filled(PAGE + 904, 3));
    for direct in [false, true] {
        let options = Options { direct, ..Options::default() };
        for file in opened("the_end_of_the_file", &path, &Policy::ALL, &options) {
            let failures = pages(&file, &[1, 0, 2, 0], 3);
            let kinds: Vec<_> = failures.iter().map(|(index, error)| (*index, error.kind())).collect();
            assert_eq!(kinds, [(0, ErrorKind::UnexpectedEof), (2, ErrorKind::UnexpectedEof)], "{file:?}");
            let mut page = Page::zero();
            let error = file.read_exact_at(&mut page.0, PAGE as u64).expect_err("904 bytes are there");
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{file:?}, direct {direct}");
            assert!(is_right(&page.0[..904], PAGE as u64, 3), "{file:?}");
            assert_eq!(file.read_at(&mut page.0, PAGE as u64).ok(), Some(904), "{file:?}");
            assert_eq!(file.read_at(&mut page.0, 1 << 30).ok(), Some(0), "{file:?}");
        }
    }
}

#[test]
fn nothing_is_sent_for_nothing() {
    let folder = folder!("faults-empty");
    let path = new_file(&folder, "data", &[7; 100]);
    let counting = Options { count: true, ..Options::default() };
    for file in opened("nothing_is_sent_for_nothing", &path, &[Policy::Auto], &counting) {
        file.read_many(&mut []).expect("nothing is asked");
        file.write_many(&[]).expect("nothing is asked");
        file.read_exact_at(&mut [], 1 << 40).expect("nothing is asked");
        file.read_many(&mut [(0, &mut []), (1 << 40, &mut [])]).expect("nothing is asked");
        assert_eq!(file.stats().map(|stats| stats.requests), Some(0), "{file:?}");
        let (mut one, mut other) = ([0; 4], [0; 5]);
        file.read_many(&mut [(0, &mut one), (1 << 40, &mut []), (95, &mut other)]).expect("it is there");
        assert_eq!((one, other), ([7; 4], [7; 5]));
        assert_eq!(file.stats().map(|stats| (stats.requests, stats.batches)), Some((2, 1)), "{file:?}");
    }
}

#[test]
fn a_file_open_for_reading_refuses_each_write() {
    let folder = folder!("faults-closed");
    let path = new_file(&folder, "data", &[7; 100]);
    for file in opened("a_file_open_for_reading", &path, &Policy::ALL, &Options::default()) {
        let written = file.write_many(&[(0, &[1; 5]), (9, &[]), (50, &[1; 5])]);
        let error = written.expect_err("it is not open for that");
        assert_eq!(codes(&error.failures), [(0, Some(libc::EBADF)), (2, Some(libc::EBADF))], "{file:?}");
        let text = "2 of 3 requests failed, the first at index 0: Bad file descriptor (os error 9)";
        assert_eq!(error.to_string(), text);
        let error = file.write_all_at(&[1; 5], 0).expect_err("it is not open for that");
        assert_eq!(error.raw_os_error(), Some(libc::EBADF), "{file:?}");
    }
}

#[test]
fn direct_requests_that_are_not_aligned_are_refused_one_by_one() {
    let folder = folder!("faults-aligned");
    let path = new_file(&folder, "data", &filled(4 * PAGE, 2));
    let direct = Options { direct: true, ..Options::default() };
    for file in opened("direct_requests_that_are_not_aligned", &path, &[Policy::Auto], &direct) {
        let (mut good, mut bad) = (Page::zero(), Page::zero());
        let mut list: [(u64, &mut [u8]); 2] = [(3, &mut bad.0[..]), (PAGE as u64, &mut good.0[..])];
        let error = file.read_many(&mut list).expect_err("an offset of 3");
        assert_eq!(codes(&error.failures), [(0, Some(libc::EINVAL))], "{file:?}");
        assert!(is_right(&good.0, PAGE as u64, 2), "{file:?}");
    }
}

#[test]
fn a_backend_that_does_not_work_says_why_and_what_to_do() {
    let folder = folder!("faults-backend");
    let path = new_file(&folder, "data", &[7; 4096]);
    let tmerge = Options { backend: Backend::Tmerge, direct: true, ..Options::default() };
    let error = tmerge.open(&path).expect_err("a file is no such device");
    let text = "tmerge does not work here: this is no device of the tmerge driver; load the module and open \
                /dev/tmerge0, or take the backend `best`";
    assert_eq!(error.to_string(), text);
    let buffered = Options { backend: Backend::Tmerge, ..Options::default() };
    let error = buffered.open(&path).expect_err("the page cache would not know");
    assert!(error.to_string().contains("open it with `direct`"), "{error}");
}

#[test]
fn what_has_no_offsets_is_left_to_plain_calls() {
    let file = File::open("/dev/zero").expect("it is everywhere");
    assert_eq!(file.backend(), "pread");
    let (mut one, mut other) = ([1; 8], [1; 8]);
    file.read_many(&mut [(0, &mut one), (8, &mut other)]).expect("zeros never end");
    assert_eq!((one, other), ([0; 8], [0; 8]));
}

//! Is an offset that the kernel cannot name refused by every way in, and is the file's start left alone?

use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use iostack_batch::BatchCost;
use iostack_merge::{Backend, File, ManyError, Options, Policy, Simulated, block_on};
use iostack_testkit::{Folder, folder};

use crate::pattern::{BLOCK, PAGE, Page, fill, is_right, new_file};
use crate::sys;

const SEED: u64 = 15;
const MAX: u64 = i64::MAX as u64;

/// A way in that reads or writes so many bytes at an offset.
type FileWay = fn(&File, bool, u64, usize) -> io::Result<()>;

const WAYS: [(&str, FileWay); 7] = [
    ("single", single),
    ("exact", exact),
    ("group", group),
    ("future, block_on", |file, write, offset, bytes| block_on(future(file.clone(), write, offset, bytes))),
    ("future, another executor", |file, write, offset, bytes| {
        busy_block_on(future(file.clone(), write, offset, bytes))
    }),
    ("coroutine", |file, write, offset, bytes| in_coroutine(|| single(file, write, offset, bytes))),
    ("coroutine's group", |file, write, offset, bytes| in_coroutine(|| group(file, write, offset, bytes))),
];

fn single(file: &File, write: bool, offset: u64, bytes: usize) -> io::Result<()> {
    let mut buffer = vec![b'x'; bytes];
    let moved = if write { file.write_at(&buffer, offset) } else { file.read_at(&mut buffer, offset) };
    moved.map(|_| ())
}

fn exact(file: &File, write: bool, offset: u64, bytes: usize) -> io::Result<()> {
    let mut buffer = vec![b'x'; bytes];
    if write { file.write_all_at(&buffer, offset) } else { file.read_exact_at(&mut buffer, offset) }
}

/// Puts a sound one before and behind it, which are done.
fn group(file: &File, write: bool, offset: u64, bytes: usize) -> io::Result<()> {
    let (mut page, mut buffer) = (start(), vec![b'x'; bytes]);
    let (before, behind) = page.0.split_at_mut(BLOCK);
    let done = if write {
        file.write_many(&[(0, before), (offset, &buffer), (BLOCK as u64, behind)])
    } else {
        before.fill(0);
        behind.fill(0);
        file.read_many(&mut [(0, before), (offset, &mut buffer), (BLOCK as u64, behind)])
    };
    assert!(is_right(&page.0, 0, SEED));
    done.map_err(second)
}

/// Content of the file's first page.
fn start() -> Page {
    let mut page = Page::zero();
    fill(&mut page.0, 0, SEED);
    page
}

/// Error of the second of three, where it alone failed.
fn second(error: ManyError) -> io::Error {
    let indices: Vec<usize> = error.failures.iter().map(|(index, _)| *index).collect();
    assert_eq!(indices, [1], "{error}");
    error.failures.into_iter().next().expect("one failed").1
}

async fn future(file: File, write: bool, offset: u64, bytes: usize) -> io::Result<()> {
    let buffer = vec![b'x'; bytes];
    let (result, buffer) = if write {
        file.write_at_async(buffer, offset).await
    } else {
        file.read_at_async(buffer, offset).await
    };
    assert_eq!(buffer.len(), bytes, "it comes back");
    result.map(|_| ())
}

fn busy_block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
        std::thread::yield_now();
    }
}

fn in_coroutine<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    sys::scope(1, |s| s.spawn(work).join().expect("it does not panic"))
}

/// Every backend that works here under every policy, and a simulated device.
fn files(folder: &Folder) -> Vec<(String, File)> {
    let path = new_file(folder, "data", &start().0);
    let mut files = Vec::new();
    for policy in Policy::ALL {
        for backend in [Backend::IoUring, Backend::Libaio, Backend::Pread] {
            let options = Options { policy, backend, write: true, ..Options::default() };
            match options.open(&path) {
                Ok(file) => files.push((format!("{policy}, {backend}"), file)),
                Err(error) => println!("left out: {error}"),
            }
        }
        let free = BatchCost { fixed_ns: 0.0, each_ns: 0.0 };
        let file = Options { policy, ..Options::default() }.simulated(&Simulated::new(PAGE, free));
        file.write_all_at(&start().0, 0).expect("the device is sound");
        files.push((format!("{policy}, simulated"), file));
    }
    files
}

#[test]
fn what_ends_behind_the_largest_offset_is_refused_by_every_way_and_the_files_start_is_whole() {
    let folder = folder!("offsets");
    for (name, file) in files(&folder) {
        for (way_name, way) in WAYS {
            for write in [false, true] {
                let told = format!("{name}, {way_name}, write: {write}");
                for (offset, bytes) in [(MAX - 1, 2), (MAX, 1), (MAX + 1, 1), (u64::MAX, 1), (u64::MAX, 16)] {
                    let error = way(&file, write, offset, bytes).expect_err("nothing lies there");
                    assert_eq!(error.raw_os_error(), Some(libc::EINVAL), "{told}, {bytes} at {offset}");
                }
                // The last byte has a name: what there is to say of it, the file system or the device says.
                if let Err(error) = way(&file, write, MAX - 1, 1) {
                    assert_ne!(error.raw_os_error(), Some(libc::EINVAL), "{told}");
                }
            }
        }
        let mut page = Page::zero();
        file.read_exact_at(&mut page.0, 0).expect("it is there");
        assert!(is_right(&page.0, 0, SEED), "{name}");
    }
}

#[test]
fn an_empty_buffer_is_full_wherever_it_lies() {
    let free = BatchCost { fixed_ns: 0.0, each_ns: 0.0 };
    let file = Options::default().simulated(&Simulated::new(PAGE, free));
    file.read_exact_at(&mut [], u64::MAX).expect("nothing is asked");
    file.read_many(&mut [(u64::MAX, &mut []), (0, &mut [0; 4])]).expect("nothing is asked of the first");
}

//! Do lanes keep their word when the kernel does not?

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;

use iostack_testkit::or_skip;

use super::{Device, Finished, Loans, Pread, device, lend_raw_read};
use crate::{Backend, Options};

/// A file of 8 blocks, of which each byte is its block's number.
fn file(name: &str) -> Arc<File> {
    let path = std::env::temp_dir().join(format!("iostack-merge-{name}-{}", std::process::id()));
    let bytes: Vec<u8> = (0..8 * 512).map(|index| (index / 512) as u8).collect();
    std::fs::write(&path, bytes).expect("the folder can be written");
    let file = File::open(&path).expect("it was just written");
    std::fs::remove_file(&path).expect("it was just written");
    Arc::new(file)
}

fn devices(name: &str) -> Vec<Box<dyn Device>> {
    let file = file(name);
    let uring: Option<Box<dyn Device>> =
        or_skip(name, Pread::with_uring(file.clone())).map(|uring| Box::new(uring) as _);
    let aio = or_skip(name, Pread::with_libaio(file.clone())).map(|aio| Box::new(aio) as _);
    [uring, aio, Some(Box::new(Pread::new(file)))].into_iter().flatten().collect()
}

/// A system call that fails in this thread from now on, and in no other.
fn forbid(call: libc::c_long, errno: i32) {
    let statement = |code: u32, jump_true, jump_false, k| libc::sock_filter {
        code: code as u16,
        jt: jump_true,
        jf: jump_false,
        k,
    };
    let filter = [
        // The number of the call is the first word of `struct seccomp_data`.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, call as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the call takes numbers, and concerns this thread alone.
    let quiet = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: the kernel copies the program, which lives for the call, and concerns this thread alone.
    let set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
    assert_eq!((quiet, set), (0, 0), "{}", io::Error::last_os_error());
}

/// Runs in a thread of its own, which may be forbidden what it likes.
fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(work).join().expect("the thread does not panic"))
}

fn read_three(device: &dyn Device, before_enter: impl FnOnce()) -> [Vec<u8>; 3] {
    let mut memory = [vec![99; 512], vec![99; 512], vec![99; 512]];
    let mut list: Vec<(u64, &mut [u8])> = [5, 0, 7]
        .into_iter()
        .zip(&mut memory)
        .map(|(block, memory)| (block * 512, &mut memory[..]))
        .collect();
    let mut loans = Loans::reads(&mut list);
    let mut lane = device.lane(3).expect("it worked before");
    (0..3).for_each(|index| lane.push(loans.lend(index)));
    before_enter();
    let mut finished = Vec::new();
    lane.enter(3, &mut finished);
    assert_eq!((finished.len(), lane.held()), (3, 0), "{}", device.name());
    finished.into_iter().for_each(Finished::deliver);
    for index in 0..3 {
        assert_eq!(loans.settle(index).ok(), Some(0), "{}", device.name());
    }
    drop(lane);
    drop(loans);
    memory
}

const THREE: [u8; 3] = [5, 0, 7];

#[test]
fn memory_that_is_not_there_fails_its_own_request_only() {
    for device in devices("memory_that_is_not_there") {
        let mut memory = [[99_u8; 512]; 2];
        let [first, second] = &mut memory;
        let mut list: [(u64, &mut [u8]); 2] = [(512, first), (1024, second)];
        let mut loans = Loans::reads(&mut list);
        let mut lane = device.lane(4).expect("it worked before");
        let mut finished = Vec::new();
        let nowhere = std::ptr::without_provenance_mut(4096);
        let result = lend_raw_read(nowhere, 512, 0, |request, _| {
            lane.push(loans.lend(0));
            if device.name() == "pread" {
                // A plain call would make a slice of it.
                request.complete(Err(io::Error::from_raw_os_error(libc::EFAULT)));
            } else {
                lane.push(request);
            }
            lane.push(loans.lend(1));
            lane.enter(3, &mut finished);
            finished.drain(..).for_each(Finished::deliver);
        });
        assert_eq!(result.expect_err("nothing is there").raw_os_error(), Some(libc::EFAULT));
        assert_eq!([loans.settle(0).ok(), loans.settle(1).ok()], [Some(0), Some(0)], "{}", device.name());
        drop(loans);
        assert_eq!([memory[0][0], memory[1][511]], [1, 2], "{}", device.name());
    }
}

#[test]
fn a_lane_that_is_dropped_gives_back_what_it_was_not_asked_to_send() {
    for device in devices("a_lane_that_is_dropped") {
        let mut memory = [[99_u8; 512]; 2];
        let [first, second] = &mut memory;
        let mut list: [(u64, &mut [u8]); 2] = [(512, first), (1024, second)];
        let mut loans = Loans::reads(&mut list);
        let mut lane = device.lane(4).expect("it worked before");
        lane.push(loans.lend(0));
        lane.push(loans.lend(1));
        drop(lane);
        for index in 0..2 {
            let error = loans.settle(index).expect_err("it was never sent");
            assert_eq!(error.raw_os_error(), Some(libc::ECANCELED), "{}", device.name());
        }
        drop(loans);
        assert_eq!(memory, [[99; 512]; 2], "{}", device.name());
        // What was queued is not sent with the next.
        assert_eq!(read_three(&*device, || ()).map(|block| block[511]), THREE, "{}", device.name());
        assert_eq!(memory, [[99; 512]; 2], "{}", device.name());
    }
}

#[test]
fn lanes_of_one_thread_may_be_nested() {
    for device in devices("lanes_of_one_thread") {
        let inner = || assert_eq!(read_three(&*device, || ()).map(|block| block[0]), THREE);
        assert_eq!(read_three(&*device, inner).map(|block| block[0]), THREE, "{}", device.name());
    }
}

#[test]
fn what_a_ring_does_not_take_is_done_by_plain_calls() {
    for errno in [libc::EAGAIN, libc::EBUSY, libc::ENOMEM, libc::EPERM] {
        let uring = Pread::with_uring(file("refused"));
        let Some(uring) = or_skip("what_a_ring_does_not_take_is_done_by_plain_calls", uring) else { return };
        let blocks = apart(|| {
            let first = read_three(&uring, || forbid(libc::SYS_io_uring_enter, errno));
            [first, read_three(&uring, || ())]
        });
        assert_eq!(blocks.map(|three| three.map(|block| block[7])), [THREE; 2], "errno {errno}");
    }
}

#[test]
fn what_libaio_does_not_take_is_done_by_plain_calls_or_fails() {
    const TEST: &str = "what_libaio_does_not_take_is_done_by_plain_calls_or_fails";
    let Some(aio) = or_skip(TEST, Pread::with_libaio(file("refused-aio"))) else { return };
    let blocks = apart(|| read_three(&aio, || forbid(libc::SYS_io_submit, libc::EAGAIN)));
    assert_eq!(blocks.map(|block| block[7]), THREE);
}

#[test]
fn a_thread_that_gets_no_ring_reads_all_the_same() {
    let file = file("no-ring");
    let devices: [(io::Result<Box<dyn Device>>, _); 2] = [
        (Pread::with_uring(file.clone()).map(|device| Box::new(device) as _), libc::SYS_io_uring_setup),
        (Pread::with_libaio(file).map(|device| Box::new(device) as _), libc::SYS_io_setup),
    ];
    for (device, call) in devices {
        let Some(device) = or_skip("a_thread_that_gets_no_ring_reads_all_the_same", device) else { continue };
        let blocks = apart(|| {
            forbid(call, libc::ENOMEM);
            read_three(&*device, || ())
        });
        assert_eq!(blocks.map(|block| block[7]), THREE, "{}", device.name());
    }
}

#[test]
fn where_io_uring_is_forbidden_the_best_is_something_else_and_asking_for_it_says_why() {
    let (text, best) = apart(|| {
        forbid(libc::SYS_io_uring_setup, libc::EPERM);
        let error = device(Backend::IoUring, file("forbidden")).err().expect("it is forbidden");
        let best = device(Backend::Best, file("forbidden")).expect("plain calls always work");
        (error.to_string(), best.name())
    });
    let expected = "io_uring does not work here: a seccomp filter or the sysctl kernel.io_uring_disabled forbids it; \
                    allow it in the container's profile or set the sysctl to 0, or take the backend `best`";
    assert_eq!((text.as_str(), best), (expected, "pread"));
}

#[test]
fn where_io_uring_is_forbidden_direct_files_go_by_libaio() {
    const TEST: &str = "where_io_uring_is_forbidden_direct_files_go_by_libaio";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    if or_skip(TEST, Pread::with_libaio(file("libaio"))).is_none() {
        return;
    }
    let opened = apart(|| {
        forbid(libc::SYS_io_uring_setup, libc::ENOSYS);
        Options { direct: true, ..Options::default() }.open(path).map(|file| file.backend())
    });
    if let Some(backend) = or_skip(TEST, opened) {
        assert_eq!(backend, "libaio");
    }
}

#[test]
fn a_file_that_is_open_without_blocking_is_read_as_pread_does() {
    let path = std::env::temp_dir().join(format!("iostack-merge-nonblock-{}", std::process::id()));
    std::fs::write(&path, vec![6; 1 << 20]).expect("the folder can be written");
    let mut options = File::options();
    let file =
        std::os::unix::fs::OpenOptionsExt::custom_flags(options.read(true), libc::O_NONBLOCK).open(&path);
    std::fs::remove_file(&path).expect("it was just written");
    let file = Arc::new(file.expect("it was just written"));
    file.sync_all().expect("it can be synced");
    let uring = Pread::with_uring(file.clone());
    let Some(uring) = or_skip("a_file_that_is_open_without_blocking_is_read_as_pread_does", uring) else {
        return;
    };
    for _ in 0..20 {
        // What is not in the page cache is answered with EAGAIN by a ring, and read by pread.
        // SAFETY: the call takes numbers.
        let status = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        assert_eq!(status, 0);
        assert_eq!(read_three(&uring, || ()).map(|block| block[9]), [6; 3]);
    }
}

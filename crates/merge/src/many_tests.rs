//! Does a group come whole by a lane that does what lanes may do: late, short, in any order, on another thread?
//!
//! Small enough for miri: `cargo +nightly miri test -p iostack-merge --lib -- many sys::request`.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use super::carry;
use crate::sys::{Device, Finished, Lane, Loans, Request, called};

/// A device whose answers are in a script: by offset, an errno once (positive) or the most bytes that one call moves (negative).
#[derive(Clone)]
struct Mock {
    data: Arc<Mutex<Vec<u8>>>,
    script: Arc<Mutex<BTreeMap<u64, Vec<i32>>>>,
    depth: usize,
    seed: u64,
    elsewhere: bool,
}

impl Mock {
    fn new(depth: usize, seed: u64, script: &[(u64, &[i32])]) -> Mock {
        let script = script.iter().map(|&(offset, answers)| (offset, answers.to_vec())).collect();
        let data = (0..=255).collect();
        Mock {
            data: Arc::new(Mutex::new(data)),
            script: Arc::new(Mutex::new(script)),
            depth,
            seed,
            elsewhere: seed.is_multiple_of(2),
        }
    }

    /// Bytes that this call moves.
    fn answer(&self, offset: u64, length: usize) -> io::Result<usize> {
        let mut script = self.script.lock().expect("nothing panics with it");
        let answer =
            script.get_mut(&offset).filter(|answers| !answers.is_empty()).map(|answers| answers.remove(0));
        match answer {
            Some(errno) if errno > 0 => Err(io::Error::from_raw_os_error(errno)),
            Some(limit) => Ok(length.min(limit.unsigned_abs() as usize)),
            None => Ok(length),
        }
    }
}

impl Device for Mock {
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = self.answer(offset, buffer.len())?;
        let data = self.data.lock().expect("nothing panics with it");
        let first = (offset as usize).min(data.len());
        let bytes = bytes.min(data.len() - first);
        buffer[..bytes].copy_from_slice(&data[first..first + bytes]);
        Ok(bytes)
    }

    fn write(&self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        let bytes = self.answer(offset, buffer.len())?;
        let mut data = self.data.lock().expect("nothing panics with it");
        data[offset as usize..][..bytes].copy_from_slice(&buffer[..bytes]);
        Ok(bytes)
    }

    fn lane(&self, _depth: usize) -> io::Result<Box<dyn Lane>> {
        if self.depth == 0 {
            return Err(io::Error::from_raw_os_error(libc::ENOMEM));
        }
        Ok(Box::new(MockLane { device: self.clone(), held: Vec::new(), random: self.seed | 1 }))
    }

    fn batch_max(&self) -> usize {
        self.depth
    }

    fn name(&self) -> &'static str {
        "mock"
    }

    fn len(&self) -> io::Result<u64> {
        Ok(256)
    }
}

struct MockLane {
    device: Mock,
    held: Vec<Request>,
    random: u64,
}

impl Lane for MockLane {
    fn depth(&self) -> usize {
        self.device.depth
    }

    fn held(&self) -> usize {
        self.held.len()
    }

    fn push(&mut self, request: Request) {
        assert!(self.held.len() < self.device.depth, "there is no room");
        self.held.push(request);
    }

    /// No more than it must, in an order of its own.
    fn enter(&mut self, least: usize, finished: &mut Vec<Finished>) {
        for _ in 0..least.min(self.held.len()) {
            self.random = self.random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let request = self.held.swap_remove((self.random >> 33) as usize % self.held.len());
            let device = &self.device;
            let serve = move || called(device, request);
            finished.push(if device.elsewhere {
                std::thread::scope(|scope| scope.spawn(serve).join().expect("a device does not panic"))
            } else {
                serve()
            });
        }
    }
}

/// Reads 8 blocks of 16 bytes; index and error of those that failed, after a look at the others.
fn read_eight(device: &Mock) -> Vec<(usize, io::Error)> {
    let mut memory = [[0_u8; 16]; 8];
    let mut list: Vec<(u64, &mut [u8])> =
        (0..).zip(&mut memory).map(|(index, block)| (index * 16, &mut block[..])).collect();
    let failures =
        carry(device, 0, Loans::reads(&mut list)).err().map_or_else(Vec::new, |error| error.failures);
    for (index, block) in memory.iter().enumerate() {
        if failures.iter().all(|&(failed, _)| failed != index) {
            let expected: Vec<u8> = (0..16).map(|byte| (index * 16 + byte) as u8).collect();
            assert_eq!(block[..], expected, "block {index}");
        }
    }
    failures
}

#[test]
fn short_reads_and_signals_are_gone_on_with_in_any_order_at_any_depth() {
    for depth in [1, 3, 8, 64] {
        for seed in 0..4 {
            let script: [(u64, &[i32]); 5] = [
                (0, &[-1]),
                (1, &[libc::EINTR, -7]),
                (48, &[libc::EINTR, libc::EINTR]),
                (112, &[-15]),
                (127, &[libc::EINTR]),
            ];
            assert!(read_eight(&Mock::new(depth, seed, &script)).is_empty(), "depth {depth}, seed {seed}");
        }
    }
}

#[test]
fn what_fails_is_told_in_order_and_the_rest_comes() {
    for seed in 0..4 {
        // The last ends short, and its rest is where no direct read may start.
        let script: [(u64, &[i32]); 4] =
            [(80, &[libc::EIO]), (16, &[-3]), (19, &[libc::ENOMEM]), (112, &[-4])];
        let device = Mock::new(3, seed, &script);
        device.script.lock().expect("nothing panics with it").insert(116, vec![libc::EINVAL]);
        let failures = read_eight(&device);
        let told: Vec<_> = failures.iter().map(|(index, error)| (*index, error.raw_os_error())).collect();
        assert_eq!(told, [(1, Some(libc::ENOMEM)), (5, Some(libc::EIO)), (7, None)], "seed {seed}");
        assert_eq!(failures[2].1.kind(), io::ErrorKind::UnexpectedEof);
    }
}

#[test]
fn the_end_is_the_end() {
    let (mut before, mut over, mut beyond, mut nothing) = ([0_u8; 6], [0_u8; 6], [0_u8; 6], []);
    let mut list: [(u64, &mut [u8]); 4] =
        [(250, &mut before), (253, &mut over), (999, &mut beyond), (999, &mut nothing)];
    let error =
        carry(&Mock::new(2, 2, &[]), 0, Loans::reads(&mut list)).expect_err("two reach beyond the end");
    let told: Vec<_> = error.failures.iter().map(|(index, error)| (*index, error.kind())).collect();
    assert_eq!(told, [(1, io::ErrorKind::UnexpectedEof), (2, io::ErrorKind::UnexpectedEof)]);
    assert_eq!((before, over[..3].to_vec()), ([250, 251, 252, 253, 254, 255], vec![253, 254, 255]));
}

#[test]
fn writes_are_gone_on_with_until_nothing_is_taken() {
    for seed in 0..4 {
        let script: [(u64, &[i32]); 3] = [(0, &[-5]), (5, &[libc::EINTR]), (32, &[-2])];
        let device = Mock::new(2, seed, &script);
        device.script.lock().expect("nothing panics with it").insert(34, vec![0]);
        let list: [(u64, &[u8]); 3] = [(0, &[7; 16]), (16, &[8; 16]), (32, &[9; 16])];
        let error = carry(&device, 0, Loans::writes(&list)).expect_err("nothing more is taken of the third");
        assert_eq!((error.failures[0].0, error.failures[0].1.kind()), (2, io::ErrorKind::WriteZero));
        let data = device.data.lock().expect("nothing panics with it");
        assert_eq!(
            (&data[..16], &data[16..32], &data[32..36]),
            (&[7; 16][..], &[8; 16][..], &[9, 9, 34, 35][..])
        );
    }
}

#[test]
fn without_a_lane_each_has_the_error_and_all_memory_is_back() {
    let failures = read_eight(&Mock::new(0, 0, &[]));
    assert_eq!(failures.len(), 8);
    assert!(failures.iter().all(|(_, error)| error.raw_os_error() == Some(libc::ENOMEM)));
}

//! What becomes of callers whose winner dies, or has no way to the device?

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use iostack_batch::BatchCost;

use super::{Carry, carrier, read};
use crate::sys::{Device, Finished, Lane, Request};
use crate::{Options, Policy, Simulated};

const BLOCK: usize = 512;
const CALLERS: u64 = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// No lane can be had.
    NoLane,
    /// Every third lane panics when it has sent half of its requests.
    Panics,
}

/// A simulated device with lanes that fail.
struct Faulty {
    device: Simulated,
    fault: Fault,
    lanes: AtomicU32,
    faults: Arc<AtomicU32>,
}

impl Device for Faulty {
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.device.read(buffer, offset)
    }

    fn write(&self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        self.device.write(buffer, offset)
    }

    fn lane(&self, depth: usize) -> io::Result<Box<dyn Lane>> {
        let number = self.lanes.fetch_add(1, Ordering::Relaxed);
        if self.fault == Fault::NoLane {
            self.faults.fetch_add(1, Ordering::Relaxed);
            return Err(io::Error::from_raw_os_error(libc::ENOMEM));
        }
        let inner = self.device.lane(depth)?;
        let dies = number.is_multiple_of(3);
        Ok(Box::new(FaultyLane { inner, dies, queued: Vec::new(), faults: self.faults.clone() }))
    }

    fn batch_max(&self) -> usize {
        self.device.batch_max()
    }

    fn name(&self) -> &'static str {
        "faulty"
    }

    fn len(&self) -> io::Result<u64> {
        self.device.len()
    }
}

struct FaultyLane {
    inner: Box<dyn Lane>,
    dies: bool,
    queued: Vec<Request>,
    faults: Arc<AtomicU32>,
}

impl Lane for FaultyLane {
    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn held(&self) -> usize {
        self.inner.held() + self.queued.len()
    }

    fn push(&mut self, request: Request) {
        self.queued.push(request);
    }

    fn enter(&mut self, least: usize, finished: &mut Vec<Finished>) {
        let keep = if self.dies { self.queued.len() / 2 } else { 0 };
        self.queued.drain(keep..).for_each(|request| self.inner.push(request));
        self.inner.enter(least.min(self.inner.held()), finished);
        if self.dies {
            self.faults.fetch_add(1, Ordering::Relaxed);
            panic!("a lane that was made to die");
        }
    }
}

/// A device whose blocks say their number, the way to it, and how many faults there were.
fn faulty(policy: Policy, fault: Fault) -> (Arc<dyn Device>, Box<dyn Carry>, Arc<AtomicU32>) {
    let device = Simulated::new(64 * BLOCK, BatchCost { fixed_ns: 20_000.0, each_ns: 1000.0 });
    for block in 0..64 {
        device.write(&[block; BLOCK], u64::from(block) * BLOCK as u64).expect("nothing is broken");
    }
    let faults = Arc::new(AtomicU32::new(0));
    let device: Arc<dyn Device> =
        Arc::new(Faulty { device, fault, lanes: AtomicU32::new(0), faults: faults.clone() });
    let options = Options { policy, unplug: Duration::from_micros(50), ..Options::default() };
    let carry = carrier(&options, &device);
    (device, carry, faults)
}

/// Reads by many callers, until there were some faults: how many callers died meanwhile.
fn survive(policy: Policy, fault: Fault) -> u32 {
    let (device, carry, faults) = &faulty(policy, fault);
    let deaths = &AtomicU32::new(0);
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            scope.spawn(move || {
                let mut turns = 0_u64;
                // The bound is for a processor that never lets two callers meet.
                while turns < 32 || (faults.load(Ordering::Relaxed) < 6 && turns < 2000) {
                    let (block, mut buffer) = ((caller * 7 + turns) % 64, [0xff; BLOCK]);
                    let offset = block * BLOCK as u64;
                    let call = || read(&**carry, &**device, &mut buffer, offset);
                    match catch_unwind(AssertUnwindSafe(call)) {
                        Ok(result) => {
                            assert_eq!(result.expect("innocent callers see no error"), BLOCK);
                            assert_eq!(buffer, [block as u8; BLOCK], "{policy:?}: not its own block");
                        }
                        Err(_) => drop(deaths.fetch_add(1, Ordering::Relaxed)),
                    }
                    turns += 1;
                }
            });
        }
    });
    if faults.load(Ordering::Relaxed) == 0 {
        println!("{policy:?}: no two callers met, so nothing failed");
    }
    deaths.load(Ordering::Relaxed)
}

const TOGETHER: [Policy; 4] = [Policy::Stm, Policy::Atm, Policy::LeaderFollower, Policy::Hybrid];

#[test]
fn a_winner_that_dies_takes_nobody_with_it() {
    for policy in TOGETHER {
        survive(policy, Fault::Panics);
    }
}

#[test]
fn without_lanes_each_carries_its_own() {
    for policy in TOGETHER {
        assert_eq!(survive(policy, Fault::NoLane), 0, "{policy:?}: nobody dies of that");
    }
}

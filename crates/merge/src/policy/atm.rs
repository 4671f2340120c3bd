//! Can requests wait for company?
//!
//! Asynchronous temporal merge (*Achieving Peak Device Throughput for Random IO Workload*, 2012): requests are plugged until enough
//! are there or a time has passed, then a thread of the library's own takes all as one batch. Reads that find the device idle go
//! at once by their own thread.
//!
//! The thread begins with the first request that is plugged, and ends with the file's last handle. If it dies, those whose requests
//! it had carry their own, and the next request that is plugged begins another.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::Options;
use crate::sys::{Device, Futex, Op, Pending, Request, block_signals, by_itself, generation};

use super::Carry;
use super::lineup::bit;
use super::plug::{Plug, WorkerAct};
use super::send::send;

/// Callers and their worker.
pub(crate) struct Atm {
    shared: Arc<AtmShared>,
    /// The process whose thread the worker is.
    born: u64,
}

struct AtmShared {
    device: Arc<dyn Device>,
    batch_max: usize,
    made: Instant,
    state: Mutex<AtmState>,
    /// The worker sleeps on this.
    work: Condvar,
    /// Callers sleep on this.
    sleep: Futex,
}

struct AtmState {
    plug: Plug<Request>,
    worker: Option<JoinHandle<()>>,
    ending: bool,
}

impl Atm {
    pub(crate) fn new(options: &Options, device: &Arc<dyn Device>, batch_max: usize) -> Atm {
        let unplug_ns = u64::try_from(options.unplug.as_nanos()).unwrap_or(u64::MAX);
        let plug = Plug::new(options.unplug_count, unplug_ns);
        let shared = AtmShared {
            device: device.clone(),
            batch_max,
            made: Instant::now(),
            state: Mutex::new(AtmState { plug, worker: None, ending: false }),
            work: Condvar::new(),
            sleep: Futex::default(),
        };
        Atm { shared: Arc::new(shared), born: generation() }
    }
}

impl Drop for Atm {
    fn drop(&mut self) {
        if self.born != generation() {
            // A child's copy: the thread has stayed with the parent, perhaps with the lock, and so has its share of `shared`,
            // which nothing here will ever free.
            return;
        }
        let worker = {
            let mut state = self.shared.state();
            state.ending = true;
            state.worker.take()
        };
        self.shared.work.notify_one();
        if let Some(worker) = worker {
            // One that died has already given back what it had.
            let _ = worker.join();
        }
    }
}

impl Carry for Atm {
    fn carry(&self, device: &dyn Device, request: Request, pending: &Pending<'_>) {
        let shared = &self.shared;
        let mut state = shared.state();
        let is_read = request.op() == Op::Read;
        if is_read && state.plug.go_alone() {
            drop(state);
            let _through = Alone(shared);
            return by_itself(device, request);
        }
        if state.worker.is_none() {
            let Ok(worker) = spawn(shared) else {
                drop(state);
                return by_itself(device, request);
            };
            state.worker = Some(worker);
        }
        let mut events = shared.sleep.events();
        let now = shared.now();
        let ticket = state.plug.push(now, request, is_read);
        let calls = state.plug.calls(now);
        drop(state);
        if calls {
            shared.work.notify_one();
        }
        while !pending.is_done() {
            shared.sleep.wait(events, bit(ticket));
            events = shared.sleep.events();
        }
    }
}

/// A read by its own thread. When it is through, also by unwinding, what waited for that goes.
struct Alone<'a>(&'a AtmShared);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.plug.alone_is_through();
        let calls = state.plug.calls(self.0.now());
        drop(state);
        if calls {
            self.0.work.notify_one();
        }
    }
}

fn spawn(shared: &Arc<AtmShared>) -> std::io::Result<JoinHandle<()>> {
    let shared = shared.clone();
    std::thread::Builder::new().name("iostack-merge".into()).spawn(move || {
        block_signals();
        let _dead = Dead(&shared);
        while shared.carry_one() {}
    })
}

impl AtmShared {
    fn state(&self) -> MutexGuard<'_, AtmState> {
        self.state.lock().expect("nothing panics with it")
    }

    fn now(&self) -> u64 {
        self.made.elapsed().as_nanos() as u64
    }

    /// The worker waits for a batch and carries it; not if the file is gone.
    fn carry_one(&self) -> bool {
        let mut state = self.state();
        let mut load = loop {
            let now = self.now();
            state = match state.plug.next(now) {
                WorkerAct::Go => break state.plug.take(self.batch_max),
                WorkerAct::Idle if state.ending => return false,
                WorkerAct::Idle => self.work.wait(state).expect("nothing panics with it"),
                WorkerAct::At(until) => {
                    let left = Duration::from_nanos(until - now);
                    self.work.wait_timeout(state, left).expect("nothing panics with it").0
                }
            };
        };
        drop(state);
        let bits = load.bits();
        send(&*self.device, &mut load);
        load.clear();
        self.state().plug.carried();
        self.sleep.wake(bits);
        true
    }
}

/// The worker's end. If it died, it gives back all that waits, since nobody would see to it.
struct Dead<'a>(&'a AtmShared);

impl Drop for Dead<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let mut state = self.0.state();
        let given_up = state.plug.take(usize::MAX);
        state.plug.carried();
        state.worker = None;
        drop(state);
        drop(given_up);
        self.0.sleep.wake(u32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simulated;
    use crate::policy::write;
    use iostack_batch::BatchCost;

    #[test]
    fn the_worker_ends_with_the_file() {
        let cost = BatchCost { fixed_ns: 100.0, each_ns: 100.0 };
        let device: Arc<dyn Device> = Arc::new(Simulated::new(4096, cost));
        let options = Options { unplug: Duration::from_micros(10), ..Options::default() };
        let atm = Atm::new(&options, &device, 64);
        let (shared, born) = (Arc::downgrade(&atm.shared), |atm: &Atm| atm.shared.state().worker.is_some());
        assert!(!born(&atm), "nothing was plugged yet");
        write(&atm, &*device, &[1; 512], 0).expect("nothing is broken");
        assert!(born(&atm));
        drop(atm);
        assert!(shared.upgrade().is_none(), "the worker is still there");
    }
}

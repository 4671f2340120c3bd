//! Our own load: how its threads and the kernel's programs stamp the same I/O.
//!
//! ```text
//!   begin: entry ──► slot (shared memory) ◄── queue, insert, issue, doorbell, irq, complete: the programs
//!   returned: exit, and the thread's own stamps        complete: all of them ──► fold ──► histograms
//! ```
//!
//! The thread itself folds: nothing is handed over, and nothing can be lost on the way.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iostack_model::{Carrier, Lane, LaneRequest, Observer};

use super::account::Account;
use super::fold::{Bios, Stamps, Thread};
use super::kernel::{Kernel, LANE_WORDS, SLOT_WORDS, lane, slot};
use crate::sys::system;

/// Threads and I/Os in flight, at most.
pub(crate) const LANES_MAX: u32 = 1024;
pub(crate) const SLOTS_MAX: u32 = 32_768;

/// State that all lanes share.
pub(crate) struct Load {
    kernel: Arc<Kernel>,
    /// Begin of measuring, ns; 0 not yet. `closed` is its end.
    opened: AtomicU64,
    closed: AtomicU64,
    /// Spans that ended before the present one, ns.
    earlier: AtomicU64,
    places: Mutex<Places>,
    /// Accounts of threads that load, and of all those that have ended.
    accounts: Mutex<Vec<Arc<Mutex<Account>>>>,
    ended: Mutex<Account>,
    /// Threads that found no place.
    pub(crate) refused: AtomicU32,
    /// Threads that load through page faults, or through an `io_uring` that cannot be followed.
    pub(crate) blind: AtomicU32,
}

/// Lanes and slots in use.
#[derive(Default)]
struct Places {
    lanes_free: Vec<u32>,
    lanes_used: u32,
    slots_used: u32,
    live: u32,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Load {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Load {
        Load {
            kernel,
            opened: AtomicU64::new(0),
            closed: AtomicU64::new(0),
            earlier: AtomicU64::new(0),
            places: Mutex::default(),
            accounts: Mutex::default(),
            ended: Mutex::default(),
            refused: AtomicU32::new(0),
            blind: AtomicU32::new(0),
        }
    }

    /// All I/Os so far.
    pub(crate) fn account(&self) -> Account {
        // In this order everywhere: an ending thread moves its account from one to the other.
        let accounts = locked(&self.accounts);
        let mut total = locked(&self.ended).clone();
        for account in accounts.iter() {
            total.absorb(&locked(account));
        }
        total
    }

    /// True when what ended at this moment was done between opening and closing.
    pub(crate) fn counts(&self, end_ns: u64) -> bool {
        let (opened, closed) = (self.opened.load(Relaxed), self.closed.load(Relaxed));
        opened > 0 && end_ns >= opened && (closed < opened || end_ns <= closed)
    }

    /// Time between opening and closing, ns.
    pub(crate) fn elapsed(&self) -> u64 {
        let (opened, closed) = (self.opened.load(Relaxed), self.closed.load(Relaxed));
        let end = if closed >= opened && closed > 0 { closed } else { system::now().0 };
        let present = if opened == 0 { 0 } else { end.saturating_sub(opened) };
        self.earlier.load(Relaxed) + present
    }

    /// A lane and a run of slots. Slots are handed out in order, and again from the first when no lane is left.
    fn place(&self, slots: u32) -> Option<(u32, u32)> {
        let mut places = locked(&self.places);
        if places.live == 0 {
            *places = Places::default();
        }
        let first = places.slots_used;
        if first.checked_add(slots)? > SLOTS_MAX {
            return None;
        }
        let free = places.lanes_free.pop();
        let lane = free.or_else(|| (places.lanes_used < LANES_MAX).then_some(places.lanes_used))?;
        places.lanes_used += u32::from(free.is_none());
        places.slots_used += slots;
        places.live += 1;
        Some((lane, first))
    }

    /// A thread's load has ended.
    fn end(&self, account: &Arc<Mutex<Account>>) {
        let mut accounts = locked(&self.accounts);
        accounts.retain(|other| !Arc::ptr_eq(other, account));
        locked(&self.ended).absorb(&locked(account));
    }

    fn free(&self, lane: u32) {
        let mut places = locked(&self.places);
        places.lanes_free.push(lane);
        places.live -= 1;
    }
}

impl Observer for Load {
    fn opened(&self) {
        let (opened, closed) = (self.opened.load(Relaxed), self.closed.load(Relaxed));
        if opened > 0 && closed >= opened {
            self.earlier.fetch_add(closed - opened, Relaxed);
        }
        self.closed.store(0, Relaxed);
        self.opened.store(system::now().0, Relaxed);
    }

    fn closed(&self) {
        self.closed.store(system::now().0, Relaxed);
    }

    fn lane(&self, request: &LaneRequest) -> Option<Box<dyn Lane + '_>> {
        let slots = request.slots.max(1);
        let Some((index, first)) = self.place(slots) else {
            self.refused.fetch_add(1, Relaxed);
            return None;
        };
        let (carrier, blocks) = match request.carrier {
            Carrier::Call | Carrier::Fault => (1, 0),
            Carrier::IoUring => (2, 0),
            Carrier::Libaio { blocks } => (3, blocks),
        };
        if carrier == 2 && !self.kernel.io_uring {
            self.blind.fetch_add(1, Relaxed);
        }
        let words = self.kernel.lane(index);
        for (place, value) in [
            (lane::WAKING, 0),
            (lane::ON, 0),
            (lane::OFF, 0),
            (lane::SLOT_FIRST, u64::from(first)),
            (lane::SLOT_COUNT, u64::from(slots)),
            (lane::CARRIER, carrier),
            (lane::BLOCKS, blocks),
            (lane::CURRENT, 0),
            (lane::PREEMPTED, 0),
            (lane::OUT, 0),
        ] {
            words[place].store(value, Relaxed);
        }
        let account = Arc::new(Mutex::new(Account::default()));
        let slots = self.kernel.slots(first, slots);
        let stamper = Stamper::new(words, index, slots, request.direct, Arc::clone(&account));
        if !self.kernel.add_thread(request.thread_id, index) {
            self.free(index);
            self.refused.fetch_add(1, Relaxed);
            return None;
        }
        locked(&self.accounts).push(account);
        Some(Box::new(StageLane { load: self, thread: request.thread_id, index, stamper }))
    }
}

/// One thread's I/Os.
struct StageLane<'a> {
    load: &'a Load,
    thread: u32,
    index: u32,
    stamper: Stamper<'a>,
}

impl Lane for StageLane<'_> {
    fn restart(&mut self) {
        self.stamper.restart();
    }

    fn begin(&mut self, slot: u32, late_ns: u64) {
        self.stamper.begin(slot, late_ns);
    }

    fn returned(&mut self) {
        self.stamper.returned();
    }

    fn complete(&mut self, slot: u32, whole: bool) {
        self.stamper.complete(slot, whole);
    }
}

impl Drop for StageLane<'_> {
    fn drop(&mut self) {
        self.load.kernel.remove_thread(self.thread);
        self.stamper.clear();
        self.load.end(&self.stamper.account);
        self.load.free(self.index);
    }
}

/// Knowledge of the thread about an I/O that the kernel lacks.
#[derive(Clone, Copy, Default)]
struct Own {
    late_ns: u64,
    /// Moment at which the call returned that handed it over; 0 not yet.
    handed: u64,
}

/// The user's side of a lane, on any memory.
pub(crate) struct Stamper<'a> {
    lane: &'a [AtomicU64],
    slots: &'a [AtomicU64],
    own: Vec<Own>,
    /// Slots begun since the last call returned.
    fresh: Vec<u32>,
    direct: bool,
    /// I/Os that began before do not count.
    counted_from: u64,
    /// The thread's stamps when the last call returned.
    seen: Thread,
    account: Arc<Mutex<Account>>,
}

impl<'a> Stamper<'a> {
    pub(crate) fn new(
        lane: &'a [AtomicU64],
        index: u32,
        slots: &'a [AtomicU64],
        direct: bool,
        account: Arc<Mutex<Account>>,
    ) -> Stamper<'a> {
        assert_eq!(lane.len(), LANE_WORDS, "one lane");
        for slot in slots.chunks_exact(SLOT_WORDS) {
            slot[slot::LANE].store(u64::from(index), Relaxed);
        }
        let count = slots.len() / SLOT_WORDS;
        let stamper = Stamper {
            lane,
            slots,
            own: vec![Own::default(); count],
            fresh: Vec::with_capacity(count),
            direct,
            counted_from: 0,
            seen: Thread::default(),
            account,
        };
        stamper.clear();
        stamper
    }

    /// No slot is active.
    fn clear(&self) {
        for slot in self.slots.chunks_exact(SLOT_WORDS) {
            slot[slot::ENTRY].store(0, Release);
        }
    }

    fn slot(&self, slot: u32) -> &'a [AtomicU64] {
        let first = slot as usize * SLOT_WORDS;
        &self.slots[first..first + SLOT_WORDS]
    }

    pub(crate) fn restart(&mut self) {
        self.counted_from = system::now().0;
        locked(&self.account).clear();
    }

    pub(crate) fn begin(&mut self, slot: u32, late_ns: u64) {
        let words = self.slot(slot);
        words[slot::SEQUENCE].store(words[slot::SEQUENCE].load(Relaxed) + 1, Relaxed);
        for word in words[slot::BIOS..=slot::COMPLETE].iter().chain(&words[slot::GAP..=slot::BESIDE]) {
            word.store(0, Relaxed);
        }
        let (entry, preempted_ns) = self.now();
        words[slot::PREEMPTED_LAST].store(preempted_ns, Relaxed);
        self.own[slot as usize] = Own { late_ns, handed: 0 };
        self.fresh.push(slot);
        words[slot::ENTRY].store(entry, Release);
    }

    /// The clock, and how long the thread was ready without a CPU up to then.
    fn now(&self) -> (u64, u64) {
        let preempted = || self.lane[lane::PREEMPTED].load(Acquire);
        let mut before = preempted();
        loop {
            let now = system::now().0;
            let after = preempted();
            // Not moved off its CPU between the two looks.
            if before == after {
                return (now, after);
            }
            before = after;
        }
    }

    pub(crate) fn returned(&mut self) {
        let (exit, preempted_ns) = self.now();
        for slot in self.fresh.drain(..) {
            self.own[slot as usize].handed = exit;
        }
        let lane = |place: usize| self.lane[place].load(Acquire);
        self.seen = Thread {
            off: lane(lane::OFF),
            waking: lane(lane::WAKING),
            on: lane(lane::ON),
            exit,
            preempted_ns,
        };
    }

    pub(crate) fn complete(&mut self, slot: u32, whole: bool) {
        let words = self.slot(slot);
        let read = |place: usize| words[place].load(Acquire);
        let Own { late_ns, handed } = self.own[slot as usize];
        let seen = Stamps::of_slot(read, &self.seen);
        // The call that handed it over has returned: the driver is done at the latest then.
        let doorbell = match seen.doorbell {
            0 => handed,
            seen if handed > 0 => seen.min(handed),
            seen => seen,
        };
        let stamps = Stamps { late_ns, doorbell, ..seen };
        let bios = Bios { queued: read(slot::BIOS), ended: read(slot::ENDED), direct: self.direct };
        words[slot::ENTRY].store(0, Release);
        if whole && stamps.entry >= self.counted_from {
            locked(&self.account).record(&stamps, bios);
        }
    }
}

/// Cost to a thread of stamping and folding one I/O, ns: measured on memory of our own, in turns, the best of which is
/// the one that nothing disturbed.
pub(crate) fn own_cost_ns() -> f64 {
    const ROUNDS: u32 = 500;
    let words: Vec<AtomicU64> = (0..LANE_WORDS + SLOT_WORDS).map(|_| AtomicU64::new(0)).collect();
    let (lane_words, slots) = words.split_at(LANE_WORDS);
    let mut stamper = Stamper::new(lane_words, 0, slots, true, Arc::default());
    let turns = (0..5).map(|_| {
        let start = system::now().0;
        for _ in 0..ROUNDS {
            stamper.begin(0, 0);
            let now = system::now().0;
            for word in &slots[slot::BIOS..=slot::COMPLETE] {
                word.store(now, Relaxed);
            }
            stamper.returned();
            stamper.complete(0, true);
        }
        (system::now().0 - start) as f64 / f64::from(ROUNDS)
    });
    turns.fold(f64::INFINITY, f64::min)
}

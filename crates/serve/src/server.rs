//! Who answers? One thread that has the drive, at the wall's time.
//!
//! ```text
//!   route ──► layers, data ──► inbox ──► drive ──► due? sleep, then spin ──► reply
//! ```
//!
//! The simulation is ahead of the wall by the time that the route itself takes ([`Timing::lead`]): a request that the model
//! answers after 80 us leaves here after 80 us less the lead, so that its program waits 80 us. What the model answers sooner
//! than the route can is late, and counted so.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SendError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use iostack_model::Nanos;
use iostack_sim::engine::{Kind, Time};

use crate::clock::Clock;
use crate::later::{LateAct, Later};
use crate::layers::{Layer, Verdict};
use crate::seen::DriveTally;
use crate::store::Store;
use crate::volatile::{Cut, Promise};
use crate::{DiskRequest, Drive, Errno, Reply, sys};
use iostack_model::answers::Seen;

/// The end of a wait is spun, for sleeping ends late: so much at least, at most, and more by this share than the last ones did.
const SPIN: Duration = Duration::from_micros(40);
const SPIN_MOST: Duration = Duration::from_micros(400);
const SPIN_MORE: f64 = 1.25;
/// Share of it that is kept from one sleep to the next.
const SPIN_KEPT: f64 = 0.99;

/// Later than this a moment is no longer waited for in one sleep.
const NAP: Duration = Duration::from_hours(1);

/// Time that a request takes while the route is measured.
pub(crate) const PROBE: Nanos = Nanos::micros(200);

pub(crate) enum DriveMessage {
    /// A request, and the verdict of the layers.
    Ask(Waiting, Verdict),
    Look(Sender<Seen>),
    /// The power is gone: what is under way is never done.
    Cut(Sender<()>),
    End,
}

/// Timing of answers.
#[derive(Debug, Default)]
pub(crate) struct Timing {
    lead_ns: AtomicU64,
    /// Each request is answered after [`PROBE`], past layers and drive: the route is being measured.
    probing: AtomicBool,
    /// Moment at which the model answered what is being replied to.
    pub(crate) answered: AtomicU64,
}

impl Timing {
    /// The time that the route takes by itself, ns.
    pub(crate) fn lead(&self) -> u64 {
        self.lead_ns.load(Ordering::Relaxed)
    }
}

/// The drive, for routes. Clones are of one drive.
#[derive(Clone)]
pub struct Disk {
    inbox: Sender<DriveMessage>,
    clock: Clock,
    store: Arc<Store>,
    layers: Arc<Mutex<Vec<Box<dyn Layer>>>>,
    timing: Arc<Timing>,
    /// There is power. Whoever changes data holds it, so that a cut lies before or behind each change.
    power: Arc<RwLock<bool>>,
    capacity: u64,
    block: u64,
}

/// Thread that answers for a drive.
pub struct Server {
    disk: Disk,
    thread: JoinHandle<Result<(), String>>,
}

impl Server {
    /// Starts the thread.
    pub fn start(drive: Drive, store: Store, layers: Vec<Box<dyn Layer>>) -> io::Result<Server> {
        let clock = Clock::start(drive.world().now());
        let (disk, mut worker, messages) = parts(drive, store, layers, clock);
        let thread = Builder::new().name("drive".to_owned()).spawn(move || worker.serve(&messages))?;
        Ok(Server { disk, thread })
    }

    /// Handle of the drive for a route.
    pub fn disk(&self) -> Disk {
        self.disk.clone()
    }

    /// Ends it; what is under way fails. Gives why a layer lost something.
    pub fn end(self) -> Result<(), String> {
        let _it_may_have_ended = self.disk.inbox.send(DriveMessage::End);
        self.thread.join().unwrap_or_else(|_| Err("the drive's thread died; this is a bug".to_owned()))
    }
}

pub(crate) fn parts(
    drive: Drive,
    mut store: Store,
    layers: Vec<Box<dyn Layer>>,
    clock: Clock,
) -> (Disk, Worker, Receiver<DriveMessage>) {
    let (inbox, messages) = channel();
    let shape = drive.shape();
    store.tears(drive.atom());
    let disk = Disk {
        inbox,
        clock: clock.clone(),
        store: Arc::new(store),
        layers: Arc::new(Mutex::new(layers)),
        timing: Arc::default(),
        power: Arc::new(RwLock::new(true)),
        capacity: shape.capacity.0,
        block: shape.block.0,
    };
    let worker = Worker {
        clock,
        timing: Arc::clone(&disk.timing),
        drive,
        layers: Arc::clone(&disk.layers),
        later: Later::default(),
        waiting: Vec::new(),
        free: Vec::new(),
        tally: DriveTally::default(),
        spin: SPIN,
        dark: None,
    };
    (disk, worker, messages)
}

impl Disk {
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Capacity of the disk, bytes.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Smallest unit, bytes.
    pub fn block(&self) -> u64 {
        self.block
    }

    /// The time that the route takes by itself, which answers leave earlier by.
    pub fn set_lead(&self, ns: u64) {
        self.timing.lead_ns.store(ns, Ordering::Relaxed);
    }

    /// Turns probing on or off: each request is answered after [`PROBE`], as if there were no drive.
    pub fn probe(&self, probing: bool) {
        self.timing.probing.store(probing, Ordering::Relaxed);
    }

    /// Counts so far; `None` when the server has ended.
    pub fn look(&self) -> Option<Seen> {
        let (tell, told) = channel();
        self.inbox.send(DriveMessage::Look(tell)).ok()?;
        told.recv().ok()
    }

    /// Cuts the power: what is under way fails, and of what was not flushed is kept or lost what `seed` says. Until
    /// [`Disk::power_on`] everything fails.
    pub fn cut(&self, seed: u64) -> io::Result<Cut> {
        let cut = {
            let mut power = self.power.write().unwrap_or_else(PoisonError::into_inner);
            *power = false;
            self.store.cut(seed)?
        };
        let (tell, told) = channel();
        if self.inbox.send(DriveMessage::Cut(tell)).is_ok() {
            let _it_has_ended = told.recv();
        }
        Ok(cut)
    }

    /// There is power again.
    pub fn power_on(&self) {
        *self.power.write().unwrap_or_else(PoisonError::into_inner) = true;
    }

    /// Fills `into`; `reply` is told when the drive would have.
    pub fn read(
        &self,
        offset: u64,
        mut into: Vec<u8>,
        reply: impl FnOnce(Result<Vec<u8>, Errno>) + Send + 'static,
    ) {
        let asked = DiskRequest { kind: Kind::Read, offset, length: into.len() as u64 };
        let power = self.power.read().unwrap_or_else(PoisonError::into_inner);
        let ask = self.pass(asked, *power).and_then(|ask| match ask.1 {
            Verdict::Fails(..) => Ok(ask),
            _ => self.store.read(offset, &mut into).map(|()| ask),
        });
        self.send(asked, ask, Box::new(move |answer| reply(answer.map(|()| into))));
    }

    /// Writes; with `through` it is safe when it is answered.
    pub fn write(&self, offset: u64, data: &[u8], through: bool, reply: Reply) {
        let asked = DiskRequest { kind: Kind::Write, offset, length: data.len() as u64 };
        self.change(asked, reply, || self.store.write(offset, data, through));
    }

    /// The range may be forgotten; it reads as zeros.
    pub fn trim(&self, offset: u64, length: u64, through: bool, reply: Reply) {
        self.zero(DiskRequest { kind: Kind::Trim, offset, length }, through, reply);
    }

    /// The range is written with zeros.
    pub fn write_zeros(&self, offset: u64, length: u64, through: bool, reply: Reply) {
        self.zero(DiskRequest { kind: Kind::Write, offset, length }, through, reply);
    }

    fn zero(&self, asked: DiskRequest, through: bool, reply: Reply) {
        self.change(asked, reply, || self.store.punch(asked.offset, asked.length, through));
    }

    /// All that was answered is safe.
    pub fn flush(&self, reply: Reply) {
        let asked = DiskRequest { kind: Kind::Flush, offset: 0, length: 0 };
        self.change(asked, reply, || self.store.flush());
    }

    /// Changes the store, unless a layer fails the request. The store's promise is kept before `reply` is told.
    fn change(
        &self,
        asked: DiskRequest,
        reply: Reply,
        change: impl FnOnce() -> Result<Option<Promise>, Errno>,
    ) {
        let power = self.power.read().unwrap_or_else(PoisonError::into_inner);
        let mut promise = None;
        let ask = self.pass(asked, *power).and_then(|ask| {
            if !matches!(ask.1, Verdict::Fails(..)) {
                promise = change()?;
            }
            Ok(ask)
        });
        let reply = match promise {
            None => reply,
            Some(promise) => {
                let store = Arc::clone(&self.store);
                Box::new(move |answer: Result<(), Errno>| {
                    reply(answer.and_then(|()| store.settle(&promise)));
                })
            }
        };
        self.send(asked, ask, reply);
    }

    /// Moment at which a request came, and the verdict of the layers.
    fn pass(&self, asked: DiskRequest, power: bool) -> Result<(Time, Verdict), Errno> {
        let at = self.clock.now();
        if !power {
            return Err(Errno(libc::EIO));
        }
        if asked.end() > self.capacity {
            return Err(Errno(libc::EINVAL));
        }
        if self.timing.probing.load(Ordering::Relaxed) {
            return Ok((at, Verdict::Down(0)));
        }
        let mut later = 0;
        for layer in self.layers.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            match layer.pass(&asked, at.saturating_add(later)) {
                Verdict::Down(time) => later = later.saturating_add(time),
                Verdict::Through(time) => return Ok((at, Verdict::Through(later.saturating_add(time)))),
                Verdict::Fails(errno, time) => {
                    return Ok((at, Verdict::Fails(errno, later.saturating_add(time))));
                }
                Verdict::Lost => return Ok((at, Verdict::Lost)),
            }
        }
        Ok((at, Verdict::Down(later)))
    }

    fn send(&self, asked: DiskRequest, ask: Result<(Time, Verdict), Errno>, reply: Reply) {
        let (at, verdict) = match ask {
            Ok(ask) => ask,
            Err(errno) => return reply(Err(errno)),
        };
        let waiting = Waiting { at, asked, pieces: 0, reply };
        if let Err(SendError(DriveMessage::Ask(unsent, _))) =
            self.inbox.send(DriveMessage::Ask(waiting, verdict))
        {
            (unsent.reply)(Err(Errno(libc::ESHUTDOWN)));
        }
    }
}

/// A request that is not answered yet.
pub(crate) struct Waiting {
    at: Time,
    asked: DiskRequest,
    /// Pieces of it that are at the drive.
    pieces: u32,
    reply: Reply,
}

pub(crate) struct Worker {
    pub(crate) clock: Clock,
    pub(crate) timing: Arc<Timing>,
    pub(crate) drive: Drive,
    layers: Arc<Mutex<Vec<Box<dyn Layer>>>>,
    later: Later,
    waiting: Vec<Option<Waiting>>,
    free: Vec<u32>,
    pub(crate) tally: DriveTally,
    /// Part of a wait that is spun.
    spin: Duration,
    /// Pieces of before a power cut come back still; tags below are of then.
    dark: Option<u32>,
}

impl Worker {
    fn serve(&mut self, messages: &Receiver<DriveMessage>) -> Result<(), String> {
        sys::wake_promptly();
        loop {
            self.go_on(self.clock.now() + self.timing.lead());
            match self.wait(messages) {
                Ok(DriveMessage::Ask(waiting, verdict)) => self.arrive(waiting, verdict),
                Ok(DriveMessage::Look(tell)) => {
                    // What was busy was so until now, and not until something happened last.
                    self.drive.pass(self.clock.now());
                    let seen = self.tally.seen(&self.drive);
                    let _nobody_waits = tell.send(seen);
                }
                Ok(DriveMessage::Cut(done)) => {
                    self.cut();
                    let _nobody_waits = done.send(());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(DriveMessage::End) | Err(RecvTimeoutError::Disconnected) => return self.end(),
            }
        }
    }

    /// Does all that is due by then.
    pub(crate) fn go_on(&mut self, until: Time) {
        loop {
            let later = self.later.due().filter(|&due| due <= until);
            // What a layer held back goes to the drive before the drive goes on beyond that moment.
            match self.drive.next_by(later.unwrap_or(until)) {
                Some((tag, at)) => self.piece(tag, at),
                None => match self.later.acts.pop_first() {
                    Some(((at, _), (tag, act))) if later == Some(at) => self.act(tag, act, at),
                    Some((key, act)) => {
                        self.later.acts.insert(key, act);
                        return;
                    }
                    None => return,
                },
            }
        }
    }

    /// Moment at which something is due next.
    pub(crate) fn due(&mut self) -> Option<Time> {
        [self.drive.due(), self.later.due()].into_iter().flatten().min()
    }

    /// The next message, or nothing when something is due.
    fn wait(&mut self, messages: &Receiver<DriveMessage>) -> Result<DriveMessage, RecvTimeoutError> {
        let Some(due) = self.due() else { return messages.recv().map_err(RecvTimeoutError::from) };
        let due = due.saturating_sub(self.timing.lead());
        loop {
            let left = self.clock.until(due);
            if left > self.spin {
                let nap = left.saturating_sub(self.spin).min(NAP);
                let wake = self.clock.now() + nap.as_nanos() as Time;
                match messages.recv_timeout(nap) {
                    Err(RecvTimeoutError::Timeout) => self.woke(wake),
                    other => return other,
                }
                continue;
            }
            match messages.try_recv() {
                Ok(message) => return Ok(message),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) if left.is_zero() => return Err(RecvTimeoutError::Timeout),
                Err(TryRecvError::Empty) => std::hint::spin_loop(),
            }
        }
    }

    /// A sleep has ended that was to end then.
    fn woke(&mut self, wake: Time) {
        let late = Duration::from_nanos(self.clock.now().saturating_sub(wake)).mul_f64(SPIN_MORE);
        self.spin = self.spin.mul_f64(SPIN_KEPT).max(late).clamp(SPIN, SPIN_MOST);
    }

    pub(crate) fn arrive(&mut self, waiting: Waiting, verdict: Verdict) {
        let at = waiting.at;
        self.go_on(at);
        let tag = self.free.pop().unwrap_or_else(|| {
            self.waiting.push(None);
            self.waiting.len() as u32 - 1
        });
        self.waiting[tag as usize] = Some(waiting);
        if self.timing.probing.load(Ordering::Relaxed) {
            return self.later.add(at + PROBE.0, tag, Ok(LateAct::Probe));
        }
        match verdict {
            Verdict::Down(0) => self.act(tag, Ok(LateAct::Submit), at),
            Verdict::Down(time) => self.later.add(at.saturating_add(time), tag, Ok(LateAct::Submit)),
            Verdict::Through(time) => self.later.add(at.saturating_add(time), tag, Ok(LateAct::Answer)),
            Verdict::Fails(errno, time) => self.later.add(at.saturating_add(time), tag, Err(errno)),
            // Its place stays taken: the program waits for ever, as for a drive that lost it.
            Verdict::Lost => self.tally.lost += 1,
        }
    }

    fn act(&mut self, tag: u32, act: Result<LateAct, Errno>, at: Time) {
        let Some(waiting) = &mut self.waiting[tag as usize] else { return };
        match act {
            Ok(LateAct::Submit) => {
                let (moment, pieces) = self.drive.submit(at, &waiting.asked, tag);
                // What the simulation was ahead is not the model's latency.
                waiting.at += moment - at;
                waiting.pieces = pieces;
                if pieces == 0 {
                    self.answer(tag, moment, Ok(()));
                }
            }
            Ok(LateAct::Probe) => {
                self.free.push(tag);
                if let Some(waiting) = self.waiting[tag as usize].take() {
                    (waiting.reply)(Ok(()));
                }
            }
            Ok(LateAct::Answer) => self.answer(tag, at, Ok(())),
            Err(errno) => self.answer(tag, at, Err(errno)),
        }
    }

    fn piece(&mut self, tag: u32, at: Time) {
        if self.dark.is_some_and(|first| tag < first) {
            return;
        }
        let Some(waiting) = &mut self.waiting[tag as usize] else { return };
        waiting.pieces -= 1;
        if waiting.pieces == 0 {
            self.answer(tag, at, Ok(()));
        }
    }

    fn answer(&mut self, tag: u32, at: Time, answer: Result<(), Errno>) {
        let Some(waiting) = self.waiting[tag as usize].take() else { return };
        self.free.push(tag);
        self.timing.answered.store(at, Ordering::Relaxed);
        (waiting.reply)(answer);
        let late = self.clock.late(at, self.timing.lead());
        self.tally.count(&waiting.asked, at.saturating_sub(waiting.at), late, answer);
    }

    /// Nothing that is under way is ever answered by the drive: its program is told that the disk went away.
    pub(crate) fn cut(&mut self) {
        self.fail_all();
        // The pieces that the drive still has come back without a reply; their tags are not used again.
        self.free.clear();
        self.later = Later::default();
        self.dark = Some(self.waiting.len() as u32);
    }

    fn fail_all(&mut self) {
        for waiting in self.waiting.iter_mut().filter_map(Option::take) {
            self.tally.failed += 1;
            (waiting.reply)(Err(Errno(libc::EIO)));
        }
    }

    pub(crate) fn end(&mut self) -> Result<(), String> {
        self.fail_all();
        let mut layers = self.layers.lock().unwrap_or_else(PoisonError::into_inner);
        layers.iter_mut().try_for_each(|layer| layer.end())
    }
}

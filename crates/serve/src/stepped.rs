//! Who answers at a time that somebody else tells? The same worker, without a thread.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use iostack_sim::engine::Time;

use crate::clock::Clock;
use crate::layers::Layer;
use crate::seen::DriveTally;
use crate::server::{DriveMessage, Worker, parts};
use crate::store::Store;
use crate::volatile::Cut;
use crate::{Disk, Drive};
use iostack_model::answers::Seen;

/// The drive under a clock that somebody else moves, without a thread.
pub struct Stepped {
    disk: Disk,
    worker: Worker,
    messages: Receiver<DriveMessage>,
    /// Moment of the drive at which its clock began.
    start: Time,
}

impl Stepped {
    /// It is moment 0 now.
    pub fn new(drive: Drive, store: Store, layers: Vec<Box<dyn Layer>>) -> Stepped {
        let start = drive.world().now();
        let (disk, worker, messages) = parts(drive, store, layers, Clock::told(start));
        Stepped { disk, worker, messages, start }
    }

    /// It holds what the file does, as if that had been written before its clock began.
    pub fn hold(&mut self, file: &File) -> io::Result<()> {
        let held = self.disk.store().take(file)?;
        self.worker.drive.fill(&held, || false);
        self.start = self.worker.drive.world().now();
        self.worker.clock.set(self.start);
        Ok(())
    }

    /// Handle of the drive. A request is begun by the next [`Stepped::pass`].
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Clock for a reply: the moment at which the model answered what it is told of.
    pub fn answered(&self) -> impl Fn() -> Time + Send + use<> {
        let (timing, start) = (Arc::clone(&self.worker.timing), self.start);
        move || timing.answered.load(Ordering::Relaxed).saturating_sub(start)
    }

    /// Whoever asked has heard of it, so much after the model answered.
    pub fn heard(&mut self, late: Time) {
        self.worker.tally.heard(late);
    }

    /// It is `now`: what comes from here on comes now.
    pub fn set(&mut self, now: Time) {
        self.worker.clock.set(self.start + now);
    }

    /// Takes what was asked and does all that is due; replies are told meanwhile. Gives when something is due next.
    pub fn pass(&mut self) -> Option<Time> {
        self.arrive();
        self.worker.go_on(self.worker.clock.now());
        self.worker.due().map(|due| due.saturating_sub(self.start))
    }

    /// Takes what was asked.
    fn arrive(&mut self) {
        while let Ok(message) = self.messages.try_recv() {
            if let DriveMessage::Ask(waiting, verdict) = message {
                self.worker.arrive(waiting, verdict);
            }
        }
    }

    /// Begins to count anew; [`Stepped::pass`] has been called for this moment.
    pub fn begin(&mut self) {
        self.worker.tally = DriveTally::default();
        self.worker.drive.begin(self.worker.clock.now());
    }

    /// It is over at `now`: nothing came since.
    pub fn until(&mut self, now: Time) {
        self.set(now);
        self.pass();
        self.worker.drive.pass(self.start + now);
    }

    /// Counts since it began.
    pub fn seen(&self) -> Seen {
        self.worker.tally.seen(&self.worker.drive)
    }

    /// Reason why writes failed, when this machine had no memory left for the data.
    pub fn full(&self) -> Option<&'static str> {
        self.disk.store().full()
    }

    /// The drive, to look at.
    pub fn drive(&self) -> &Drive {
        &self.worker.drive
    }

    /// Cuts the power: what is under way is never done, and of what was not flushed is kept or lost what `seed` says. There is
    /// power again at once, and it is moment 0.
    pub fn cut(&mut self, seed: u64) -> io::Result<Cut> {
        let cut = self.disk.store().cut(seed)?;
        // What nobody has begun yet fails with the rest.
        self.arrive();
        self.worker.cut();
        self.start = self.worker.clock.now();
        Ok(cut)
    }

    /// Ends it; what is under way fails. Gives why a layer lost something.
    pub fn end(mut self) -> Result<(), String> {
        self.worker.end()
    }
}

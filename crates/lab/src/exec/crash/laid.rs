//! Drives for the guest that checks: they hold what they are told to, and answer at once.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use super::image::{Pages, answer};
use crate::host::mailbox::{DiskShape, DriveRequest, Drives, Through};

/// Content that the drives get next, and the order to the guest.
pub(super) struct Next {
    pub(super) safe: Arc<Pages>,
    pub(super) over: Pages,
    pub(super) order: Vec<u8>,
}

/// Drives whose content is swapped while the guest stands still.
pub(super) struct LaidDrives {
    shapes: Vec<DiskShape>,
    base: Arc<Pages>,
    next: Receiver<Next>,
    safe: Arc<Pages>,
    over: Pages,
    /// Pages that the guest has written.
    scratch: Pages,
    through: VecDeque<Through>,
}

impl LaidDrives {
    pub(super) fn new(shapes: Vec<DiskShape>, base: &Arc<Pages>, next: Receiver<Next>) -> LaidDrives {
        let (base, safe) = (Arc::clone(base), Arc::clone(base));
        let (over, scratch, through) = Default::default();
        LaidDrives { shapes, base, next, safe, over, scratch, through }
    }
}

impl Drives for LaidDrives {
    fn shapes(&self) -> Vec<DiskShape> {
        self.shapes.clone()
    }

    fn hold(&mut self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn begin(&mut self, _: u64) {}

    fn ask(&mut self, now: u64, request: DriveRequest) {
        let data = answer(&mut self.scratch, &[&self.over, &self.safe], &request);
        self.through.push_back(Through { disk: request.disk, tag: request.tag, at: now, answer: Ok(data) });
    }

    fn through(&mut self, _: u64, into: &mut VecDeque<Through>) {
        into.append(&mut self.through);
    }

    fn heard(&mut self, _: u32, _: u64) {}

    fn due(&mut self) -> Option<u64> {
        None
    }

    fn is_cut(&mut self, _: u64) -> io::Result<bool> {
        Ok(false)
    }

    fn order(&mut self) -> Vec<u8> {
        self.scratch.clear();
        // At the end they hold what the guest booted with.
        let last = || Next { safe: Arc::clone(&self.base), over: Pages::new(), order: Vec::new() };
        let next = self.next.recv().unwrap_or_else(|_| last());
        (self.safe, self.over) = (next.safe, next.over);
        next.order
    }
}

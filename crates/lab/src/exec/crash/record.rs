//! What was asked of the drives, in which order, and what became safe when?

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::image::{Pages, pages_of};
use crate::host::mailbox::{DiskShape, DriveRequest, Drives, Operation, Through};

/// Bytes that are copied, at most: of what is on the drives before, and of what is written.
pub(super) const BYTES_MOST: u64 = 1 << 30;

/// A write, or a trim, which leaves zeros as the store does.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) disk: u32,
    pub(super) offset: u64,
    pub(super) length: u64,
    /// None of a trim.
    pub(super) data: Option<Arc<[u8]>>,
}

/// Change of what is, or is safe. Writes are named by their place among the writes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// It was asked, and may be on the medium from now on.
    Asked(usize),
    /// A write through (FUA) was answered.
    Through(usize),
    /// A flush of the disk was answered: what was asked before it, the first so many writes, is safe.
    Flushed(u32, usize),
}

/// Record of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    /// Content of the drives before.
    pub(super) base: Arc<Pages>,
    /// Bytes that each disk writes whole.
    pub(super) atoms: Vec<u64>,
    pub(super) writes: Vec<Write>,
    /// Events with their moments.
    pub(super) events: Vec<(u64, Event)>,
    /// Events before the program began.
    pub(super) begun: usize,
    pub(super) flushes: u64,
    /// Bytes that were written.
    pub(super) bytes: u64,
    /// There was more than is copied.
    pub(super) too_large: bool,
}

impl Record {
    fn put(&mut self, now: u64, request: &DriveRequest) -> Option<Event> {
        let DriveRequest { disk, offset, length, .. } = *request;
        let data = match request.operation {
            Operation::Read => return None,
            Operation::Flush => {
                self.flushes += 1;
                return Some(Event::Flushed(disk, self.writes.len()));
            }
            Operation::Write => Some(Arc::from(&request.data[..])),
            Operation::Trim | Operation::Zero => None,
        };
        self.bytes += request.data.len() as u64;
        self.too_large |= self.bytes > BYTES_MOST;
        if self.too_large {
            return None;
        }
        let number = self.writes.len();
        self.writes.push(Write { disk, offset, length, data });
        self.events.push((now, Event::Asked(number)));
        request.through.then_some(Event::Through(number))
    }
}

/// Drives whose requests are recorded.
pub(super) struct Recorder<'a> {
    pub(super) drives: &'a mut dyn Drives,
    pub(super) record: Record,
    /// Event that comes when the request of this disk and tag is answered.
    pub(super) open: HashMap<(u32, u32), Event>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(drives: &'a mut dyn Drives) -> Recorder<'a> {
        let atoms = drives.shapes().iter().map(|shape| shape.atom).collect();
        Recorder { drives, record: Record { atoms, ..Record::default() }, open: HashMap::new() }
    }
}

impl Drives for Recorder<'_> {
    fn shapes(&self) -> Vec<DiskShape> {
        self.drives.shapes()
    }

    fn hold(&mut self, image: &Path) -> io::Result<()> {
        match pages_of(&File::open(image)?, BYTES_MOST)? {
            Some(pages) => self.record.base = Arc::new(pages),
            None => self.record.too_large = true,
        }
        self.drives.hold(image)
    }

    fn begin(&mut self, now: u64) {
        self.record.begun = self.record.events.len();
        self.drives.begin(now);
    }

    fn ask(&mut self, now: u64, request: DriveRequest) {
        let (disk, tag) = (request.disk, request.tag);
        if let Some(safe) = self.record.put(now, &request) {
            self.open.insert((disk, tag), safe);
        }
        self.drives.ask(now, request);
    }

    fn through(&mut self, now: u64, into: &mut VecDeque<Through>) {
        let before = into.len();
        self.drives.through(now, into);
        for one in into.iter().skip(before) {
            if let Some(safe) = self.open.remove(&(one.disk, one.tag)).filter(|_| one.answer.is_ok()) {
                self.record.events.push((now, safe));
            }
        }
    }

    fn heard(&mut self, disk: u32, late: u64) {
        self.drives.heard(disk, late);
    }

    fn due(&mut self) -> Option<u64> {
        self.drives.due()
    }

    fn is_cut(&mut self, now: u64) -> io::Result<bool> {
        self.drives.is_cut(now)
    }
}

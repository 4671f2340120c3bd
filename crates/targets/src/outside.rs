//! A simulated drive for the lab's machine, whose clock it goes by.
//!
//! ```text
//!   guest ──mailbox──► Outside ──► serve::Stepped: layers, store, drive ──► Through
//! ```

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

use anyhow::ensure;
use iostack_lab::devices::SIMULATED;
use iostack_lab::guest::{Message, Work};
use iostack_lab::host::mailbox::{DiskShape, Drives, Operation, Request, Through};
use iostack_lab::{Booted, Lab, Request as Boots};
use iostack_model::{Bytes, Inside, Outcome};
use iostack_serve::{Drive, Errno, Seen, Stepped, Store};
use iostack_sheet::Sheet;
use iostack_sim::run::inside_of;

/// Whether the request is for a simulated drive.
pub fn is_meant(request: &Boots) -> bool {
    request.device.starts_with(SIMULATED)
}

/// The simulated drive that the request names, as it changes it.
pub fn sheet(request: &Boots) -> anyhow::Result<Option<Sheet>> {
    let Some(name) = request.device.strip_prefix(SIMULATED) else { return Ok(None) };
    let sheet = Sheet::load(name, &request.drive)?;
    ensure!(
        sheet.kind.name != "platform",
        "`{name}` is a whole machine, and the lab has one; name a drive (`iostack sim list`)"
    );
    Ok(Some(sheet))
}

/// Boots, with the drive that the request names. `hear` gets each message.
pub fn boot(
    lab: &Lab<'_>,
    request: &Boots,
    work: Work,
    hear: &mut dyn FnMut(&Message),
) -> anyhow::Result<Booted> {
    let mut drive = Outside::of(request, SEED)?;
    Ok(lab.boot_with(request, work, drives(&mut drive), hear)?)
}

/// As the machine takes it.
pub(crate) fn drives(drive: &mut Option<Outside>) -> Option<&mut dyn Drives> {
    drive.as_mut().map(|drive| drive as &mut dyn Drives)
}

/// Where none is asked for.
const SEED: u64 = 1;

/// The drive behind the guest's disk.
pub struct Outside {
    sheet: Sheet,
    seed: u64,
    stepped: Stepped,
    shape: DiskShape,
    tell: Sender<Through>,
    told: Receiver<Through>,
    due: Option<u64>,
    /// When it began to count.
    began: u64,
}

impl Outside {
    /// The one that the request names, if it names one; `seed` decides whatever chance does in it.
    pub fn of(request: &Boots, seed: u64) -> anyhow::Result<Option<Outside>> {
        sheet(request)?.map(|sheet| Outside::open(sheet, seed)).transpose()
    }

    fn open(sheet: Sheet, seed: u64) -> anyhow::Result<Outside> {
        let drive = Drive::open(&sheet, seed)?;
        let shape = drive.shape();
        let (tell, told) = channel();
        Ok(Outside {
            seed,
            stepped: Stepped::new(drive, Store::memory(shape.capacity)?, Vec::new()),
            shape: DiskShape {
                capacity: shape.capacity.0,
                block: shape.block.0 as u32,
                rotates: sheet.kind.name == "hdd",
            },
            sheet,
            tell,
            told,
            due: None,
            began: 0,
        })
    }

    /// It was over so long after it began to count, ns.
    pub fn over(&mut self, elapsed: u64) {
        self.stepped.until(self.began + elapsed);
    }

    /// What was asked of it since it began to count.
    pub fn seen(&self) -> Seen {
        self.stepped.seen()
    }

    /// Bytes.
    pub fn capacity(&self) -> Bytes {
        Bytes(self.shape.capacity)
    }

    /// What happened inside since the job began.
    pub fn inside(&self, outcome: &Outcome) -> Inside {
        let inside = inside_of(&self.sheet, self.seed, self.stepped.drive().world(), outcome);
        let seen = self.stepped.seen();
        Inside { requests: seen.ios.iter().sum(), late: Some(seen.late), ..inside }
    }
}

impl Drives for Outside {
    fn shapes(&self) -> Vec<DiskShape> {
        vec![self.shape]
    }

    fn hold(&mut self, image: &Path) -> io::Result<()> {
        self.stepped.hold(&File::open(image)?)
    }

    fn begin(&mut self, now: u64) {
        self.stepped.set(now);
        self.stepped.pass();
        self.stepped.begin();
        self.began = now;
    }

    fn ask(&mut self, now: u64, request: Request) {
        self.stepped.set(now);
        let Request { disk, tag, offset, length, through, .. } = request;
        let (tell, at) = (self.tell.clone(), self.stepped.answered());
        // Whoever is told lives as long as the drive.
        let told = move |answer: Result<Vec<u8>, Errno>| {
            drop(tell.send(Through { disk, tag, at: at(), answer: answer.map_err(|errno| errno.0) }));
        };
        let to = self.stepped.disk();
        if request.operation == Operation::Read {
            return to.read(offset, vec![0; length as usize], told);
        }
        let reply = Box::new(move |answer: Result<(), Errno>| told(answer.map(|()| Vec::new())));
        match request.operation {
            Operation::Read | Operation::Flush => to.flush(reply),
            Operation::Write => to.write(offset, &request.data, through, reply),
            Operation::Trim => to.trim(offset, length, through, reply),
            Operation::Zero => to.write_zeros(offset, length, through, reply),
        }
    }

    fn through(&mut self, now: u64, into: &mut VecDeque<Through>) {
        self.stepped.set(now);
        self.due = self.stepped.pass();
        into.extend(self.told.try_iter());
    }

    fn heard(&mut self, late: u64) {
        self.stepped.heard(late);
    }

    fn due(&mut self) -> Option<u64> {
        self.due
    }
}

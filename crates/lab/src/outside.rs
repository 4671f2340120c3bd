//! Which drives does the machine have that others bring? The lab knows none by itself.

use std::fmt;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use iostack_model::answers::{Seen, ServedCut};
use iostack_model::{Bytes, Inside, Outcome};

use crate::devices::SIMULATED;
use crate::guest::{Message, Work};
use crate::host::mailbox::Drives;
use crate::{Booted, Lab, Request};

/// Character between the names of several drives.
pub const COMMA: char = ',';

/// Simulated drives behind the guest's disks.
pub trait Outside: Drives {
    /// The program of this boot was over so long after it began, ns; gives how long was counted in all.
    fn over(&mut self, elapsed: u64) -> u64;

    /// Plans a power cut for the boot to come: time after the program began, and the seed that says what is lost.
    fn cut_after(&mut self, plan: Option<(u64, u64)>);

    /// The cut of the last boot, if it came.
    fn was_cut(&mut self) -> Option<ServedCut>;

    /// Snapshots for whoever watches meanwhile.
    fn live(&self) -> Live;

    /// Counts of all drives since they began to count.
    fn seen(&self) -> Seen;

    /// Reason why writes failed for lack of memory of this machine, if they did.
    fn full(&self) -> Option<&'static str>;

    /// Bytes of all.
    fn capacity(&self) -> Bytes;

    /// Figures of the inside since the job began; `None` where no drive is simulated.
    fn inside(&self, outcome: &Outcome) -> Option<Inside>;

    /// No more is asked of them. An error says what a layer lost.
    fn end(self: Box<Self>) -> anyhow::Result<()>;
}

/// Snapshots of the drives' counts, shared with whoever watches.
#[derive(Clone, Default)]
pub struct Live(Arc<Mutex<Option<Seen>>>);

impl Live {
    /// Latest snapshot; `None` before the first.
    pub fn look(&self) -> Option<Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces what was asked so far.
    pub fn is(&self, seen: Seen) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
    }
}

/// Question to the drives' end while the guest stands still.
pub enum HeldQuestion {
    /// Next order to the guest.
    Order(Vec<u8>),
    /// Figures of the inside since this job began, if they are known, and what is wrong with this machine.
    Inside(Box<Outcome>, Sender<(Option<Inside>, Option<&'static str>)>),
}

/// Conditions under which drives are brought.
#[derive(Default)]
pub struct Wish {
    /// Decides whatever chance does in them.
    pub seed: u64,
    /// A power cut may lose what was not flushed.
    pub volatile: bool,
    /// The machine is told one order after another; then there is something to bring even where no drive is named.
    pub asked: Option<Receiver<HeldQuestion>>,
}

/// Provider of simulated drives.
pub trait Brings: Sync {
    /// Refuses names and numbers that no drive has.
    fn check(&self, request: &Request) -> anyhow::Result<()>;

    /// The drives that the request names, if it names some.
    fn open(&self, request: &Request, wish: Wish) -> anyhow::Result<Option<Box<dyn Outside>>>;
}

/// Provider of a request's simulated drives; `None` where there are none.
#[derive(Clone, Copy, Default)]
pub struct BroughtBy(pub Option<&'static dyn Brings>);

impl fmt::Debug for BroughtBy {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(if self.0.is_some() { "brought" } else { "none" })
    }
}

/// There is one who brings drives in a program, or none.
impl PartialEq for BroughtBy {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_some() == other.0.is_some()
    }
}

impl Eq for BroughtBy {}

impl Request {
    /// True when it names simulated drives.
    pub fn is_simulated(&self) -> bool {
        self.device.starts_with(SIMULATED)
    }

    /// Number of drives that the device is, `sim:a,b`.
    pub fn drives(&self) -> usize {
        drives_of(&self.device)
    }

    /// Refuses simulated drives that there are not.
    pub fn check_drives(&self) -> anyhow::Result<()> {
        self.brought_by.0.map_or(Ok(()), |brings| brings.check(self))
    }

    /// Its simulated drives, if it names some.
    pub fn bring(&self, wish: Wish) -> anyhow::Result<Option<Box<dyn Outside>>> {
        self.brought_by.0.map_or(Ok(None), |brings| brings.open(self, wish))
    }
}

/// Number of drives that the device is, `sim:a,b`.
pub(crate) fn drives_of(device: &str) -> usize {
    if device.starts_with(SIMULATED) { device.split(COMMA).count() } else { 1 }
}

/// The seed of drives where none is asked for.
pub(crate) const SEED: u64 = 1;

/// Boots, with the drives that the request names. `hear` gets each message.
pub fn boot(
    lab: &Lab<'_>,
    request: &Request,
    work: Work,
    hear: &mut dyn FnMut(&Message),
) -> anyhow::Result<Booted> {
    let mut outside = request.bring(Wish { seed: SEED, ..Wish::default() })?;
    let booted = lab.boot(request, work, machine_takes(outside.as_mut()), hear)?;
    outside.map_or(Ok(()), Outside::end)?;
    Ok(booted)
}

pub(crate) fn machine_takes(outside: Option<&mut Box<dyn Outside>>) -> Option<&mut dyn Drives> {
    outside.map(|outside| &mut **outside as &mut dyn Drives)
}

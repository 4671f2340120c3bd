//! Simulated drives for the lab's machine, whose clock they go by.
//!
//! ```text
//!   guest ──mailbox──► Outside ──► each drive's serve::Stepped: layers, store, model ──► Through
//! ```

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

use anyhow::{bail, ensure};
use iostack_lab::Request;
use iostack_lab::devices::SIMULATED;
use iostack_lab::host::mailbox::{DISKS_MOST, DiskShape, DriveRequest, Drives, Operation, Through};
use iostack_lab::outside::{Brings, BroughtBy, COMMA, HeldQuestion, Live, Outside, Wish};
use iostack_model::answers::{Seen, ServedCut};
use iostack_model::{Bytes, Inside, Nanos, Outcome};
use iostack_sim::run::inside_of;
use iostack_sim::sheet::Sheet;

use crate::seen::both;
use crate::{Drive, Errno, Stepped, Store, layers};

/// Brings simulated drives to the lab's machine.
pub const BROUGHT: BroughtBy = BroughtBy(Some(&Simulated));

struct Simulated;

impl Brings for Simulated {
    fn check(&self, request: &Request) -> anyhow::Result<()> {
        layers::check(&request.flags.layer).map_err(anyhow::Error::msg)?;
        sheets(request).map(drop)
    }

    fn open(&self, request: &Request, wish: Wish) -> anyhow::Result<Option<Box<dyn Outside>>> {
        let is_asked = wish.asked.is_some();
        let drives = Simulation::open(request, wish)?;
        Ok((is_asked || drives.first.is_some()).then(|| -> Box<dyn Outside> { Box::new(drives) }))
    }
}

/// The simulated drives that the request names, as it changes them; `sim:` may stand before each.
fn sheets(request: &Request) -> anyhow::Result<Vec<Sheet>> {
    if !request.is_simulated() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = request.device.split(COMMA).map(bare).collect();
    ensure!(
        names.len() <= DISKS_MOST,
        "`{}` are {} drives, and the machine has room for {DISKS_MOST}",
        request.device,
        names.len()
    );
    names.into_iter().map(|name| sheet(name, &request.drive)).collect()
}

fn bare(name: &str) -> &str {
    name.strip_prefix(SIMULATED).unwrap_or(name)
}

fn sheet(name: &str, changes: &[(String, String)]) -> anyhow::Result<Sheet> {
    ensure!(!name.is_empty(), "a name of a drive is missing; write several like sim:x25e,x25e");
    let sheet = Sheet::load(name, changes)?;
    if sheet.kind.name == "platform" {
        bail!("`{name}` is a whole machine, and the lab has one; name a drive (`iostack sim list`)");
    }
    Ok(sheet)
}

/// Age of what watchers see, at most, ns of the machine's own time.
const LOOK_EVERY: u64 = 10_000_000;

/// One of them.
struct One {
    stepped: Stepped,
    shape: DiskShape,
    due: Option<u64>,
}

impl One {
    fn open(sheet: &Sheet, seed: u64, layers: &[String], volatile: bool) -> anyhow::Result<One> {
        let drive = Drive::open(sheet, seed)?;
        let (shape, atom) = (drive.shape(), drive.atom());
        let layers = layers::each(layers).map_err(anyhow::Error::msg)?;
        let store = Store::memory(shape.capacity)?;
        let store = if volatile { store.volatile() } else { store };
        Ok(One {
            stepped: Stepped::new(drive, store, layers),
            shape: DiskShape {
                capacity: shape.capacity.0,
                block: shape.block.0 as u32,
                atom,
                rotates: sheet.kind.name == "hdd",
            },
            due: None,
        })
    }
}

/// The drives behind the guest's disks.
struct Simulation {
    /// Names as in `sim:NAME`.
    names: String,
    /// Sheet of the first drive; a machine with other disks has none here.
    first: Option<Sheet>,
    seed: u64,
    drives: Vec<One>,
    tell: Sender<Through>,
    told: Receiver<Through>,
    /// Moment at which the program of this boot began.
    begins: u64,
    /// Moment at which they were asked last.
    now: u64,
    /// Time that was counted before this boot, ns.
    before: u64,
    cut: Option<PlannedCut>,
    was_cut: Option<ServedCut>,
    live: Live,
    /// It is looked at again then.
    look_due: u64,
    /// Questions of the guest and others, where somebody holds it.
    asked: Option<Receiver<HeldQuestion>>,
}

/// A power cut that is to come.
struct PlannedCut {
    /// So long after the program began.
    after: u64,
    /// Seed that decides what is lost.
    seed: u64,
    /// Moment of the cut; `None` until the program begins.
    at: Option<u64>,
}

impl Simulation {
    fn open(request: &Request, wish: Wish) -> anyhow::Result<Simulation> {
        let Wish { seed, volatile, asked } = wish;
        let sheets = sheets(request)?;
        let open =
            |(number, sheet)| One::open(sheet, seed.wrapping_add(number), &request.flags.layer, volatile);
        let drives = (0..).zip(&sheets).map(open).collect::<anyhow::Result<Vec<_>>>()?;
        let (tell, told) = channel();
        let names = request.device.split(COMMA).map(bare).collect::<Vec<_>>().join(",");
        Ok(Simulation {
            names,
            first: sheets.into_iter().next(),
            seed,
            drives,
            tell,
            told,
            begins: 0,
            now: 0,
            before: 0,
            cut: None,
            was_cut: None,
            live: Live::default(),
            look_due: 0,
            asked,
        })
    }

    /// Time that the drives have counted by now, ns.
    fn counted(&self, now: u64) -> u64 {
        // After a cut the boot counts, too.
        let first = if self.before == 0 { self.begins } else { 0 };
        self.before + now - first
    }

    fn cut(&mut self, now: u64, seed: u64) -> io::Result<ServedCut> {
        let mut cut = ServedCut { at: Nanos(self.counted(now)), kept: 0, lost: 0 };
        for (number, one) in (0..).zip(&mut self.drives) {
            let of_one = one.stepped.cut(seed.wrapping_add(number))?;
            (cut.kept, cut.lost, one.due) = (cut.kept + of_one.kept, cut.lost + of_one.lost, None);
        }
        // Who had asked is gone.
        self.told.try_iter().for_each(drop);
        self.before = cut.at.0;
        Ok(cut)
    }
}

impl Outside for Simulation {
    fn over(&mut self, elapsed: u64) -> u64 {
        // After a cut also what came before and after the program counts.
        let now = if self.before == 0 { self.begins + elapsed } else { self.now };
        for one in &mut self.drives {
            one.stepped.until(now);
        }
        self.counted(now)
    }

    fn cut_after(&mut self, plan: Option<(u64, u64)>) {
        self.cut = plan.map(|(after, seed)| PlannedCut { after, seed, at: None });
        (self.begins, self.look_due) = (0, 0);
    }

    fn was_cut(&mut self) -> Option<ServedCut> {
        self.was_cut.take()
    }

    fn live(&self) -> Live {
        self.live.clone()
    }

    fn seen(&self) -> Seen {
        let each = self.drives.iter().map(|one| one.stepped.seen());
        each.reduce(both).expect("there is one at least")
    }

    fn full(&self) -> Option<&'static str> {
        self.drives.iter().find_map(|one| one.stepped.full())
    }

    fn capacity(&self) -> Bytes {
        Bytes(self.drives.iter().map(|one| one.shape.capacity).sum())
    }

    fn end(self: Box<Self>) -> anyhow::Result<()> {
        self.drives.into_iter().try_for_each(|one| one.stepped.end().map_err(anyhow::Error::msg))
    }

    fn inside(&self, outcome: &Outcome) -> Option<Inside> {
        let first = self.first.as_ref()?;
        let worlds: Vec<_> = self.drives.iter().map(|one| one.stepped.drive().world()).collect();
        let inside = inside_of(first, self.seed, &worlds, outcome);
        let seen = self.seen();
        let device = self.names.clone();
        Some(Inside { device, requests: seen.ios.iter().sum(), late: Some(seen.late), ..inside })
    }
}

impl Drives for Simulation {
    fn shapes(&self) -> Vec<DiskShape> {
        self.drives.iter().map(|one| one.shape).collect()
    }

    fn hold(&mut self, image: &Path) -> io::Result<()> {
        self.drives[0].stepped.hold(&File::open(image)?)
    }

    fn begin(&mut self, now: u64) {
        for one in &mut self.drives {
            one.stepped.set(now);
            one.stepped.pass();
            // What is between a power cut and the next program is of the whole.
            if self.before == 0 {
                one.stepped.begin();
            }
        }
        self.begins = now;
        if let Some(cut) = &mut self.cut {
            cut.at = Some(now + cut.after);
        }
    }

    fn ask(&mut self, now: u64, request: DriveRequest) {
        let DriveRequest { disk, tag, offset, length, through, .. } = request;
        let stepped = &mut self.drives[disk as usize].stepped;
        stepped.set(now);
        let (tell, at) = (self.tell.clone(), stepped.answered());
        // Whoever is told lives as long as the drive.
        let told = move |answer: Result<Vec<u8>, Errno>| {
            drop(tell.send(Through { disk, tag, at: at(), answer: answer.map_err(|errno| errno.0) }));
        };
        let to = stepped.disk();
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
        for one in &mut self.drives {
            one.stepped.set(now);
            one.due = one.stepped.pass();
        }
        into.extend(self.told.try_iter());
        self.now = now;
        if self.look_due <= now {
            self.look_due = now + LOOK_EVERY;
            self.live.is(self.seen());
        }
    }

    fn heard(&mut self, disk: u32, late: u64) {
        self.drives[disk as usize].stepped.heard(late);
    }

    fn order(&mut self) -> Vec<u8> {
        loop {
            match self.asked.as_ref().and_then(|asked| asked.recv().ok()) {
                Some(HeldQuestion::Order(order)) => return order,
                // Who does not wait any more does not hear.
                Some(HeldQuestion::Inside(outcome, tell)) => {
                    drop(tell.send((self.inside(&outcome), self.full())));
                }
                None => return Vec::new(),
            }
        }
    }

    fn due(&mut self) -> Option<u64> {
        let cut = self.cut.as_ref().and_then(|cut| cut.at);
        self.drives.iter().filter_map(|one| one.due).chain(cut).min()
    }

    fn is_cut(&mut self, now: u64) -> io::Result<bool> {
        let Some(PlannedCut { seed, .. }) = self.cut.take_if(|cut| cut.at.is_some_and(|at| at <= now)) else {
            return Ok(false);
        };
        self.was_cut = Some(self.cut(now, seed)?);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True when a sector that the guest wrote is there after a power cut.
    fn is_kept(through: bool, seed: u64) -> bool {
        let request = Request { device: "sim:x25e".to_owned(), ..Request::default() };
        let mut drives =
            BROUGHT.0.expect("we do").open(&request, Wish { seed: 1, volatile: true, asked: None });
        let drives = drives.as_mut().expect("a sheet").as_mut().expect("it names one");
        let ask = |operation, data| DriveRequest {
            disk: 0,
            tag: 1,
            operation,
            through,
            offset: 512,
            length: 512,
            data,
        };
        let mut told = VecDeque::new();
        drives.cut_after(Some((2_000_000, seed)));
        drives.begin(0);
        drives.ask(10, ask(Operation::Write, vec![7; 512]));
        drives.through(1_000_000, &mut told);
        assert!(told.pop_front().is_some_and(|one| one.answer == Ok(Vec::new())), "it was answered");
        assert!(drives.is_cut(2_000_000).expect("the store is brought back"));
        drives.ask(0, ask(Operation::Read, Vec::new()));
        drives.through(1_000_000_000, &mut told);
        told.pop_front().expect("it is through").answer == Ok(vec![7; 512])
    }

    #[test]
    fn a_sector_that_the_guest_wrote_through_is_there_after_each_cut_and_others_may_not_be() {
        assert!((0..64).all(|seed| is_kept(true, seed)));
        let kept = (0..64).filter(|&seed| is_kept(false, seed)).count();
        assert!((1..64).contains(&kept), "{kept}");
    }
}

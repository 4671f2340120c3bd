//! A part of the device that one thread has to itself: every so many'th chunk of it, so that neighbours are others'.
//!
//! Each sector that is written names its own address and a generation; the rest of it follows from both by a formula. So
//! a sector that lands elsewhere is seen, one that was lost, and one that is half old.
//!
//! The chunks of a disk with zones are its zones, written in order and reset. Of a disk that is read-only a number of each sector
//! is kept instead, by which it is known again.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use super::super::Ready;
use super::super::near_side::failed;
use super::super::region::{ALIGNMENT, is_zoned, number};
use super::asked::{Findings, Trial};
use crate::sys::guest as sys;

/// Sectors of a chunk; no I/O crosses its border.
pub(super) const CHUNK: u64 = 512;

/// The generation of a sector that may hold anything.
const ANYTHING: u32 = u32::MAX;

/// The unit of all addresses.
const SECTOR_BYTES: usize = 512;

/// The device, open for direct I/O.
pub(super) struct TrialDisk {
    file: File,
    pub(super) sectors: u64,
    /// Sectors of its smallest I/O.
    unit: u64,
    /// Sectors of its smallest discard; 0: it has none.
    discard_unit: u64,
    takes: Takes,
    /// Sectors of a chunk.
    pub(super) chunk: u64,
}

/// Writes that a disk takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    All,
    /// The next of each zone.
    InOrder,
    None,
}

impl TrialDisk {
    pub(super) fn open(ready: &Ready) -> Result<TrialDisk, String> {
        let path = &ready.path;
        let number = |name: &str| number(&ready.disk, name);
        let takes = match number("ro")? {
            0 if is_zoned(&ready.disk) => Takes::InOrder,
            0 => Takes::All,
            _ => Takes::None,
        };
        let chunk = if takes == Takes::InOrder { number("queue/chunk_sectors")? } else { CHUNK };
        let file =
            File::options().read(true).write(takes != Takes::None).custom_flags(libc::O_DIRECT).open(path);
        let file = file.map_err(failed("open", path))?;
        if takes == Takes::InOrder {
            sys::reset_zones(&file, 0..number("size")?).map_err(failed("reset the zones of", path))?;
        }
        let discards = number("queue/discard_max_bytes")? > 0;
        Ok(TrialDisk {
            file,
            takes,
            chunk,
            sectors: number("size")?.min(SECTORS_MOST),
            unit: number("queue/logical_block_size")? / SECTOR_BYTES as u64,
            discard_unit: if discards {
                number("queue/discard_granularity")?.div_ceil(SECTOR_BYTES as u64)
            } else {
                0
            },
        })
    }
}

/// Sectors that are tried: of a larger device the first 256 MiB, since every sector is written and read.
const SECTORS_MOST: u64 = (256 << 20) / SECTOR_BYTES as u64;

/// The thread's part, and what it must hold.
pub(super) struct Lane<'a> {
    device: &'a TrialDisk,
    pub(super) number: u64,
    lanes: u64,
    chunks: u64,
    random: u64,
    seed: u64,
    /// Generation of what was discarded.
    discarded: u32,
    /// Generation of each sector; 0: zeroes.
    held: Vec<u32>,
    /// Sectors of each chunk that are written, where they are in order.
    written: Vec<u64>,
    /// Sectors that hold one of several generations, since a write to them failed.
    unsure: HashMap<u64, Vec<u32>>,
    next: u32,
    memory: Vec<u8>,
    /// Sectors that cannot be read or written.
    pub(super) bad: Option<Range<u64>>,
    /// I/O may fail without a reason that we know.
    pub(super) errors_happen: bool,
    pub(super) findings: Findings,
}

#[derive(Clone, Copy, PartialEq)]
enum LaneAct {
    Read,
    Write,
    Discard,
    Reset,
}

impl<'a> Lane<'a> {
    /// `place`: this lane's number, up to how many there are.
    pub(super) fn new(device: &'a TrialDisk, place: Range<u64>, trial: &Trial) -> Lane<'a> {
        let all = device.sectors / device.chunk;
        let chunks = all / place.end + u64::from(place.start < all % place.end);
        Lane {
            device,
            number: place.start,
            lanes: place.end,
            chunks,
            random: mixed(trial.seed ^ mixed(place.start + 1)),
            seed: trial.seed,
            discarded: if trial.discards_to_zero { 0 } else { ANYTHING },
            held: vec![0; (chunks * device.chunk) as usize],
            written: vec![0; if device.takes == Takes::InOrder { chunks as usize } else { 0 }],
            unsure: HashMap::new(),
            next: 1,
            memory: vec![0; CHUNK as usize * SECTOR_BYTES + ALIGNMENT],
            bad: None,
            errors_happen: false,
            findings: Findings::default(),
        }
    }

    /// Looks at its first chunk only.
    pub(super) fn short(mut self) -> Self {
        self.chunks = 1;
        self
    }

    /// Writes all of it once, or reads what is there to know it again.
    pub(super) fn fill(&mut self) {
        self.held.fill(if self.device.takes == Takes::None { ANYTHING } else { 0 });
        self.act_on_all(if self.device.takes == Takes::None { LaneAct::Read } else { LaneAct::Write });
    }

    /// Reads all of it once.
    pub(super) fn check_all(&mut self) {
        self.act_on_all(LaneAct::Read);
    }

    fn act_on_all(&mut self, act: LaneAct) {
        for chunk in 0..self.chunks {
            let Range { start, end } = self.whole(chunk);
            for first in (start..end).step_by(CHUNK as usize) {
                self.act(act, &(first..end.min(first + CHUNK)));
            }
        }
    }

    /// One random I/O.
    pub(super) fn step(&mut self) {
        if self.device.takes == Takes::InOrder {
            return self.step_in_order();
        }
        let act = match self.below(16) {
            0..8 => LaneAct::Read,
            _ if self.device.takes == Takes::None => LaneAct::Read,
            // The kernel waits 30 s for a discard that is lost, whatever the device's timeout.
            15 if self.device.discard_unit > 0 && !self.errors_happen => LaneAct::Discard,
            _ => LaneAct::Write,
        };
        let unit =
            if act == LaneAct::Discard { self.device.discard_unit } else { self.device.unit }.clamp(1, CHUNK);
        let units = CHUNK / unit;
        // Small ones are as frequent as large ones.
        let most = 1 << self.below(9);
        let count = (1 + self.below(most)).min(units);
        let chunk = self.below(self.chunks);
        let mut start = self.whole(chunk).start;
        let mut first = self.below(units - count + 1);
        // Bad sectors of this lane are touched rather often.
        let bad = self.bad.clone().filter(|bad| bad.start / CHUNK % self.lanes == self.number);
        if let Some(bad) = bad.filter(|_| act != LaneAct::Discard && self.below(2) == 0) {
            start = bad.start / CHUNK * CHUNK;
            let touched = bad.start - start + self.below(bad.end - bad.start);
            first = (touched / unit).saturating_sub(self.below(count)).min(units - count);
        }
        self.act(act, &(start + first * unit..start + (first + count) * unit));
    }

    /// One random I/O of a zone: the next write, one that is out of order, a read, or a reset where it is full.
    fn step_in_order(&mut self) {
        let chunk = self.below(self.chunks);
        let Range { start, end } = self.whole(chunk);
        let (unit, written) = (self.device.unit, self.written[chunk as usize]);
        let next = start + written;
        let most = 1 << self.below(9);
        let count = ((1 + self.below(most)) * unit).min(CHUNK);
        match self.below(16) {
            0..8 if written > 0 => {
                let first = start + self.below(written / unit) * unit;
                self.act(LaneAct::Read, &(first..next.min(first + count)));
            }
            8 if next + 2 * unit <= end => self.must_refuse(next + unit..next + 2 * unit),
            _ if next == end || written > 0 && self.below(32) == 0 => self.act(LaneAct::Reset, &(start..end)),
            _ => self.act(LaneAct::Write, &(next..end.min(next + count))),
        }
    }

    /// A write that the disk must not take.
    fn must_refuse(&mut self, sectors: Range<u64>) {
        let length = (sectors.end - sectors.start) as usize * SECTOR_BYTES;
        let first = self.memory.as_ptr().align_offset(ALIGNMENT);
        self.findings.writes += 1;
        let buffer = &self.memory[first..first + length];
        if self.device.file.write_at(buffer, sectors.start * SECTOR_BYTES as u64).is_err() {
            self.findings.refused += 1;
            return;
        }
        let (first, last) = (sectors.start, sectors.end - 1);
        self.findings.wrong(format!(
            "a write of sectors {first} to {last} was taken, and it is not the next of its zone"
        ));
    }

    fn whole(&self, chunk: u64) -> Range<u64> {
        let first = (chunk * self.lanes + self.number) * self.device.chunk;
        first..first + self.device.chunk
    }

    fn act(&mut self, act: LaneAct, sectors: &Range<u64>) {
        let generation = match act {
            LaneAct::Write => self.next,
            LaneAct::Reset => ANYTHING,
            _ => self.discarded,
        };
        self.next += u32::from(act == LaneAct::Write);
        let mut memory = std::mem::take(&mut self.memory);
        let first = memory.as_ptr().align_offset(ALIGNMENT);
        let length = (sectors.end - sectors.start) as usize * SECTOR_BYTES;
        let buffer = &mut memory[first..][..if act == LaneAct::Reset { 0 } else { length }];
        let offset = sectors.start * SECTOR_BYTES as u64;
        let told = match act {
            LaneAct::Read => {
                // What is not read must not look as if it were.
                buffer.fill(0xEE);
                self.findings.reads += 1;
                self.device.file.read_at(buffer, offset)
            }
            LaneAct::Write => {
                for (sector, bytes) in sectors.clone().zip(buffer.chunks_exact_mut(SECTOR_BYTES)) {
                    self.content(sector, generation, bytes);
                }
                self.findings.writes += 1;
                self.device.file.write_at(buffer, offset)
            }
            LaneAct::Discard => {
                self.findings.discards += 1;
                sys::discard(&self.device.file, offset, length as u64).map(|()| length)
            }
            LaneAct::Reset => {
                self.findings.discards += 1;
                sys::reset_zones(&self.device.file, sectors.clone()).map(|()| length)
            }
        };
        let done = self.ended(act, sectors, &told, length);
        match act {
            LaneAct::Read if done => {
                for (sector, bytes) in sectors.clone().zip(buffer.chunks_exact(SECTOR_BYTES)) {
                    self.check(sector, bytes);
                }
            }
            LaneAct::Read => {}
            _ => sectors.clone().for_each(|sector| self.remember(sector, generation, done)),
        }
        self.memory = memory;
        if let Some(written) = self.written.get_mut((sectors.start / self.device.chunk / self.lanes) as usize)
            && done
        {
            match act {
                LaneAct::Write => {
                    *written = sectors.end - sectors.start / self.device.chunk * self.device.chunk;
                }
                LaneAct::Reset => *written = 0,
                LaneAct::Read | LaneAct::Discard => {}
            }
        }
    }

    /// Counts an I/O that has ended, and says what is wrong with it; true when it succeeded.
    fn ended(&mut self, act: LaneAct, sectors: &Range<u64>, told: &io::Result<usize>, length: usize) -> bool {
        let name = match act {
            LaneAct::Read => "a read",
            LaneAct::Write => "a write",
            LaneAct::Discard => "a discard",
            LaneAct::Reset => "a reset",
        };
        let what = format!("{name} of sectors {} to {}", sectors.start, sectors.end - 1);
        let bad = act != LaneAct::Discard && self.bad.as_ref().is_some_and(|bad| overlap(bad, sectors));
        let wrong = match told {
            Ok(moved) if *moved != length => Some(format!("{what} moved {moved} bytes of {length}")),
            Ok(_) => bad.then(|| format!("{what} touches bad sectors and did not fail")),
            Err(error) => (!self.errors_happen).then(|| format!("{what} failed: {error}")),
        };
        match told {
            // A reset moves nothing.
            Ok(_) if act == LaneAct::Reset => {}
            Ok(moved) if *moved == length => self.findings.bytes += length as u64,
            // What the kernel knows to be the medium's fault is "no data", other errors of a device are EIO.
            Err(error) if bad && matches!(error.raw_os_error(), Some(libc::EIO | libc::ENODATA)) => {
                self.findings.refused += 1;
                return false;
            }
            _ => self.findings.errors += 1,
        }
        if let Some(text) = wrong {
            self.findings.wrong(text);
        }
        told.as_ref().is_ok_and(|moved| *moved == length)
    }

    fn place(&self, sector: u64) -> usize {
        let chunk = self.device.chunk;
        (sector / chunk / self.lanes * chunk + sector % chunk) as usize
    }

    fn remember(&mut self, sector: u64, generation: u32, done: bool) {
        let place = self.place(sector);
        if done {
            self.unsure.remove(&sector);
            self.held[place] = generation;
        } else {
            let before = self.held[place];
            self.unsure.entry(sector).or_insert_with(|| vec![before]).push(generation);
        }
    }

    fn check(&mut self, sector: u64, bytes: &[u8]) {
        let place = self.place(sector);
        if self.device.takes == Takes::None {
            return self.check_known(sector, place, bytes);
        }
        let possible = self.unsure.remove(&sector).unwrap_or_else(|| vec![self.held[place]]);
        if possible.contains(&ANYTHING) {
            self.unsure.insert(sector, possible);
            return;
        }
        let mut expected = [0; SECTOR_BYTES];
        for &generation in &possible {
            self.content(sector, generation, &mut expected);
            if bytes == expected {
                self.held[place] = generation;
                return;
            }
        }
        self.findings.wrong_sectors += 1;
        let text = format!(
            "sector {sector} must hold generation {possible:?}, and holds {}{}",
            named(bytes),
            first_wrong(sector, &expected, bytes)
        );
        self.findings.wrong(text);
        if possible.len() > 1 {
            self.unsure.insert(sector, possible);
        }
    }

    /// A sector that nobody writes is what it was when it was seen first.
    fn check_known(&mut self, sector: u64, place: usize, bytes: &[u8]) {
        let words =
            bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
        let known = words.fold(0, |sum, word| mixed(sum ^ word)) as u32 & !(1 << 31);
        if self.held[place] != ANYTHING && self.held[place] != known {
            self.findings.wrong_sectors += 1;
            self.findings.wrong(format!(
                "sector {sector} of the read-only disk has changed: now it holds {}",
                named(bytes)
            ));
        }
        self.held[place] = known;
    }

    /// Writes the content of a sector of this generation into `bytes`.
    fn content(&self, sector: u64, generation: u32, bytes: &mut [u8]) {
        if generation == 0 {
            bytes.fill(0);
            return;
        }
        let base = mixed(self.seed ^ mixed(sector ^ (u64::from(generation) << 40)));
        for (number, word) in (0_u64..).zip(bytes.chunks_exact_mut(8)) {
            let value = match number {
                0 => sector,
                1 => u64::from(generation),
                _ => base.wrapping_add(number.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
            };
            word.copy_from_slice(&value.to_le_bytes());
        }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed(self.random) % end
    }
}

/// Tells the first difference of a sector from what it must hold, as a byte of the disk.
fn first_wrong(sector: u64, expected: &[u8], bytes: &[u8]) -> String {
    let mut wrong = expected.iter().zip(bytes).enumerate().filter(|(_, (must, holds))| must != holds);
    let Some((at, (must, holds))) = wrong.next() else { return String::new() };
    let offset = sector * SECTOR_BYTES as u64 + at as u64;
    let more = wrong.count();
    format!(
        "; byte {offset} of the disk must be {must:#04x} and is {holds:#04x}, and so are {more} more of the sector wrong"
    )
}

/// Describes a sector by what it holds.
fn named(bytes: &[u8]) -> String {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    if bytes.iter().all(|&byte| byte == bytes[0]) {
        return format!("bytes of {:#04x} only", bytes[0]);
    }
    format!("what begins like sector {} of generation {}", word(0), word(8))
}

/// A number that looks like any other; splitmix64.
fn mixed(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// True when the two share a sector.
fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

#[cfg(test)]
mod tests {
    use super::super::asked::TrialKind;
    use super::*;

    fn trial(discards_to_zero: bool) -> Trial {
        let (kind, module) = (TrialKind::Integrity, String::new());
        Trial { kind, bytes: 0, cycles: 0, threads: 1, seed: 7, module, discards_to_zero }
    }

    /// Sixteen chunks that forget nothing, and two lanes on them.
    fn device(name: &str) -> TrialDisk {
        let path = std::env::temp_dir().join(format!("iostack-lane-{name}-{}", std::process::id()));
        let file = File::options().create(true).truncate(true).read(true).write(true).open(&path);
        let file = file.expect("a new file");
        std::fs::remove_file(&path).expect("it is open");
        file.set_len(16 * CHUNK * 512).expect("room for 4 MiB");
        TrialDisk { file, sectors: 16 * CHUNK, unit: 1, discard_unit: 0, takes: Takes::All, chunk: CHUNK }
    }

    #[test]
    fn what_a_file_keeps_is_right_and_all_of_it_is_looked_at() {
        let device = device("keeps");
        let mut all = Findings::default();
        for number in 0..3 {
            let mut lane = Lane::new(&device, number..3, &trial(true));
            lane.fill();
            (0..200).for_each(|_| lane.step());
            lane.check_all();
            all.add(lane.findings);
        }
        assert_eq!((all.wrong_sectors, all.errors), (0, 0), "{:?}", all.wrong);
        assert_eq!(all.reads + all.writes, 600 + 2 * 16);
    }

    #[test]
    fn a_sector_that_changed_behind_the_lane_is_found_and_named() {
        let device = device("changed");
        let mut lane = Lane::new(&device, 0..1, &trial(true));
        lane.fill();
        let mut stolen = [0; 512];
        device.file.read_exact_at(&mut stolen, 40 * 512).expect("it was written");
        device.file.write_all_at(&stolen, 41 * 512).expect("room");
        let mut last = [0];
        device.file.read_exact_at(&mut last, 600 * 512 + 511).expect("it was written");
        device.file.write_all_at(&[!last[0]], 600 * 512 + 511).expect("room");
        lane.check_all();
        assert_eq!(lane.findings.wrong_sectors, 2, "{:?}", lane.findings.wrong);
        assert!(
            lane.findings.wrong[0].starts_with(
                "sector 41 must hold generation [1], and holds what begins like sector 40 of generation 1; byte 20992 of the \
                 disk must be 0x29 and is 0x28, and so are "
            ),
            "{}",
            lane.findings.wrong[0]
        );
        let (must, holds, offset) = (last[0], !last[0], 600 * 512 + 511);
        let named =
            format!("byte {offset} of the disk must be {must:#04x} and is {holds:#04x}, and so are 0 more");
        assert!(lane.findings.wrong[1].contains(&named), "{}", lane.findings.wrong[1]);
    }

    #[test]
    fn after_a_failed_write_old_and_new_are_right_until_one_was_seen() {
        let device = device("failed");
        let mut lane = Lane::new(&device, 0..1, &trial(true));
        lane.fill();
        lane.remember(3, 99, false);
        let mut bytes = [0; 512];
        lane.content(3, 99, &mut bytes);
        lane.check(3, &bytes);
        assert_eq!(lane.findings.wrong_sectors, 0);
        lane.content(3, 1, &mut bytes);
        lane.check(3, &bytes);
        assert_eq!(lane.findings.wrong_sectors, 1, "the old content came back");
    }

    #[test]
    fn what_was_discarded_is_zero_or_anything_as_was_promised() {
        for (zeroes, wrong) in [(true, 1), (false, 0)] {
            let device = device("discarded");
            let mut lane = Lane::new(&device, 0..1, &trial(zeroes));
            lane.fill();
            let discarded = lane.discarded;
            lane.remember(5, discarded, true);
            lane.check_all();
            assert_eq!(lane.findings.wrong_sectors, wrong, "{zeroes}");
            lane.act(LaneAct::Write, &(5..6));
            lane.device.file.write_all_at(&[1; 512], 5 * 512).expect("room");
            lane.check_all();
            assert_eq!(lane.findings.wrong_sectors, wrong + 1, "a write ends that it may be anything");
        }
    }

    #[test]
    fn what_is_written_in_order_is_right_and_what_takes_any_order_is_not() {
        let device = TrialDisk { takes: Takes::InOrder, chunk: 4 * CHUNK, ..device("order") };
        let mut lane = Lane::new(&device, 1..2, &trial(true));
        lane.fill();
        // A file has no zones to reset, and takes what is out of order.
        assert_eq!((lane.written.clone(), lane.findings.errors), (vec![4 * CHUNK; 2], 0));
        lane.written[0] = 100;
        let next = lane.whole(0).start + 100;
        lane.must_refuse(next + 1..next + 2);
        (0..200).for_each(|_| lane.step_in_order());
        assert_eq!(lane.findings.wrong_sectors, 0, "{:?}", lane.findings.wrong);
        let wrong = lane.findings.wrong.join(" ");
        assert!(wrong.contains("was taken, and it is not the next of its zone"), "{wrong}");
        assert!(wrong.contains("a reset of sectors") && wrong.contains("failed"), "{wrong}");
    }

    #[test]
    fn a_read_only_disk_that_changes_is_found() {
        let device = TrialDisk { takes: Takes::None, ..device("fixed") };
        let mut lane = Lane::new(&device, 0..1, &trial(true));
        lane.fill();
        (0..50).for_each(|_| lane.step());
        assert_eq!((lane.findings.wrong_sectors, lane.findings.writes), (0, 0));
        device.file.write_all_at(&[7; 512], 70 * 512).expect("room");
        lane.check_all();
        let expected = "sector 70 of the read-only disk has changed: now it holds bytes of 0x07 only";
        assert_eq!(lane.findings.wrong, [expected]);
    }

    #[test]
    fn io_that_touches_a_bad_sector_must_fail() {
        let device = device("bad");
        let mut lane = Lane::new(&device, 0..1, &trial(true));
        lane.bad = Some(10..12);
        lane.act(LaneAct::Read, &(8..11));
        assert_eq!(lane.findings.wrong, ["a read of sectors 8 to 10 touches bad sectors and did not fail"]);
        lane.act(LaneAct::Read, &(12..13));
        assert_eq!(lane.findings.wrong.len(), 1);
        assert!(!lane.ended(LaneAct::Write, &(11..12), &Err(io::Error::from_raw_os_error(libc::EIO)), 512));
        assert_eq!((lane.findings.refused, lane.findings.errors), (1, 0));
    }
}

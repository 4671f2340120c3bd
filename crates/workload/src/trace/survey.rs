//! What is in a trace? One pass over it, before it is replayed.

use std::io::BufRead;

use iostack_model::{Bytes, Direction, Nanos};

use super::{Disks, TraceError, TraceFormat, TraceOptions, open_with};

/// Disks that are laid one after the other begin at multiples of this.
const ALIGN: u64 = 1 << 20;

/// I/Os of a trace on one disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskSeen {
    /// Name that the trace gives the disk.
    pub name: String,
    /// I/Os by direction.
    pub ios: [u64; 3],
    /// Bytes by direction.
    pub bytes: [u64; 3],
    /// Number of flushes.
    pub flushes: u64,
    /// First byte behind all that was touched.
    pub end: u64,
}

/// I/Os of a trace on all disks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Each disk, in the order in which they were met.
    pub disks: Vec<DiskSeen>,
    /// Time from the first I/O to the last.
    pub span: Nanos,
    /// Reads and writes of no bytes, which are left out.
    pub empty: u64,
}

/// Reads a trace to its end.
pub fn survey(reader: Box<dyn BufRead>, format: TraceFormat, name: &str) -> Result<Survey, TraceError> {
    let options = TraceOptions { disks: Disks::Each, ..TraceOptions::default() };
    let mut trace = open_with(reader, format, name, options);
    let mut found = Survey::default();
    while let Some(located) = trace.next_located() {
        let located = located?;
        let number = located.disk as usize;
        // Disks are numbered as they stand in the file, which may not be the order of their times.
        if found.disks.len() <= number {
            found.disks.resize_with(number + 1, DiskSeen::default);
        }
        let disk = &mut found.disks[number];
        found.span = located.io.at;
        if located.io.flush {
            disk.flushes += 1;
            continue;
        }
        let direction = located.io.direction as usize;
        disk.ios[direction] += 1;
        disk.bytes[direction] += u64::from(located.io.length);
        disk.end = disk.end.max(located.io.offset + u64::from(located.io.length));
    }
    found.disks.resize_with(trace.disks().len(), DiskSeen::default);
    for (disk, name) in found.disks.iter_mut().zip(trace.disks()) {
        disk.name.clone_from(name);
    }
    found.empty = trace.empty();
    Ok(found)
}

impl Survey {
    /// All I/Os, without flushes.
    pub fn ios(&self) -> u64 {
        self.disks.iter().flat_map(|disk| disk.ios).sum()
    }

    /// All disks one after the other, in the order of their names (numbers in theirs), each from a multiple of 1 MiB; one
    /// disk as it is.
    pub fn laid(&self) -> Disks {
        if self.disks.len() == 1 {
            return Disks::One;
        }
        let mut list = Vec::new();
        let mut base = 0u64;
        for disk in self.sorted() {
            list.push((disk.name.clone(), base));
            base = base.saturating_add(disk.end).div_ceil(ALIGN).saturating_mul(ALIGN);
        }
        Disks::Laid(list)
    }

    /// Bytes that a device must have to hold them so.
    pub fn size(&self) -> Bytes {
        let rounded = |end: u64| end.div_ceil(ALIGN).saturating_mul(ALIGN);
        let sizes = self.sorted().into_iter().map(|disk| disk.end);
        Bytes(sizes.fold(0, |base: u64, end| rounded(base).saturating_add(end)))
    }

    fn sorted(&self) -> Vec<&DiskSeen> {
        let mut disks: Vec<&DiskSeen> = self.disks.iter().collect();
        let numbers = |name: &str| -> Vec<u64> {
            name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
        };
        let words = |name: &str| name.replace(|c: char| c.is_ascii_digit(), "");
        disks.sort_by_cached_key(|disk| (words(&disk.name), numbers(&disk.name), disk.name.clone()));
        disks
    }
}

const _: () = assert!(Direction::Read as usize == 0 && Direction::Trim as usize == 2);

//! What merging does on the lab's `tmerge`: a group of the library's is one command, and hybrid temporal merge gathers those who
//! come back, and nobody else.
//!
//! The far side of a trial of `iostack lab test`: it runs in the guest, in virtual time, so that what it counts repeats.

use std::fs;
use std::io;
use std::sync::Barrier;

use iostack_lab::guest::{self, Findings, Message, Ready};
use iostack_merge::{Backend, Buffer, File, ManyError, Options, Policy};
use serde_json::{Value, json};

/// Key that tells this order from a job.
const NAME: &str = "merging";

const BLOCK: usize = 4096;

/// Requests of the largest group.
const GROUP_MAX: usize = 64;

/// Reads of each thread.
const READS: usize = 50;

/// The order for the far side.
pub(super) fn order() -> Value {
    json!({ NAME: true })
}

/// True when the order is this one.
pub(super) fn is_meant(order: &Value) -> bool {
    order.get(NAME).is_some()
}

/// The far side: tries all, and tells the findings.
pub(super) fn run(ready: &Ready) -> Result<(), String> {
    let device = TmergeDevice { ready };
    let mut findings = Findings::default();
    parameter("batch_max", GROUP_MAX as u64)?;
    // The processor shall not be what callers wait for: an instruction is a nanosecond here.
    parameter("fixed_ns", 26_400)?;
    parameter("host_ns", 85_600)?;
    parameter("per_page_ns", 93_600)?;
    groups(&device, &mut findings)?;
    refusal(&device, &mut findings)?;
    for subsystem in ["sync_poll", "hybrid"] {
        alone(&device, subsystem, &mut findings)?;
    }
    together(&device, &mut findings)?;
    let value = serde_json::to_value(&findings).map_err(|error| error.to_string())?;
    guest::tell(&Message::Value { name: "findings".to_owned(), value });
    Ok(())
}

/// The driver's files.
struct TmergeDevice<'a> {
    ready: &'a Ready,
}

impl TmergeDevice<'_> {
    fn open(&self, backend: Backend) -> Result<File, String> {
        // By plain calls each request of a group would go alone.
        let policy = if backend == Backend::Pread { Policy::Pread } else { Policy::Ring };
        let options = Options { policy, backend, write: true, direct: true, ..Options::default() };
        options.open(&self.ready.path).map_err(|error| format!("cannot open with {backend}: {error}"))
    }

    fn path(&self, name: &str) -> String {
        format!("/sys/block/{}/tmerge/{name}", self.ready.disk)
    }

    fn put(&self, name: &str, text: &str) -> Result<(), String> {
        put(&self.path(name), text)
    }

    fn get(&self, name: &str) -> Result<String, String> {
        let path = self.path(name);
        fs::read_to_string(&path).map_err(|error| format!("cannot read `{path}`: {error}"))
    }

    fn commands(&self) -> Result<u64, String> {
        let text = self.get("commands")?;
        text.trim().parse().map_err(|_| format!("`commands` holds no number: {text}"))
    }
}

fn parameter(name: &str, value: u64) -> Result<(), String> {
    put(&format!("/sys/module/tmerge/parameters/{name}"), &value.to_string())
}

fn put(path: &str, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write `{text}` to `{path}`: {error}"))
}

/// Content of the block at this offset after this round.
fn pattern(offset: u64, round: usize) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    for (index, word) in block.chunks_exact_mut(8).enumerate() {
        word.copy_from_slice(&(offset ^ (round as u64) << 48 ^ (index as u64) << 36).to_le_bytes());
    }
    block
}

/// Offsets of a group: far apart, none twice.
fn offsets(count: usize, round: usize) -> Vec<u64> {
    (0..count).map(|index| ((index * 101 + round * 7) % 4096 * BLOCK) as u64).collect()
}

/// Groups of every size: one command each, and each buffer gets its own block.
fn groups(device: &TmergeDevice<'_>, findings: &mut Findings) -> Result<(), String> {
    let (merging, plain) = (device.open(Backend::Tmerge)?, device.open(Backend::Pread)?);
    let said = |error: ManyError| format!("a group failed: {error}");
    for count in 1..=GROUP_MAX {
        let (mut from, mut to) = (Buffer::new(count * BLOCK), Buffer::new(count * BLOCK));
        let offsets = offsets(count, count);
        for (block, offset) in from.chunks_exact_mut(BLOCK).zip(&offsets) {
            block.copy_from_slice(&pattern(*offset, count));
        }
        let before = device.commands()?;
        let list: Vec<(u64, &[u8])> = offsets.iter().copied().zip(from.chunks_exact(BLOCK)).collect();
        merging.write_many(&list).map_err(said)?;
        let written = device.commands()?;
        let mut list: Vec<(u64, &mut [u8])> =
            offsets.iter().copied().zip(to.chunks_exact_mut(BLOCK)).collect();
        merging.read_many(&mut list).map_err(said)?;
        let read = device.commands()?;
        if (written - before, read - written) != (1, 1) {
            let (writes, reads) = (written - before, read - written);
            findings.wrong.push(format!("a group of {count}: {writes} commands to write, {reads} to read"));
        }
        let mut own = Buffer::new(BLOCK);
        for (block, offset) in to.chunks_exact(BLOCK).zip(&offsets) {
            plain
                .read_exact_at(&mut own, *offset)
                .map_err(|error| format!("a plain read failed: {error}"))?;
            let right = pattern(*offset, count);
            findings.wrong_sectors += u64::from(block != right) * 8 + u64::from(own[..] != right) * 8;
        }
        findings.reads += count as u64;
        findings.writes += count as u64;
        findings.bytes += (2 * count * BLOCK) as u64;
        findings.cycles += 2;
    }
    if findings.wrong_sectors > 0 {
        findings.wrong.push(format!("{} sectors of groups are wrong", findings.wrong_sectors));
    }
    Ok(())
}

/// A bad sector fails the request that touches it, and no other of its group.
fn refusal(device: &TmergeDevice<'_>, findings: &mut Findings) -> Result<(), String> {
    const BAD: usize = 3;
    let merging = device.open(Backend::Tmerge)?;
    let (mut to, offsets) = (Buffer::new(8 * BLOCK), offsets(8, GROUP_MAX));
    parameter("fail_first_lba", offsets[BAD] / 512 + 5)?;
    parameter("fail_lba_count", 1)?;
    let mut list: Vec<(u64, &mut [u8])> = offsets.iter().copied().zip(to.chunks_exact_mut(BLOCK)).collect();
    let result = merging.read_many(&mut list);
    parameter("fail_lba_count", 0)?;
    let failed: Vec<(usize, Option<i32>)> = match &result {
        Ok(()) => Vec::new(),
        Err(error) => error.failures.iter().map(|(index, error)| (*index, error.raw_os_error())).collect(),
    };
    if failed != [(BAD, Some(libc::ENODATA))] {
        findings
            .wrong
            .push(format!("with a bad sector in request {BAD} of a group, these failed: {failed:?}"));
    }
    let kept = |(index, (block, offset)): (usize, (&[u8], &u64))| {
        index == BAD || *block == pattern(*offset, GROUP_MAX)
    };
    if !to.chunks_exact(BLOCK).zip(&offsets).enumerate().all(kept) {
        findings.wrong.push("beside a bad sector, others of the group got wrong data".to_owned());
    }
    findings.refused += failed.len() as u64;
    Ok(())
}

/// One caller: a command for each of its requests, under hybrid as under plain polling.
fn alone(device: &TmergeDevice<'_>, subsystem: &str, findings: &mut Findings) -> Result<(), String> {
    let sizes = gathered(device, subsystem, 1, findings)?;
    if sizes != [(1, READS as u64)] {
        findings.wrong.push(format!("{subsystem}: one caller's {READS} reads: commands of {sizes:?}"));
    }
    Ok(())
}

/// Eight callers under hybrid: all but the first and last commands take all eight.
fn together(device: &TmergeDevice<'_>, findings: &mut Findings) -> Result<(), String> {
    const CALLERS: usize = 8;
    let sizes = gathered(device, "hybrid", CALLERS, findings)?;
    let whole = sizes.iter().find(|(size, _)| *size == CALLERS as u64).map_or(0, |(_, count)| *count);
    if whole < READS as u64 * 9 / 10 {
        findings.wrong.push(format!("hybrid: {CALLERS} callers of {READS} reads: commands of {sizes:?}"));
    }
    Ok(())
}

/// Commands of so many callers, by the number of requests in them.
fn gathered(
    device: &TmergeDevice<'_>,
    subsystem: &str,
    count: usize,
    findings: &mut Findings,
) -> Result<Vec<(u64, u64)>, String> {
    device.put("subsystem", subsystem)?;
    device.put("reset", "1")?;
    callers(device, count)?;
    findings.reads += (count * READS) as u64;
    let text = device.get("batch_histogram")?;
    let pair = |line: &str| {
        let (size, count) = line.split_once(' ')?;
        Some((size.parse().ok()?, count.parse().ok()?))
    };
    text.lines().map(|line| pair(line).ok_or_else(|| format!("`batch_histogram` has `{line}`"))).collect()
}

/// Threads that each read one block after the other.
fn callers(device: &TmergeDevice<'_>, count: usize) -> Result<(), String> {
    let file = device.open(Backend::Pread)?;
    let all: Vec<Vec<u64>> = (0..READS).map(|round| offsets(count, round)).collect();
    let start = Barrier::new(count);
    let caller = |number: usize| -> io::Result<()> {
        let mut block = Buffer::new(BLOCK);
        start.wait();
        all.iter().try_for_each(|round| file.read_exact_at(&mut block, round[number]))
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|number| scope.spawn(move || caller(number))).collect();
        let ended = threads.into_iter().map(|thread| thread.join().expect("a caller does not panic"));
        ended.collect::<io::Result<()>>().map_err(|error| format!("a read failed: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_touches_no_block_twice_and_patterns_differ() {
        for round in 1..=GROUP_MAX {
            let mut all = offsets(GROUP_MAX, round);
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), GROUP_MAX);
        }
        assert_ne!(pattern(4096, 1), pattern(8192, 1));
        assert_ne!(pattern(4096, 1), pattern(4096, 2));
    }
}

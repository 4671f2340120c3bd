//! What can this disk be held to?
//!
//! A driver that nobody knows may make a disk that cannot be written, or only in order, or that keeps nothing. To call its
//! sectors wrong one by one would say less.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use super::super::Ready;
use super::super::near_side::failed;
use super::super::region::ALIGNMENT;
use super::super::region::{is_zoned, number};
use super::asked::Findings;

/// Blocks that are written and read again.
const BLOCKS: u64 = 3;

/// Promise of a disk to keep data.
#[derive(Debug, PartialEq)]
pub(super) enum Promise {
    /// Written data are read again.
    Keeps,
    /// The same, but it does not take every write, for a reason in these words.
    Some(&'static str),
    /// It does not say so, and keeps nothing.
    Forgets,
}

impl Promise {
    /// Asks the disk, and tries some blocks of it.
    pub(super) fn of_disk(ready: &Ready) -> Result<Promise, String> {
        if number(&ready.disk, "ro")? != 0 {
            return Ok(Promise::Some("the disk is read-only"));
        }
        if is_zoned(&ready.disk) {
            return Ok(Promise::Some("the disk is zoned and takes writes only in order"));
        }
        Ok(if forgets(ready)? { Promise::Forgets } else { Promise::Keeps })
    }

    /// Findings of a trial that was not begun.
    pub(super) fn findings(&self) -> Findings {
        let mut findings = Findings::default();
        match self {
            Promise::Keeps => {}
            Promise::Some(why) => findings.not_tried = Some((*why).to_owned()),
            Promise::Forgets => findings.wrong(format!(
                "the disk keeps nothing: {BLOCKS} blocks were written and none was read again; if it is meant to forget, \
                 try --trial reload alone"
            )),
        }
        findings
    }
}

/// True when blocks at its begin, middle and end are written and read without an error, and none holds what was written.
/// An error is for the trial itself to find.
fn forgets(ready: &Ready) -> Result<bool, String> {
    let (sectors, unit) = (number(&ready.disk, "size")?, number(&ready.disk, "queue/logical_block_size")?);
    let disk = File::options().read(true).write(true).custom_flags(libc::O_DIRECT).open(&ready.path);
    let disk = disk.map_err(failed("open", &ready.path))?;
    let mut memory = vec![0; unit as usize + ALIGNMENT];
    let first = memory.as_ptr().align_offset(ALIGNMENT);
    let block = &mut memory[first..first + unit as usize];
    let blocks = sectors * 512 / unit;
    for number in 0..BLOCKS {
        let offset = number * blocks.saturating_sub(1) / (BLOCKS - 1) * unit;
        let pattern = 0xA5 ^ number as u8;
        block.fill(pattern);
        if disk.write_at(block, offset).is_err() {
            return Ok(false);
        }
        block.fill(0);
        if disk.read_at(block, offset).is_err() || block.iter().all(|&byte| byte == pattern) {
            return Ok(false);
        }
    }
    Ok(true)
}

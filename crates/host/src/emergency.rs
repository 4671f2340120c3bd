//! What must still happen when there is no time: scratch files go, settings come back.
//!
//! A destructor does this in a normal end. A signal handler may not allocate or lock, so everything it needs is
//! prepared here beforehand: [`arm`] fills a cell, the ticket's drop disarms it, [`run`] does all that are armed.
//! A cell is used once; when all are used, the next run's sweep does the work instead.

use std::ffi::CString;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::sys;

const CELLS: usize = 512;

/// One thing to do.
#[derive(Debug)]
pub(crate) enum EmergencyAct {
    /// Remove a file.
    Unlink(CString),
    /// Write a setting back; when that worked its journal entry goes too.
    Restore { setting: CString, value: Vec<u8>, journal: CString },
}

struct Cell {
    armed: AtomicBool,
    act: OnceLock<EmergencyAct>,
}

static TABLE: [Cell; CELLS] = [const { Cell { armed: AtomicBool::new(false), act: OnceLock::new() } }; CELLS];
static USED: AtomicUsize = AtomicUsize::new(0);

/// Keeps an act armed until it is dropped.
#[derive(Debug)]
pub(crate) struct Ticket(usize);

impl Drop for Ticket {
    fn drop(&mut self) {
        TABLE[self.0].armed.store(false, Ordering::SeqCst);
    }
}

/// Prepares `act`; `None` when all cells are used up.
pub(crate) fn arm(act: EmergencyAct) -> Option<Ticket> {
    let index =
        USED.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |used| (used < CELLS).then_some(used + 1));
    let index = index.ok()?;
    // The index is ours alone, so the cell is empty and `set` cannot fail.
    TABLE[index].act.set(act).ok()?;
    TABLE[index].armed.store(true, Ordering::SeqCst);
    Some(Ticket(index))
}

/// Exit code of `iostack` when it could not do what was asked.
const EXIT_FAILED: i32 = 2;

/// Ends the process when there is no memory for `size` bytes more. Allocates nothing.
#[cold]
pub(crate) fn out_of_memory(size: usize) -> ! {
    run();
    let mut digits = [0; 20];
    sys::say_raw(b"\niostack: there is no memory for ");
    sys::say_raw(decimal(size, &mut digits));
    sys::say_raw(
        b" bytes more; ask for less (threads, queue depth, block size, a smaller simulated device), or raise \
          the limit (`ulimit -v`, the container's)\n",
    );
    sys::exit_raw(EXIT_FAILED);
}

fn decimal(mut number: usize, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}

/// Does everything that is armed, the latest first. Async-signal-safe: loads of atomics and raw system calls only.
pub(crate) fn run() {
    let used = USED.load(Ordering::SeqCst).min(CELLS);
    for cell in TABLE[..used].iter().rev() {
        if !cell.armed.swap(false, Ordering::SeqCst) {
            continue;
        }
        match cell.act.get() {
            Some(EmergencyAct::Unlink(path)) => sys::unlink_raw(path),
            Some(EmergencyAct::Restore { setting, value, journal }) if sys::write_raw(setting, value) => {
                sys::unlink_raw(journal);
            }
            // A setting that could not be written keeps its journal entry, which the next run reads.
            Some(EmergencyAct::Restore { .. }) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_without_memory() {
        for number in [0, 9, 10, 12_345, usize::MAX] {
            assert_eq!(decimal(number, &mut [0; 20]), number.to_string().as_bytes());
        }
    }
}

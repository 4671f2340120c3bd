//! Hybrid temporal merge: whoever waits gathers, callers and the kernel's threads alike.
//!
//! ```text
//!   drive    │ c │ x x x x x x x │ c │ x x x x x │ c │ ..      busy but for one look between two commands
//!   winner   ring, poll ─────────► hand out │ ..
//!   heir         prepare │ spin, others join │ ring, poll ─► ..
//! ```
//!
//! The first that comes while a command is in the drive is the *heir*: it prepares the next command, waits awake, and takes all
//! that came by then the moment the drive is free. So what the host does for a command is hidden behind the one before it, and
//! gathering costs the drive nothing. When it is free and callers are expected back sooner than another command would cost,
//! the heir holds the doorbell for them: [`iostack_batch::Gathering::hold_ns`]. Else it leaves half of the callers to the next
//! command, so that the drive works for one half while the other is on its way back. Callers who have nothing else to do are winners
//! and heirs themselves, as in `stm`; for those who go on with their program, such as delayed writes, two threads of the
//! kernel take turns, and no threshold and no timer plugs them, as they do in `atm`.

use super::policy::{Gather, Limits, Manner, Turn, Waits, all_like, moves_data};

/// See above.
pub(super) struct Hybrid {
    pub(super) limits: Limits,
}

impl Gather for Hybrid {
    fn turn(&self, waits: &Waits) -> Turn {
        let Some(first) = waits.first() else { return Turn::Nobody };
        if !first.stands {
            return Turn::Worker;
        }
        // Who is awake need not be woken; older ones ride with it.
        let awake = waits.waiting.iter().find(|each| each.stands && each.awake && !each.called);
        Turn::Thread(awake.unwrap_or(first).thread)
    }

    fn take(&self, waits: &Waits, who: Option<u32>, picked: &mut Vec<usize>) {
        let own = |each: &super::Waiting| who.map_or(!each.called, |who| each.stands && each.thread == who);
        let Some(own) = waits.waiting.iter().position(own) else { return };
        all_like(waits, own, waits.most, picked);
        if self.runs(waits, picked) > self.limits.batch {
            picked.clear();
            all_like(waits, own, self.limits.batch.min(waits.most), picked);
        }
    }

    fn manner(&self, waits: &Waits) -> Manner {
        if waits.blocks { Manner::Sleeps } else { Manner::Leaves }
    }

    fn stages(&self) -> bool {
        true
    }
}

impl Hybrid {
    /// Requests of the extended command: neighbours count once.
    fn runs(&self, waits: &Waits, picked: &[usize]) -> usize {
        if picked.len() <= self.limits.batch || !moves_data(waits.waiting[picked[0]].kind) {
            return picked.len();
        }
        let mut list: Vec<(u64, u64)> = picked
            .iter()
            .map(|&index| (waits.waiting[index].offset, u64::from(waits.waiting[index].length)))
            .collect();
        list.sort_unstable();
        let (mut runs, mut end, mut bytes) = (0, None, 0);
        for (offset, length) in list {
            if end != Some(offset) || bytes + length > self.limits.merge_bytes {
                (runs, bytes) = (runs + 1, 0);
            }
            (end, bytes) = (Some(offset + length), bytes + length);
        }
        runs
    }
}

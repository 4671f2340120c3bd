//! When did an I/O of a foreign process come back? At the exit of its call, unless its thread lost the CPU on the way.
//!
//! ```text
//!   record of an I/O ──► held, by lane ──► the next record of the lane, or the end ──► account
//!   record of a return ──► moves the exit of those held
//! ```

use std::collections::HashMap;

use super::account::Account;
use super::fold::{Bios, Stamps, whole};

/// An I/O whose thread may still be on its way back to user space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldIo {
    pub(crate) stamps: Stamps,
    pub(crate) bios: Bios,
    /// The thread's time ready without a CPU, up to the exit.
    pub(crate) preempted_ns: u64,
    /// Number of its process.
    pub(crate) process: u32,
    /// Place of its kind in [`iostack_model::CallKind::ALL`], and its bytes.
    pub(crate) kind: usize,
    pub(crate) bytes: u64,
}

impl HeldIo {
    fn count(&self, account: &mut Account) {
        let times = account.record(&self.stamps, self.bios);
        account.add_to_kind(self.kind, &times, self.bios.queued, self.bytes);
        account.add_to_process(self.process, whole(&self.stamps));
    }
}

/// The I/Os that each lane's last call handed over.
#[derive(Clone, Default)]
pub(crate) struct Held {
    lanes: HashMap<u64, Vec<HeldIo>>,
}

impl Held {
    /// One more; those of an earlier call have come back and are counted.
    pub(crate) fn take(&mut self, lane: u64, io: HeldIo, account: &mut Account) {
        let held = self.lanes.entry(lane).or_default();
        if held.first().is_some_and(|first| first.stamps.exit != io.stamps.exit) {
            held.drain(..).for_each(|io| io.count(account));
        }
        held.push(io);
    }

    /// The thread went on at `now`: what it was told to bring back at `exit` came then.
    pub(crate) fn returned(&mut self, lane: u64, exit: u64, now: u64, preempted_ns: u64) {
        let held = self.lanes.get_mut(&lane).into_iter().flatten();
        for io in held.filter(|io| io.stamps.exit == exit) {
            io.stamps.exit = now;
            io.stamps.preempted.after_ns += preempted_ns.saturating_sub(io.preempted_ns);
            io.preempted_ns = preempted_ns;
        }
    }

    /// Counts what is held, as it is known now.
    pub(crate) fn settle(&self, account: &mut Account) {
        self.lanes.values().flatten().for_each(|io| io.count(account));
    }
}

#[cfg(test)]
mod tests {
    use iostack_model::{Stage, Way};

    use super::*;
    use crate::stages::fold::fold;

    fn io(entry: u64, exit: u64) -> HeldIo {
        let stamps = Stamps { entry, exit, ..Stamps::default() };
        HeldIo { stamps, bios: Bios::default(), preempted_ns: 1_000, process: 7, kind: 1, bytes: 10 }
    }

    fn sums(account: &Account) -> (u64, u64) {
        let ways = account.ways();
        ways.first().map_or((0, 0), |way| (way.whole.count, way.whole.sum_ns))
    }

    #[test]
    fn an_io_is_counted_once_when_the_next_call_ends_or_at_the_end() {
        let (mut held, mut account) = (Held::default(), Account::default());
        held.take(3, io(10, 20), &mut account);
        held.take(3, io(12, 20), &mut account);
        assert_eq!(sums(&account), (0, 0), "both of one call may still be on their way");
        held.take(3, io(30, 70), &mut account);
        held.take(4, io(30, 35), &mut account);
        assert_eq!(sums(&account), (2, 18));
        held.settle(&mut account);
        assert_eq!(sums(&account), (4, 63));
    }

    #[test]
    fn each_process_of_a_tree_has_its_own_sums_under_its_last_name() {
        let (mut held, mut account) = (Held::default(), Account::default());
        let name = |text: &[u8; 8]| [u64::from_ne_bytes(*text), 0];
        for (process, text, exit) in
            [(7, b"sh\0\0\0\0\0\0", 20), (8, b"sh\0\0\0\0\0\0", 30), (8, b"dd\0\0\0\0\0\0", 60)]
        {
            account.name(process, name(text));
            held.take(u64::from(process), HeldIo { process, ..io(10, exit) }, &mut account);
        }
        held.take(9, HeldIo { process: 9, ..io(10, 90) }, &mut account);
        held.settle(&mut account);
        let told: Vec<_> =
            account.processes().into_iter().map(|row| (row.pid, row.name, row.ios, row.mean_ns)).collect();
        assert_eq!(
            told,
            [(8, "dd".to_owned(), 2, 35.0), (7, "sh".to_owned(), 1, 10.0)],
            "9 has no name: no tree"
        );
    }

    #[test]
    fn a_thread_that_lost_its_cpu_on_the_way_back_moves_the_exit_and_is_preempted() {
        let (mut held, mut account) = (Held::default(), Account::default());
        held.take(3, io(10, 20), &mut account);
        held.returned(3, 20, 150, 1_120);
        held.returned(3, 150, 160, 1_125);
        let Some(io) = held.lanes[&3].first().copied() else { panic!("it is held") };
        let times = fold(&io.stamps, Way::CacheHit);
        assert_eq!((times[Stage::Submit as usize], times[Stage::Preempted as usize]), (25, 125));
        held.take(3, io, &mut account);
        held.settle(&mut account);
        assert_eq!(sums(&account), (2, 300));
    }

    #[test]
    fn the_return_of_another_call_moves_nothing() {
        let (mut held, mut account) = (Held::default(), Account::default());
        held.take(3, io(10, 20), &mut account);
        held.returned(3, 19, 150, 1_120);
        held.returned(4, 20, 150, 1_120);
        held.settle(&mut account);
        assert_eq!(sums(&account), (1, 10));
    }
}

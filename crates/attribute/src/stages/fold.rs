//! Which stage took how long? Pure: from the stamps of one I/O to its stages.

use iostack_model::{Stage, Way};

use super::kernel::slot;

/// Moments at which things were seen to happen to one I/O, in ns of one clock; 0 was not seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamps {
    /// Time by which it started later than it was meant to.
    pub(crate) late_ns: u64,
    pub(crate) entry: u64,
    pub(crate) queue: u64,
    pub(crate) insert: u64,
    pub(crate) issue: u64,
    pub(crate) doorbell: u64,
    pub(crate) irq: u64,
    pub(crate) complete: u64,
    /// Moment at which its thread last went to sleep; then last woken, last put on a CPU.
    pub(crate) off: u64,
    pub(crate) waking: u64,
    pub(crate) on: u64,
    pub(crate) exit: u64,
    /// Time between its bios when none of them was out.
    pub(crate) gap_ns: u64,
    /// Time that its thread waited, ready, while another had the CPU.
    pub(crate) preempted: Cut,
    /// Asleep without a bio out, until the journal woke it.
    pub(crate) journal: Cut,
    /// Asleep without a bio out, until anything else woke it.
    pub(crate) wait: Cut,
    /// Woken and without a CPU, without a bio out.
    pub(crate) switched: Cut,
    /// Asleep while bios of it were out, none of which came back.
    pub(crate) beside_ns: u64,
}

/// Knowledge of the thread that an I/O came back to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Thread {
    pub(crate) off: u64,
    pub(crate) waking: u64,
    pub(crate) on: u64,
    pub(crate) exit: u64,
    /// Total time ready to run while another thread had the CPU, ns.
    pub(crate) preempted_ns: u64,
}

impl Stamps {
    /// Those of a slot, whose words `read` gives.
    pub(crate) fn of_slot(read: impl Fn(usize) -> u64, thread: &Thread) -> Stamps {
        let last = read(slot::PREEMPTED_LAST);
        let cut = |whole: u64, before_ns| Cut { before_ns, after_ns: whole.saturating_sub(before_ns) };
        let journal = cut(read(slot::JOURNAL), read(slot::JOURNAL_BEFORE));
        let slept = cut(read(slot::SLEPT), read(slot::SLEPT_BEFORE));
        Stamps {
            late_ns: 0,
            entry: read(slot::ENTRY),
            queue: read(slot::QUEUE),
            insert: read(slot::INSERT),
            issue: read(slot::ISSUE),
            doorbell: read(slot::DOORBELL),
            irq: read(slot::IRQ),
            complete: read(slot::COMPLETE),
            off: thread.off,
            waking: thread.waking,
            on: thread.on,
            exit: thread.exit,
            gap_ns: read(slot::GAP),
            preempted: Cut {
                before_ns: read(slot::PREEMPTED_BEFORE),
                after_ns: thread.preempted_ns.saturating_sub(last),
            },
            journal,
            beside_ns: read(slot::BESIDE),
            switched: cut(read(slot::SWITCHED), read(slot::SWITCHED_BEFORE)),
            wait: Cut {
                before_ns: slept.before_ns.saturating_sub(journal.before_ns),
                after_ns: slept.after_ns.saturating_sub(journal.after_ns),
            },
        }
    }
}

/// Time that is cut out of other stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Part before the last bio was queued.
    pub(crate) before_ns: u64,
    /// Part after the last bio came back; all of it without a bio.
    pub(crate) after_ns: u64,
}

/// Time in each stage, in the order of [`Stage::ALL`].
pub(crate) type StageTimes = [u64; Stage::ALL.len()];

/// Knowledge of an I/O beside its stamps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bios {
    /// Bios it made, and those of them that ended before it returned.
    pub(crate) queued: u64,
    pub(crate) ended: u64,
    /// It may not be answered from the page cache.
    pub(crate) direct: bool,
}

/// Way that an I/O went.
pub(crate) fn way(stamps: &Stamps, bios: Bios) -> Way {
    let slept = stamps.off > stamps.entry;
    match (bios.direct, bios.ended) {
        // A direct I/O that did not wait for all its bios has been mixed up with another.
        (true, 1..) if bios.ended >= bios.queued => Way::Device,
        (true, _) => Way::Unmatched,
        // A buffered I/O may leave read-ahead in flight behind it.
        (false, 1..) => Way::Device,
        (false, _) if slept => Way::CacheWait,
        (false, _) => Way::CacheHit,
    }
}

/// Cuts the time from the (intended) start to the exit into stages, without gap or overlap.
///
/// A stamp that was not seen, or lies out of order, makes its stage empty. Where a step does not exist at all, its
/// neighbours are put together so that the time stands where it belongs: a request that went past the scheduler ends
/// its [`Stage::Queue`] when it is issued, and what ends without an interrupt was in the device until its end.
pub(crate) fn fold(stamps: &Stamps, way: Way) -> StageTimes {
    const NONE: (Stage, u64) = (Stage::Return, 0);
    let seen = |stamp: u64, otherwise: u64| if stamp == 0 { otherwise } else { stamp };
    let marks = match way {
        Way::Device => [
            (Stage::Submit, stamps.queue),
            (Stage::Queue, seen(stamps.insert, stamps.issue)),
            (Stage::Schedule, stamps.issue),
            (Stage::Doorbell, seen_between(stamps)),
            (Stage::Device, seen(stamps.irq, stamps.complete)),
            (Stage::Complete, stamps.complete),
            (Stage::Wake, stamps.waking),
            (Stage::Switch, stamps.on),
        ],
        // The last sleep ends with the wake-up.
        Way::CacheWait => {
            let [submit, wake, switch] =
                [(Stage::Submit, stamps.off), (Stage::Wake, stamps.waking), (Stage::Switch, stamps.on)];
            [submit, wake, switch, NONE, NONE, NONE, NONE, NONE]
        }
        // All of it was a system call.
        Way::CacheHit => [(Stage::Submit, stamps.exit), NONE, NONE, NONE, NONE, NONE, NONE, NONE],
        Way::Unmatched => [NONE; 8],
    };
    let mut times = [0; Stage::ALL.len()];
    times[Stage::Late as usize] = stamps.late_ns;
    let mut at = stamps.entry;
    for (stage, stamp) in marks {
        if stamp > at && stamp <= stamps.exit {
            times[stage as usize] = stamp - at;
            at = stamp;
        }
    }
    times[Stage::Return as usize] = stamps.exit.saturating_sub(at);
    cut_out(&mut times, stamps, way);
    times
}

/// Moves what is known to lie in other stages to where it belongs. Nothing is added: what a stage has not cannot be moved.
fn cut_out(times: &mut StageTimes, stamps: &Stamps, way: Way) {
    let preempted = stamps.preempted;
    if way == Way::Device {
        // Without an issue seen, the whole of it is the device's.
        let left = give(times, Stage::Device, Stage::Submit, stamps.gap_ns);
        let _not_found = give(times, Stage::Queue, Stage::Submit, left);
    }
    let Cut { before_ns, after_ns } = stamps.wait;
    let beside = if way == Way::CacheWait { stamps.beside_ns } else { 0 };
    let wait = Cut { before_ns, after_ns: after_ns + beside };
    // The last wake-up has a stage already.
    let last = times[Stage::Switch as usize].min(stamps.switched.after_ns);
    let switched = Cut { after_ns: stamps.switched.after_ns - last, ..stamps.switched };
    for (stage, cut) in [(Stage::Journal, stamps.journal), (Stage::Wait, wait), (Stage::Switch, switched)] {
        let _not_found = give(times, Stage::Submit, stage, cut.before_ns);
        let left = give(times, Stage::Wake, stage, cut.after_ns);
        if way == Way::CacheWait {
            // Those before the last sleep.
            let _not_found = give(times, Stage::Submit, stage, left);
        }
    }
    let _not_found = give(times, Stage::Submit, Stage::Preempted, preempted.before_ns);
    let left = give(times, Stage::Return, Stage::Preempted, preempted.after_ns);
    if way != Way::Device {
        let _not_found = give(times, Stage::Submit, Stage::Preempted, left);
    }
}

/// Moves time from a stage to another; what the one has not is given back.
fn give(times: &mut StageTimes, from: Stage, to: Stage, time: u64) -> u64 {
    let moved = time.min(times[from as usize]);
    times[from as usize] -= moved;
    times[to as usize] += moved;
    time - moved
}

/// The end of the doorbell, unless the device answered before anything else was seen of the CPU.
fn seen_between(stamps: &Stamps) -> u64 {
    let end = if stamps.irq == 0 { stamps.complete } else { stamps.irq };
    if stamps.issue != 0 && stamps.doorbell < end { stamps.doorbell } else { 0 }
}

/// The whole that the stages add up to.
pub(crate) fn whole(stamps: &Stamps) -> u64 {
    stamps.late_ns + stamps.exit.saturating_sub(stamps.entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// xorshift: any stamps in any order, many of them missing.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }

        fn stamp(&mut self) -> u64 {
            if self.next().is_multiple_of(3) { 0 } else { 1_000 + self.next() % 1_000 }
        }

        fn span(&mut self) -> u64 {
            if self.next().is_multiple_of(2) { 0 } else { self.next() % 400 }
        }

        fn stamps(&mut self) -> Stamps {
            let entry = 1_000 + self.next() % 500;
            Stamps {
                late_ns: if self.next().is_multiple_of(2) { 0 } else { self.next() % 300 },
                entry,
                queue: self.stamp(),
                insert: self.stamp(),
                issue: self.stamp(),
                doorbell: self.stamp(),
                irq: self.stamp(),
                complete: self.stamp(),
                off: self.stamp(),
                waking: self.stamp(),
                on: self.stamp(),
                exit: entry + self.next() % 600,
                gap_ns: self.span(),
                preempted: Cut { before_ns: self.span(), after_ns: self.span() },
                journal: Cut { before_ns: self.span(), after_ns: self.span() },
                wait: Cut { before_ns: self.span(), after_ns: self.span() },
                switched: Cut { before_ns: self.span(), after_ns: self.span() },
                beside_ns: self.span(),
            }
        }
    }

    #[test]
    fn any_stamps_in_any_order_add_up_to_what_the_caller_waited() {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for round in 0..100_000 {
            let stamps = random.stamps();
            for way in Way::ALL {
                let times = fold(&stamps, way);
                assert_eq!(times.iter().sum::<u64>(), whole(&stamps), "round {round}: {stamps:?}");
            }
        }
    }

    const SEEN: Stamps = Stamps {
        late_ns: 5,
        entry: 100,
        queue: 110,
        insert: 130,
        issue: 160,
        doorbell: 200,
        irq: 300,
        complete: 310,
        off: 205,
        waking: 330,
        on: 360,
        exit: 400,
        gap_ns: 0,
        preempted: Cut { before_ns: 0, after_ns: 0 },
        journal: Cut { before_ns: 0, after_ns: 0 },
        wait: Cut { before_ns: 0, after_ns: 0 },
        switched: Cut { before_ns: 0, after_ns: 0 },
        beside_ns: 0,
    };

    #[test]
    fn an_io_seen_in_full_has_every_stage() {
        assert_eq!(fold(&SEEN, Way::Device), [5, 10, 20, 30, 40, 100, 10, 20, 30, 40, 0, 0, 0]);
    }

    #[test]
    fn a_device_without_requests_has_only_a_device_stage_between_queue_and_end() {
        let stamps = Stamps { insert: 0, issue: 0, doorbell: 250, irq: 0, waking: 0, on: 0, ..SEEN };
        assert_eq!(fold(&stamps, Way::Device), [5, 10, 0, 0, 0, 200, 0, 0, 0, 90, 0, 0, 0]);
    }

    #[test]
    fn a_request_past_the_scheduler_waits_in_no_schedule_stage() {
        let times = fold(&Stamps { insert: 0, ..SEEN }, Way::Device);
        assert_eq!((times[Stage::Queue as usize], times[Stage::Schedule as usize]), (50, 0));
    }

    #[test]
    fn a_wake_up_from_before_the_end_belongs_to_another_io() {
        let times = fold(&Stamps { waking: 290, ..SEEN }, Way::Device);
        assert_eq!((times[Stage::Wake as usize], times[Stage::Switch as usize]), (0, 50));
    }

    #[test]
    fn a_doorbell_after_the_answer_was_not_seen() {
        let times = fold(&Stamps { doorbell: 305, ..SEEN }, Way::Device);
        assert_eq!((times[Stage::Doorbell as usize], times[Stage::Device as usize]), (0, 140));
    }

    #[test]
    fn ways_follow_from_bios_and_sleep() {
        let awake = Stamps { off: 50, ..SEEN };
        let bios = |queued, ended, direct| Bios { queued, ended, direct };
        assert_eq!(way(&SEEN, bios(1, 1, true)), Way::Device);
        assert_eq!(way(&awake, bios(1, 1, true)), Way::Device, "polled, or a device that answers at once");
        assert_eq!(way(&SEEN, bios(0, 0, true)), Way::Unmatched);
        assert_eq!(way(&SEEN, bios(2, 1, true)), Way::Unmatched);
        assert_eq!(way(&SEEN, bios(2, 1, false)), Way::Device, "read-ahead is still in flight");
        assert_eq!(way(&SEEN, bios(1, 0, false)), Way::CacheWait);
        assert_eq!(way(&SEEN, bios(0, 0, false)), Way::CacheWait);
        assert_eq!(way(&awake, bios(0, 0, false)), Way::CacheHit);
        assert_eq!(way(&awake, bios(1, 0, false)), Way::CacheHit, "read-ahead only");
    }

    #[test]
    fn a_cache_hit_is_all_submission() {
        assert_eq!(fold(&SEEN, Way::CacheHit), [5, 300, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(fold(&SEEN, Way::CacheWait), [5, 105, 0, 0, 0, 0, 0, 125, 30, 40, 0, 0, 0]);
    }

    #[test]
    fn preemption_is_cut_out_of_the_way_down_and_the_way_back_and_no_further() {
        let cut = |before_ns, after_ns| Stamps { preempted: Cut { before_ns, after_ns }, ..SEEN };
        assert_eq!(fold(&cut(4, 25), Way::Device), [5, 6, 20, 30, 40, 100, 10, 20, 30, 15, 29, 0, 0]);
        assert_eq!(fold(&cut(10, 40), Way::Device), [5, 0, 20, 30, 40, 100, 10, 20, 30, 0, 50, 0, 0]);
        assert_eq!(fold(&cut(11, 41), Way::Device), fold(&cut(10, 40), Way::Device), "more than there is");
        assert_eq!(fold(&cut(0, 60), Way::CacheHit), [5, 240, 0, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0]);
        assert_eq!(fold(&cut(0, 60), Way::CacheWait), [5, 85, 0, 0, 0, 0, 0, 125, 30, 0, 60, 0, 0]);
    }

    #[test]
    fn the_wait_for_the_journal_is_neither_wake_nor_submit() {
        let cut = |before_ns, after_ns| Stamps { journal: Cut { before_ns, after_ns }, ..SEEN };
        assert_eq!(fold(&cut(3, 15), Way::Device), [5, 7, 20, 30, 40, 100, 10, 5, 30, 40, 0, 18, 0]);
        assert_eq!(fold(&cut(0, 125), Way::CacheWait), [5, 105, 0, 0, 0, 0, 0, 0, 30, 40, 0, 125, 0]);
    }

    #[test]
    fn time_between_bios_is_no_devices() {
        let stamps = Stamps { gap_ns: 60, ..SEEN };
        assert_eq!(fold(&stamps, Way::Device), [5, 70, 20, 30, 40, 40, 10, 20, 30, 40, 0, 0, 0]);
        let journal = Stamps { journal: Cut { before_ns: 50, after_ns: 0 }, ..stamps };
        assert_eq!(fold(&journal, Way::Device), [5, 20, 20, 30, 40, 40, 10, 20, 30, 40, 0, 50, 0]);
    }

    #[test]
    fn an_io_without_bios_that_sleeps_twice_waited_both_times() {
        let stamps = Stamps { wait: Cut { before_ns: 0, after_ns: 200 }, ..SEEN };
        assert_eq!(fold(&stamps, Way::CacheWait), [5, 30, 0, 0, 0, 0, 0, 0, 30, 40, 0, 0, 200]);
        let both = Stamps { journal: Cut { before_ns: 0, after_ns: 50 }, ..stamps };
        assert_eq!(fold(&both, Way::CacheWait), [5, 0, 0, 0, 0, 0, 0, 0, 30, 40, 0, 50, 180]);
    }

    #[test]
    fn sleeps_of_an_io_with_bios_are_cut_out_of_the_way_down_and_the_wake_up() {
        let stamps = Stamps { wait: Cut { before_ns: 4, after_ns: 15 }, ..SEEN };
        assert_eq!(fold(&stamps, Way::Device), [5, 6, 20, 30, 40, 100, 10, 5, 30, 40, 0, 0, 19]);
    }

    #[test]
    fn a_sleep_beside_bios_is_a_wait_where_none_of_them_came_back() {
        let stamps = Stamps { beside_ns: 25, ..SEEN };
        assert_eq!(fold(&stamps, Way::CacheWait), [5, 105, 0, 0, 0, 0, 0, 100, 30, 40, 0, 0, 25]);
        assert_eq!(fold(&stamps, Way::Device), fold(&SEEN, Way::Device));
    }

    #[test]
    fn each_wait_for_a_cpu_is_a_switch_and_the_last_is_told_once() {
        let stamps = Stamps { switched: Cut { before_ns: 4, after_ns: 35 }, ..SEEN };
        assert_eq!(fold(&stamps, Way::Device), [5, 6, 20, 30, 40, 100, 10, 15, 39, 40, 0, 0, 0]);
        assert_eq!(fold(&stamps, Way::CacheWait), [5, 101, 0, 0, 0, 0, 0, 120, 39, 40, 0, 0, 0]);
    }

    #[test]
    fn what_the_journal_woke_is_not_told_twice() {
        let read = |word| match word {
            slot::JOURNAL => 70,
            slot::JOURNAL_BEFORE => 20,
            slot::SLEPT => 100,
            slot::SLEPT_BEFORE => 30,
            _ => 0,
        };
        let stamps = Stamps::of_slot(read, &Thread::default());
        assert_eq!(stamps.wait, Cut { before_ns: 10, after_ns: 20 });
    }
}

//! What `explain` says of slices whose answer is known.

use iostack_model::answers::{DeviceEvent, IoKind, OwnedIo, Owner, SlowIo, WatchedDevice};

use super::*;

const SECOND: u64 = 1_000_000_000;

fn owner(name: &str, process: u32) -> Owner {
    Owner { process, name: name.to_owned(), cgroup: "/a".to_owned() }
}

/// A read that the device had for 20 ms, alone.
pub(in crate::watch) fn slow(name: &str, process: u32) -> SlowIo {
    SlowIo {
        owner: owner(name, process),
        how: OwnedHow::Itself,
        device: "vda".to_owned(),
        kind: IoKind::Read,
        bytes: 4096,
        ended_unix_ns: SECOND / 2,
        held_ns: 0,
        queue_ns: 1000,
        schedule_ns: 1000,
        device_ns: 20_000_000,
        in_flight: 0,
        ended_beside: Some(0),
        bytes_beside: 0,
        cpu: Some(1),
    }
}

/// A row of so many I/Os, each 1 ms in the device.
pub(in crate::watch) fn neighbour(name: &str, process: u32, ios: u64) -> OwnedIo {
    OwnedIo {
        owner: owner(name, process),
        how: OwnedHow::Itself,
        device: "vda".to_owned(),
        kind: IoKind::Write,
        ios,
        bytes: ios * 4096,
        queue_ns: 0,
        device_ns: ios * 1_000_000,
        slowest_ns: 1_000_000,
    }
}

fn sleep(stack: &[&str]) -> LongSleep {
    LongSleep {
        owner: owner("db", 7),
        thread: 8,
        kernel: false,
        ended_unix_ns: SECOND / 2,
        slept_ns: 30_000_000,
        runnable_ns: 1000,
        waker: "jbd2/vda-8".to_owned(),
        behind: "swapper/0".to_owned(),
        stack: stack.iter().map(|name| (*name).to_owned()).collect(),
        waker_stack: Vec::new(),
    }
}

fn cause(slice: WatchSlice) -> (WaitCause, bool, String) {
    let slice = WatchSlice { ended_unix_ns: SECOND, elapsed: Nanos::secs(1), ..slice };
    let explained = explain(&[slice], 10);
    let finding = &explained.findings[0];
    (finding.cause, finding.sure, finding.evidence.join(" "))
}

fn of_slow(io: SlowIo, ios: Vec<OwnedIo>) -> (WaitCause, bool) {
    let (cause, sure, _) = cause(WatchSlice { slow: vec![io], ios, ..WatchSlice::default() });
    (cause, sure)
}

#[test]
fn the_stage_that_took_more_than_half_is_the_cause() {
    let alone = slow("db", 7);
    assert_eq!(of_slow(alone.clone(), vec![]), (WaitCause::Device, true));
    let stage = |held_ns, queue_ns, schedule_ns| SlowIo { held_ns, queue_ns, schedule_ns, ..alone.clone() };
    assert_eq!(of_slow(stage(21_000_000, 0, 0), vec![]), (WaitCause::CgroupLimit, true));
    assert_eq!(of_slow(stage(0, 21_000_000, 0), vec![]), (WaitCause::Unknown, false));
    let gathered = |how| of_slow(SlowIo { how, ..stage(0, 21_000_000, 0) }, vec![]).0;
    let hows = [OwnedHow::WriteBack, OwnedHow::Journal, OwnedHow::Work, OwnedHow::IoWorker];
    let causes = [WaitCause::WriteBack, WaitCause::Journal, WaitCause::Worker, WaitCause::Unknown];
    assert_eq!(hows.map(gathered), causes, "in a plug");
    assert_eq!(of_slow(stage(0, 0, 21_000_000), vec![]), (WaitCause::Device, true), "there is no scheduler");
    assert_eq!(of_slow(stage(20_000_000, 0, 0), vec![]).0, WaitCause::Device, "half is not more than half");
}

#[test]
fn a_queue_is_a_neighbours_only_when_the_neighbours_have_three_times_the_own_device_time() {
    let queued = SlowIo { in_flight: 4, ended_beside: Some(2), ..slow("db", 7) };
    let rows = |own, other| vec![neighbour("db", 7, own), neighbour("dd", 9, other)];
    assert_eq!(of_slow(queued.clone(), rows(10, 31)), (WaitCause::Neighbour, true));
    assert_eq!(of_slow(queued.clone(), rows(10, 30)), (WaitCause::OwnQueue, false));
    assert_eq!(of_slow(queued.clone(), vec![neighbour("db", 7, 10)]), (WaitCause::OwnQueue, true));
    let stuck = SlowIo { ended_beside: Some(1), ..queued.clone() };
    assert_eq!(of_slow(stuck, rows(10, 31)), (WaitCause::Neighbour, false), "its device did not do them");
    // Five ended in a time in which 42 would be the mean, and 172,861 bytes.
    let paced = |bytes_beside| {
        let io = SlowIo { ended_beside: Some(5), bytes_beside, ..queued.clone() };
        of_slow(io, rows(10, 2100))
    };
    assert_eq!(paced(22 << 10), (WaitCause::Neighbour, true));
    assert_eq!(paced(21 << 10), (WaitCause::Neighbour, false), "it did less than an eighth of its mean");
    let shallow = SlowIo { in_flight: 3, ..queued };
    assert_eq!(of_slow(shallow, rows(10, 31)), (WaitCause::Device, false), "there was no queue");
}

#[test]
fn a_flush_beside_it_counts_by_the_time_both_share() {
    let beside = |took_ns, device: &str| {
        let event = DeviceEvent {
            device: device.to_owned(),
            kind: IoKind::Flush,
            ended_unix_ns: SECOND / 2,
            took_ns,
            bytes: 0,
            owner: None,
        };
        let slice = WatchSlice { slow: vec![slow("db", 7)], events: vec![event], ..WatchSlice::default() };
        let (cause, sure, _) = cause(slice);
        (cause, sure)
    };
    assert_eq!(beside(20_000_000, "vda"), (WaitCause::Flush, true));
    assert_eq!(beside(12_000_000, "vda"), (WaitCause::Flush, false));
    assert_eq!(beside(10_000_000, "vda").0, WaitCause::Device, "half is not more than half");
    assert_eq!(beside(20_000_000, "vdb").0, WaitCause::Device);
}

#[test]
fn a_cpu_that_ends_ios_is_busy_when_interrupts_have_more_than_half_of_it() {
    let on_cpu = |cpu, busy_ms: u64| {
        let interrupts_ns = vec![1_000_000_000, busy_ms * 1_000_000];
        let slow = vec![SlowIo { cpu, ..slow("db", 7) }];
        cause(WatchSlice { slow, interrupts_ns, ..WatchSlice::default() }).0
    };
    let causes = [on_cpu(Some(1), 501), on_cpu(Some(1), 500), on_cpu(Some(2), 501), on_cpu(None, 501)];
    assert_eq!(causes, [WaitCause::Interrupts, WaitCause::Device, WaitCause::Device, WaitCause::Device]);
}

#[test]
fn a_device_stands_still_when_it_does_an_eighth_of_its_mean_with_ios_waiting() {
    let beside = |in_flight, ended| {
        // 64 in the second are 800 of the mean in 20 ms.
        let rows = vec![neighbour("dd", 9, 40_000)];
        of_slow(SlowIo { in_flight, ended_beside: Some(ended), ..slow("db", 7) }, rows)
    };
    assert_eq!(beside(4, 0), (WaitCause::Dip, true));
    assert_eq!(beside(3, 3), (WaitCause::Dip, false));
    assert_eq!(beside(99, 99), (WaitCause::Dip, true));
    assert_eq!(beside(100, 100).0, WaitCause::Neighbour, "an eighth is not less than an eighth");
    assert_eq!(beside(4, 5).0, WaitCause::Neighbour, "it did those before it, and more");
    assert_eq!(beside(0, 0), (WaitCause::Device, true), "nobody waited");
}

#[test]
fn the_device_below_and_the_threads_between_explain_the_device_above() {
    let above = SlowIo { device: "loop1".to_owned(), ..slow("db", 7) };
    let device =
        WatchedDevice { name: "loop1".to_owned(), below: vec!["vda".to_owned()], ..WatchedDevice::default() };
    let with = |lower: Option<SlowIo>, worker_ns: u64| {
        let worker = LongSleep { kernel: true, slept_ns: 0, runnable_ns: worker_ns, ..sleep(&[]) };
        cause(WatchSlice {
            slow: lower.into_iter().chain([above.clone()]).collect(),
            sleeps: vec![worker],
            devices: vec![device.clone()],
            ..WatchSlice::default()
        })
    };
    let lower = |held_ns, device_ns| SlowIo { how: OwnedHow::Work, held_ns, device_ns, ..slow("db", 7) };
    let told = |(cause, sure, _): (WaitCause, bool, String)| (cause, sure);
    assert_eq!(told(with(Some(lower(16_100_000, 0)), 0)), (WaitCause::CgroupLimit, true));
    assert_eq!(told(with(Some(lower(12_000_000, 0)), 0)), (WaitCause::CgroupLimit, false));
    assert_eq!(
        told(with(Some(SlowIo { device: "vdb".to_owned(), ..lower(16_100_000, 0) }), 0)).0,
        WaitCause::Device
    );
    assert_eq!(told(with(None, 10_000_501)), (WaitCause::Worker, false));
    assert_eq!(told(with(None, 10_000_500)).0, WaitCause::Device, "half is not more than half");
}

#[test]
fn what_lay_before_the_issue_is_explained_by_where_its_thread_slept() {
    let waiting = SlowIo { queue_ns: 30_000_000, device_ns: 1000, schedule_ns: 0, ..slow("db", 7) };
    let with = |function: &str, process, scheduler: &str, in_flight| {
        let sleep = LongSleep { owner: owner("db", process), ..sleep(&[function]) };
        let (name, scheduler) = ("vda".to_owned(), scheduler.to_owned());
        let (cause, sure, _) = cause(WatchSlice {
            slow: vec![SlowIo { in_flight, ..waiting.clone() }],
            sleeps: vec![sleep],
            devices: vec![WatchedDevice { name, scheduler, ..WatchedDevice::default() }],
            ..WatchSlice::default()
        });
        (cause, sure)
    };
    assert_eq!(with("blk_mq_get_tag", 7, "mq-deadline", 3), (WaitCause::Tag, false), "it may stand still");
    assert_eq!(with("blk_mq_get_tag", 7, "bfq", 3), (WaitCause::Scheduler, false));
    assert_eq!(with("blk_mq_get_tag", 7, "bfq", 4), (WaitCause::Tag, false), "somebody has a queue");
    assert_eq!(with("wbt_wait", 7, "", 0), (WaitCause::Scheduler, true));
    assert_eq!(with("blk_mq_get_tag", 8, "", 0), (WaitCause::Unknown, false), "another's sleep");
}

#[test]
fn a_scheduler_is_sure_only_where_there_is_one_and_no_queue() {
    let lay = SlowIo { schedule_ns: 30_000_000, ..slow("db", 7) };
    let with = |scheduler: &str, in_flight| {
        let device = WatchedDevice {
            name: "vda".to_owned(),
            scheduler: scheduler.to_owned(),
            ..WatchedDevice::default()
        };
        let slow = SlowIo { in_flight, ..lay.clone() };
        let (cause, sure, _) =
            cause(WatchSlice { slow: vec![slow], devices: vec![device], ..WatchSlice::default() });
        (cause, sure)
    };
    assert_eq!(with("bfq", 3), (WaitCause::Scheduler, true));
    assert_eq!(with("bfq", 4), (WaitCause::OwnQueue, false), "there is a queue");
    assert_eq!(with("", 3).0, WaitCause::Device);
}

#[test]
fn a_wait_for_ios_that_came_from_behind_a_limit_is_the_limits() {
    let wait = sleep(&["io_cqring_wait"]);
    let with = |how, group: &str| {
        let mut held = OwnedIo { how, ..neighbour("", 0, 5) };
        held.owner.cgroup = group.to_owned();
        let (cause, sure, _) =
            cause(WatchSlice { sleeps: vec![wait.clone()], ios: vec![held], ..WatchSlice::default() });
        (cause, sure)
    };
    assert_eq!(with(OwnedHow::Throttled, "/a"), (WaitCause::CgroupLimit, false));
    assert_eq!(with(OwnedHow::Throttled, "/b").0, WaitCause::Unknown);
    assert_eq!(with(OwnedHow::Kernel, "/a").0, WaitCause::Unknown);
}

#[test]
fn a_stack_says_what_a_thread_waited_for() {
    let of_stack = |stack: &[&str]| cause(WatchSlice { sleeps: vec![sleep(stack)], ..WatchSlice::default() });
    let (found, sure, words) = of_stack(&["schedule", "jbd2_log_wait_commit", "ext4_sync_file"]);
    assert_eq!((found, sure), (WaitCause::Journal, true));
    assert!(words.contains("30 ms") && words.contains("`jbd2/vda-8` woke it"), "{words}");
    let (found, _, words) =
        of_stack(&["schedule", "rwsem_down_write_slowpath.isra.0", "down_write", "ext4_file_write_iter"]);
    assert_eq!(found, WaitCause::Lock);
    assert!(words.contains("taken in ext4_file_write_iter"), "{words}");
    assert_eq!(of_stack(&["schedule", "pipe_read"]).0, WaitCause::Unknown);
    assert_eq!(of_stack(&[]).0, WaitCause::Unknown);
}

#[test]
fn a_thread_that_was_awake_for_most_of_it_waited_for_a_cpu() {
    let awake =
        LongSleep { slept_ns: 1, runnable_ns: 2, behind: "cc1".to_owned(), ..sleep(&["io_schedule"]) };
    let (found, sure, words) = cause(WatchSlice { sleeps: vec![awake], ..WatchSlice::default() });
    assert_eq!((found, sure), (WaitCause::RunQueue, true));
    assert!(words.contains("`cc1` had before it"), "{words}");
    let lost = LongSleep { slept_ns: 0, behind: "swapper/1".to_owned(), ..sleep(&["schedule"]) };
    let (found, sure, _) = cause(WatchSlice { sleeps: vec![lost], ..WatchSlice::default() });
    assert_eq!((found, sure), (WaitCause::Preempted, false), "no thread had its CPU");
    let of_limit = ["task_work_run", "exit_to_user_mode_loop"];
    let held = LongSleep { slept_ns: 0, runnable_ns: 9, behind: "cc1".to_owned(), ..sleep(&of_limit) };
    let (found, sure, _) = cause(WatchSlice { sleeps: vec![held], ..WatchSlice::default() });
    assert_eq!((found, sure), (WaitCause::CgroupLimit, false), "its CPU time is used up");
}

#[test]
fn the_wait_for_a_told_io_is_told_once_and_sums_are_of_all() {
    let wait = LongSleep { slept_ns: 20_000_000, ..sleep(&["io_schedule", "__iomap_dio_rw"]) };
    let other = LongSleep { owner: owner("x", 99), ..wait.clone() };
    let slice = WatchSlice {
        ended_unix_ns: SECOND,
        elapsed: Nanos::secs(1),
        slow: vec![slow("db", 7)],
        sleeps: vec![wait, other],
        ..WatchSlice::default()
    };
    let explained = explain(&[slice], 1);
    assert_eq!(explained.findings.len(), 1);
    let total: u64 = explained.causes.iter().map(|(_, number, _)| number).sum();
    assert_eq!(total, 2, "{explained:?}");
}

#[test]
fn the_commit_that_a_sync_waited_for_is_told_with_its_owner() {
    let journal = OwnedIo { how: OwnedHow::Journal, ..neighbour("postgres", 12, 3) };
    let slice = WatchSlice {
        sleeps: vec![sleep(&["jbd2_log_wait_commit"])],
        ios: vec![journal],
        ..WatchSlice::default()
    };
    let (_, _, words) = cause(slice);
    assert!(words.contains("3 I/Os to vda in transactions mostly of postgres [12]"), "{words}");
}

#[test]
fn whoever_lets_a_lock_go_held_it_unless_an_interrupt_woke_the_thread() {
    let with = |waker: &[&str]| {
        let waker_stack = waker.iter().map(|name| (*name).to_owned()).collect();
        let sleep = LongSleep { waker_stack, ..sleep(&["ext4_buffered_write_iter"]) };
        cause(WatchSlice { sleeps: vec![sleep], ..WatchSlice::default() })
    };
    let (found, sure, words) = with(&["rwsem_wake.isra.0", "up_write", "ext4_file_write_iter"]);
    assert_eq!((found, sure), (WaitCause::Lock, true));
    assert!(words.contains("`jbd2/vda-8` held the lock, and let it go in ext4_file_write_iter"), "{words}");
    assert_eq!(with(&["blk_done", "handle_irq_event", "mutex_unlock", "vfs_write"]).0, WaitCause::Unknown);
    assert_eq!(with(&["a", "b", "c", "up_write", "vfs_write"]).0, WaitCause::Unknown, "it is too far out");
    assert_eq!(with(&[]).0, WaitCause::Unknown);
    let (found, sure, words) = with(&["folio_end_writeback", "handle_irq_event"]);
    assert_eq!((found, sure), (WaitCause::WriteBack, false));
    assert!(words.contains("woken in folio_end_writeback"), "{words}");
}

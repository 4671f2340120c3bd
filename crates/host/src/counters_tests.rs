//! Counters against lines whose meaning is known, and against this machine.

use super::*;

/// Line as a 6.18 kernel printed it.
const STAT: &str = "  203792     9196  5637890    27074    25853    13637  3093304     6395        0    13712    34153     8354       29   769912      626     3666       57";

#[test]
fn all_seventeen_fields_are_understood() {
    let count = parse_stat("vda", STAT).expect("17 fields");
    assert_eq!(count.name, "vda");
    assert_eq!(count.ios, [203_792, 25_853, 8_354]);
    assert_eq!(count.merges, [9_196, 13_637, 29]);
    assert_eq!(count.bytes, [5_637_890 * 512, 3_093_304 * 512, 769_912 * 512]);
    assert_eq!(count.flushes, 3_666);
    assert_eq!(count.busy, Nanos::millis(13_712));
    assert_eq!(count.in_device, Some([27_074, 6_395, 626].map(Nanos::millis)));
    assert_eq!(count.queued, Some(Nanos::millis(34_153)));
}

#[test]
fn older_kernels_count_no_discards_and_no_flushes() {
    let eleven: Vec<&str> = STAT.split_whitespace().take(11).collect();
    let count = parse_stat("sda", &eleven.join(" ")).expect("11 fields");
    assert_eq!((count.ios[2], count.flushes), (0, 0));
    assert_eq!(parse_stat("sda", "1 2 3"), None);
    assert_eq!(parse_stat("sda", &STAT.replace("9196", "x")), None);
}

#[test]
fn a_difference_never_goes_below_zero() {
    let before = parse_stat("vda", STAT).expect("17 fields");
    let mut after = before.clone();
    after.ios[0] += 97;
    after.bytes[0] += 97 * 4096;
    after.flushes = 0;
    let moved = difference(&before, &after);
    assert_eq!((moved.ios, moved.bytes[0], moved.flushes), ([97, 0, 0], 97 * 4096, 0));
}

#[test]
fn cpu_time_is_split_in_busy_idle_and_stolen() {
    let count = parse_cpu("cpu  100 10 50 1000 20 3 7 5 0 0\ncpu0 1 1 1 1").expect("a cpu line");
    let tick = 1_000_000_000 / sys::ticks_per_second();
    assert_eq!(count, CpuCount { busy: Nanos(170 * tick), idle: Nanos(1020 * tick), steal: Nanos(5 * tick) });
    assert!((count.steal_share() - 5.0 / 1195.0).abs() < 1e-12);
    assert_eq!(parse_cpu("intr 1 2"), None);
    assert!(CpuCount::default().busy_share() == 0.0);
}

#[test]
fn this_machine_counts_its_cpus() {
    let count = cpu();
    assert!(count.busy.0 > 0 && count.idle.0 > 0, "{count:?}");
}

#[test]
fn a_process_without_rings_has_no_workers() {
    assert_eq!(workers(), Workers::default());
}

#[test]
fn a_worker_that_exited_is_still_counted_and_a_reused_id_is_another() {
    let tree = crate::testing::Tree::new(&[
        ("proc/self/task/7/comm", "iou-wrk-5"),
        ("proc/self/task/7/stat", "7 (iou-wrk-5) S 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 500 0 0"),
        ("proc/self/task/7/schedstat", "1234567 0 9"),
        ("proc/self/task/8/comm", "iou-sqp-5"),
        ("proc/self/task/8/stat", "8 (iou-sqp-5) S 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 501 0 0"),
        ("proc/self/task/5/comm", "iostack"),
    ]);
    let mut watch = WorkerWatch::default();
    watch.sample_in(&tree.root());
    let tick = 1_000_000_000 / sys::ticks_per_second();
    assert_eq!(watch.total(), Workers { count: 2, cpu: Nanos(1_234_567 + 3 * tick) });
    tree.remove("proc/self/task/8");
    tree.write("proc/self/task/7/stat", "7 (iou-wrk-5) S 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 900 0 0");
    tree.write("proc/self/task/7/schedstat", "1000 0 9");
    watch.sample_in(&tree.root());
    assert_eq!(watch.total(), Workers { count: 3, cpu: Nanos(1_234_567 + 3 * tick + 1000) });
}

#[test]
fn the_second_field_of_schedstat_is_the_time_without_a_cpu() {
    assert_eq!(parse_waiting("102913 71767 2\n"), Some(Nanos(71_767)));
    assert_eq!(parse_waiting("102913\n"), None);
    assert_eq!(parse_waiting(""), None);
}

#[test]
fn a_thread_that_shares_its_cpu_with_another_has_waited() {
    let stop = std::sync::atomic::AtomicBool::new(false);
    let waited = std::thread::scope(|scope| {
        let more = 2 * std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..more {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        // Ends by itself: more threads than CPUs are ready at all times.
        while thread_waiting().0 == 0 {
            std::hint::spin_loop();
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        thread_waiting()
    });
    assert!(waited.0 > 0);
}

//! Formulas of the sheet's clocks, at one clock a nanosecond.

use iostack_model::{Batch, Engine, Job, Outcome};

use crate::host::machine::{
    AIO, BUFFER, COMPLETE, DRIVER, FILE, INTERRUPT, LOOK, RING, SUBMIT, SWITCH_IN, SWITCH_OUT, SYSCALL,
    URING, WAKE, busy, host, outcome, reads, sheet,
};

const DRIVE: u64 = 100_000;

fn uring(registered: bool, poll: bool, submit_poll: bool) -> Engine {
    Engine::IoUring { fixed_buffers: registered, registered_files: registered, poll, submit_poll }
}

/// Every I/O of a single customer takes exactly so long.
fn alone(engine: Engine, changes: &[(&str, &str)], exact: u64, what: &str) {
    let all = [&[("platform.adapter.adapter.command", "5us")], changes].concat();
    let outcome = outcome(&sheet(&all), &reads(engine, 1, 1, 200));
    let latency = &outcome.read.latency;
    println!("{what}: {} ns", latency.max_ns);
    assert_eq!((latency.max_ns, latency.sum_ns), (exact, 200 * exact), "{what}");
}

#[test]
fn one_customer_takes_the_sum_of_the_clocks() {
    let drive = 5_000 + DRIVE;
    let woken = INTERRUPT + COMPLETE + WAKE + SWITCH_IN;
    let call = SYSCALL + SUBMIT + drive;
    alone(Engine::Psync, &[], call + woken, "psync");
    let polled = call + LOOK + COMPLETE;
    alone(Engine::Pvsync2 { hipri: true }, &[], polled, "pvsync2, hipri");
    alone(Engine::Psync, &[("platform.completion", "poll")], polled, "psync, platform polls");
    let [down, up, interrupt] = DRIVER;
    let own = polled - down - up;
    alone(Engine::Psync, &[("platform.os.os.completion", "poll")], own, "psync, the program's own driver");
    let dear = 2 * (call + woken - drive) - (down + up + interrupt) + drive;
    alone(Engine::Psync, &[("platform.cpi", "2")], dear, "psync, two clocks an instruction");
    alone(Engine::Psync, &[("platform.completion", "hybrid")], polled, "psync, hybrid");
    alone(Engine::Libaio, &[], call + AIO[0] + woken + SYSCALL + AIO[1], "libaio");
    let once = [("platform.os.os.aio_batch", "160"), ("platform.os.os.uring_batch", "320")];
    alone(Engine::Libaio, &once, call + AIO[0] + woken + SYSCALL + AIO[1], "libaio, one I/O in a call");
    let ring = URING[0] + URING[1];
    alone(uring(true, false, false), &[], call + woken + ring, "io_uring");
    alone(
        uring(false, false, false),
        &[],
        call + woken + ring + FILE + BUFFER,
        "io_uring, nothing registered",
    );
    alone(uring(true, true, false), &[], polled + ring, "io_uring, IOPOLL");
    let apart = RING + SUBMIT + drive + ring;
    alone(uring(true, false, true), &[], apart + woken, "io_uring, SQPOLL");
    let posted = LOOK + COMPLETE + WAKE + SWITCH_IN;
    alone(uring(true, true, true), &[], apart + posted, "io_uring, SQPOLL and IOPOLL");
}

#[test]
fn a_wakeup_on_another_core_costs_what_the_sheet_says() {
    let away = [("platform.interrupts", "one"), ("platform.os.os.other_core", "777")];
    let job = Job { cpus: Some(vec![2]), ..reads(Engine::Psync, 1, 1, 50) };
    let outcome = outcome(&sheet(&away), &job);
    let exact = SYSCALL + SUBMIT + DRIVE + INTERRUPT + COMPLETE + WAKE + SWITCH_IN + 777;
    assert_eq!(outcome.read.latency.max_ns, exact);
}

/// One core has no time left, and does so many I/Os a second.
fn saturated(outcome: &Outcome, clocks: f64, what: &str) {
    let (rate, exact) = (outcome.rate(), 1e9 / clocks);
    let error = (rate / exact - 1.0) * 100.0;
    println!("{what}: {rate:.0} for {exact:.0} IOPS, {error:+.3} %");
    assert!(busy(outcome, "core") > 0.995, "{what}: the core is busy for {}", busy(outcome, "core"));
    assert!(error.abs() < 0.5, "{what}: {rate} for {exact}");
    let told = host(outcome).clocks_per_io;
    assert!((told / clocks - 1.0).abs() < 0.005, "{what}: {told} clocks for {clocks}");
}

fn interrupts(outcome: &Outcome) -> f64 {
    INTERRUPT as f64 / host(outcome).completions_per_interrupt
}

#[test]
fn a_saturated_core_does_its_clock_over_the_clocks_of_an_io() {
    let one = |changes: &[(&str, &str)]| sheet(&[&[("platform.cores", "1")], changes].concat());
    let base = (SUBMIT + COMPLETE) as f64;

    let seen = outcome(&one(&[]), &reads(Engine::Psync, 64, 1, 400));
    let switches = (SWITCH_OUT + SWITCH_IN + WAKE) as f64;
    saturated(&seen, base + SYSCALL as f64 + switches + interrupts(&seen), "psync");

    let batch =
        |engine| Job { batch: Batch { submit: 16, complete_min: 16 }, ..reads(engine, 16, 16, 6_400) };
    let seen = outcome(&one(&[]), &batch(Engine::Libaio));
    let sleeps = host(&seen).switches as f64 / seen.ios() as f64;
    assert!((sleeps * 16.0 - 1.0).abs() < 0.02, "one sleep for each batch: {sleeps}");
    let each = (AIO[0] + AIO[1]) as f64 + (2.0 * SYSCALL as f64 + switches) / 16.0;
    saturated(&seen, base + each + interrupts(&seen), "libaio, batches of 16");
    let seen = outcome(&one(&[("platform.os.os.aio_batch", "160")]), &batch(Engine::Libaio));
    saturated(&seen, base + each - 150.0 + interrupts(&seen), "libaio, of whose clocks 160 are a call's");

    let seen = outcome(&one(&[]), &batch(uring(true, false, false)));
    let each = (URING[0] + URING[1]) as f64 + (SYSCALL as f64 + switches) / 16.0;
    saturated(&seen, base + each + interrupts(&seen), "io_uring, batches of 16");
    let seen = outcome(&one(&[("platform.os.os.uring_batch", "320")]), &batch(uring(true, false, false)));
    saturated(&seen, base + each - 300.0 + interrupts(&seen), "io_uring, of whose clocks 320 are a call's");

    let at_once = [("platform.drive.zero.latency", "0")];
    let seen = outcome(&one(&at_once), &reads(Engine::Pvsync2 { hipri: true }, 1, 1, 5_000));
    saturated(&seen, base + (SYSCALL + LOOK) as f64, "pvsync2, hipri");

    let job = Job { threads: 1, ..batch(uring(true, true, false)) };
    let seen = outcome(&one(&at_once), &job);
    let each = (URING[0] + URING[1]) as f64 + (SYSCALL + LOOK) as f64 / 16.0;
    saturated(&seen, base + each, "io_uring, IOPOLL, batches of 16");
}

#[test]
fn spinning_is_told_as_polling_and_napping_saves_half_of_it() {
    let told = |completion: &str| {
        let seen = outcome(&sheet(&[("platform.completion", completion)]), &reads(Engine::Psync, 1, 1, 500));
        let layers = &host(&seen).layers;
        let poll = layers.iter().find(|layer| layer.name == "poll").map_or(0.0, |layer| layer.clocks);
        (poll, busy(&seen, "core"))
    };
    let (poll, core) = told("poll");
    assert!((poll - (DRIVE + LOOK) as f64).abs() < 1.0 && (core - 0.25).abs() < 1e-3, "{poll} {core}");
    let (poll, _) = told("hybrid");
    let after_nap = DRIVE / 2 - INTERRUPT.min(1_200) - WAKE - SWITCH_IN + LOOK;
    assert!((poll / after_nap as f64 - 1.0).abs() < 0.01, "{poll} for {after_nap}");
}

#[test]
fn pollers_share_cores_by_slices() {
    let two =
        sheet(&[("platform.cores", "2"), ("platform.completion", "poll"), ("platform.os.os.slice", "1ms")]);
    let mut job = reads(Engine::Psync, 5, 1, 0);
    (job.io_count, job.runtime, job.time_based) = (None, Some(iostack_model::Nanos::millis(200)), true);
    let jobs: Vec<Job> = (0..5)
        .map(|index| Job { threads: 1, report_group: index, name: format!("{index}"), ..job.clone() })
        .collect();
    let ran = iostack_sim::run::run(&two, &jobs, &iostack_sim::run::RunOptions::seeded(1)).expect("it runs");
    let ios: Vec<u64> = ran.outcomes.iter().map(Outcome::ios).collect();
    let (least, most) = (ios.iter().min().expect("five"), ios.iter().max().expect("five"));
    println!("{ios:?}");
    assert!(*least as f64 > 0.9 * *most as f64, "{ios:?}");
}

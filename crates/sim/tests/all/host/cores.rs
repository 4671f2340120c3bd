//! Are cores as they are? Siblings, sockets, idle states, what all share, and what an interrupt may do.

use iostack_model::{Batch, Engine, Job, Outcome};

use crate::host::machine::{
    COMPLETE, INTERRUPT, LOOK, SUBMIT, SWITCH_IN, SYSCALL, WAKE, host, outcome, reads, sheet,
};
use crate::load::changed_sheet;

/// Clocks of a polled call on a drive that answers at once, at a clock a nanosecond.
const POLLED: u64 = SYSCALL + SUBMIT + COMPLETE + LOOK;
const AT_ONCE: (&str, &str) = ("platform.drive.zero.latency", "0");

/// Rate of threads that poll, one on each of these processors of four.
fn polled_on(cpus: &[u32], changes: &[(&str, &str)]) -> Outcome {
    let job = Job {
        cpus: Some(cpus.to_vec()),
        cpus_split: true,
        ..reads(Engine::Pvsync2 { hipri: true }, cpus.len() as u32, 1, 4_000)
    };
    outcome(&sheet(&[&[AT_ONCE, ("platform.cores", "4")], changes].concat()), &job)
}

/// The rate is that of so many cores, each at so much of its speed.
fn holds(seen: &Outcome, cores: f64, speed: f64, what: &str) {
    let exact = cores * speed * 1e9 / POLLED as f64;
    let error = (seen.rate() / exact - 1.0) * 100.0;
    println!("{what}: {:.0} for {exact:.0} IOPS, {error:+.3} %", seen.rate());
    assert!(error.abs() < 0.1, "{what}: {} for {exact}", seen.rate());
}

/// Clocks of a layer for each I/O.
fn clocks(seen: &Outcome, layer: &str) -> f64 {
    host(seen).layers.iter().find(|each| each.name == layer).map_or(0.0, |each| each.clocks)
}

#[test]
fn busy_siblings_run_at_their_share_and_others_at_their_own_speed() {
    let smt = [("platform.smt", "2"), ("platform.smt_speed", "62.5%")];
    holds(&polled_on(&[0], &smt), 1.0, 1.0, "one of two siblings");
    holds(&polled_on(&[0, 1], &smt), 2.0, 1.0, "two cores, no siblings");
    let both = polled_on(&[0, 2], &smt);
    holds(&both, 2.0, 0.625, "two siblings");
    holds(&polled_on(&[0, 1, 2, 3], &smt), 4.0, 0.625, "all four");
    let more = POLLED as f64 * (1.0 / 0.625 - 1.0);
    assert!((clocks(&both, "slow-down") / more - 1.0).abs() < 0.01, "{:?}", host(&both).layers);
}

#[test]
fn what_all_cores_share_slows_them_in_proportion_to_how_many_work() {
    let shared = [("platform.slow_down", "60%")];
    for (cpus, slower) in [(&[0][..], 1.0), (&[0, 2], 1.2), (&[0, 1, 2], 1.4), (&[0, 1, 2, 3], 1.6)] {
        let cores = cpus.len() as f64;
        holds(&polled_on(cpus, &shared), cores, 1.0 / slower, &format!("{cores} of four"));
    }
}

#[test]
fn a_core_that_was_idle_wakes_up_first() {
    let states = [
        ("platform.idle_after", "20us"),
        ("platform.idle_exit", "10us"),
        ("platform.deep_after", "600us"),
        ("platform.deep_exit", "133us"),
    ];
    let alone = SYSCALL + SUBMIT + INTERRUPT + COMPLETE + WAKE + SWITCH_IN;
    for (drive, exit) in [("15us", 0), ("100us", 10_000), ("500us", 10_000), ("2ms", 133_000)] {
        let changes = [&states[..], &[("platform.drive.zero.latency", drive)]].concat();
        let seen = outcome(&sheet(&changes), &reads(Engine::Psync, 1, 1, 100));
        let plain = outcome(&sheet(&changes[4..]), &reads(Engine::Psync, 1, 1, 100));
        assert_eq!(seen.read.latency.max_ns, plain.read.latency.max_ns + exit, "{drive}");
        assert!(seen.read.latency.max_ns > alone + exit, "{drive}");
        assert!((clocks(&seen, "idle exit") - exit as f64).abs() < 1.0, "{drive}: {:?}", host(&seen).layers);
    }
    // Who polls is never idle.
    let seen = outcome(&sheet(&states), &reads(Engine::Pvsync2 { hipri: true }, 1, 1, 100));
    assert_eq!(seen.read.latency.max_ns, POLLED - COMPLETE - LOOK + 100_000 + COMPLETE + LOOK);
}

#[test]
fn a_lock_that_goes_from_socket_to_socket_makes_less() {
    let hold = 20_000.0;
    let lock = [
        ("platform.scheduler", "noop"),
        ("platform.scheduler.scheduler.hold", "20000"),
        ("platform.scheduler.scheduler.contention", "10000"),
        ("platform.scheduler.scheduler.clocks", "0"),
        ("platform.sockets", "2"),
        ("platform.remote", "3"),
    ];
    for (cpus, turn) in [(&[0, 1][..], hold + 10_000.0), (&[0, 2], hold + 30_000.0)] {
        let seen = polled_on(cpus, &lock);
        let exact = 1e9 / turn;
        println!("{cpus:?}: {:.0} for {exact:.0} IOPS", seen.rate());
        assert!((seen.rate() / exact - 1.0).abs() < 0.005, "{cpus:?}: {} for {exact}", seen.rate());
    }
    let alone = polled_on(&[2], &lock);
    holds(&alone, 1.0, POLLED as f64 / (POLLED as f64 + hold), "alone with the lock");
}

#[test]
fn a_completion_from_another_socket_costs_its_lines_more() {
    let of = |cpu: u32| {
        let far = [
            ("platform.interrupts", "one"),
            ("platform.os.os.other_core", "700"),
            ("platform.sockets", "2"),
            ("platform.remote", "3"),
        ];
        let job = Job { cpus: Some(vec![cpu]), ..reads(Engine::Psync, 1, 1, 50) };
        outcome(&sheet(&far), &job).read.latency.max_ns
    };
    let own = of(0);
    assert_eq!([of(1), of(2), of(3)], [own + 700, own + 2_100, own + 2_100]);
}

#[test]
fn an_interrupt_handles_its_budget_and_a_thread_of_the_kernel_the_rest() {
    // Three cores submit more than the first completes: without a budget one interrupt goes on and on.
    let job = Job {
        cpus: Some(vec![1, 2, 3]),
        cpus_split: true,
        batch: Batch { submit: 16, complete_min: 16 },
        ..reads(Engine::IO_URING, 3, 64, 6_000)
    };
    let of = |changes: &[(&str, &str)]| {
        outcome(&sheet(&[&[AT_ONCE, ("platform.interrupts", "one")], changes].concat()), &job)
    };
    let endless = of(&[]);
    let most = host(&endless).completions_per_interrupt;
    assert!(most > 1_000.0, "{most}");
    for budget in ["1", "16", "64"] {
        let seen = of(&[("platform.budget", budget)]);
        let told = host(&seen).completions_per_interrupt;
        println!(
            "budget {budget}: {told:.2} of {most:.0} by an interrupt, {:.0} of {:.0} IOPS",
            seen.rate(),
            endless.rate()
        );
        assert!(told <= budget.parse::<f64>().expect("a number") + 1e-9, "{budget}: {told}");
        assert_eq!(seen.ios(), endless.ios());
        assert!(
            (seen.rate() / endless.rate() - 1.0).abs() < 0.1,
            "a thread of its own core does the same work"
        );
    }
    // A batch that began before the time was over is ended.
    let told = host(&of(&[("platform.budget_time", "100us")])).completions_per_interrupt;
    let [least, most] = [100_000.0 / (COMPLETE + WAKE) as f64, 100_000.0 / COMPLETE as f64 + 192.0];
    assert!(least <= told && told <= most, "{told} is not within {least} and {most}");
}

#[test]
fn cores_that_do_not_go_into_pairs_and_sockets_are_refused() {
    for changes in [
        [("platform.cores", "3"), ("platform.smt", "2")],
        [("platform.cores", "4"), ("platform.smt", "3")],
        [("platform.cores", "4"), ("platform.sockets", "3")],
        [("platform.smt", "2"), ("platform.smt_speed", "0%")],
    ] {
        let refused = iostack_sim::run::run(
            &sheet(&changes),
            &[reads(Engine::Psync, 1, 1, 1)],
            &iostack_sim::run::RunOptions::seeded(1),
        );
        assert!(refused.is_err(), "{changes:?}");
    }
}

#[test]
fn one_server_gives_the_rates_a_core_that_its_docs_tell() {
    let fio = ("platform.os.os.application", "2317");
    let batched =
        Job { batch: Batch { submit: 32, complete_min: 32 }, ..reads(Engine::IO_URING, 1, 128, 40_000) };
    let known =
        Engine::IoUring { fixed_buffers: true, registered_files: true, poll: true, submit_poll: false };
    // Published are 0.4 and 10 million; nothing was fitted to them.
    for (what, job, changes, told, published) in [
        ("fio, libaio", reads(Engine::Libaio, 1, 128, 40_000), vec![fio], 0.344, Some((0.4, -14.0))),
        ("a loop, io_uring", reads(Engine::IO_URING, 1, 128, 40_000), vec![], 0.454, None),
        ("all known, polled, 32 a call", Job { engine: known, ..batched }, vec![], 0.698, None),
        (
            "the driver in the program",
            reads(Engine::IO_URING, 1, 128, 40_000),
            vec![("platform.os", "spdk")],
            4.312,
            Some((10.0, -57.0)),
        ),
    ] {
        let seen = outcome(&changed_sheet("server-2021", &changes), &job);
        let rate = seen.rate() / 1e6;
        println!("{what}: {rate:.3} M IOPS a core, {told} told; {:.0} clocks", host(&seen).clocks_per_io);
        assert!((rate / told - 1.0).abs() < 0.01, "{what}: {rate} for {told}");
        if let Some((published, error)) = published {
            let off = (rate / published - 1.0) * 100.0;
            assert!((off - error).abs() < 1.0, "{what}: {off:+.1} % of {published}");
        }
    }
}

//! Stages, layers, ladder and path costs on a screen: they fit, they add up, they admit what is missing.

use iostack_model::answers::PathCost;
use iostack_model::{Bins, DeviceStages, Ladder, Layers, Nanos, Stage, Stages, Way, WayStages};

use crate::fixture;
use crate::text::{WIDTH, ascii, live_stages};

fn stages(stages: &Stages) -> String {
    crate::attribution(Some(stages), None).text()
}

fn layers(layers: &Layers) -> String {
    crate::attribution(None, Some(layers)).text()
}

fn ladder(ladder: &Ladder) -> String {
    crate::ladder(ladder).text()
}

fn assert_fits(screen: &str) {
    for line in screen.lines() {
        // Only a command stays in one piece.
        let command = line.trim_start().starts_with("$ ");
        assert!(command || line.chars().count() <= WIDTH, "{} columns: {line}", line.chars().count());
        assert_eq!(line.trim_end(), line);
    }
    assert!(!screen.contains("\n\n\n") && screen.chars().all(|c| c == '\n' || !c.is_control()), "{screen}");
    let plain = ascii(screen);
    assert!(plain.is_ascii() && !plain.contains('?'), "{plain}");
}

fn assert_says(screen: &str, facts: &[&str]) {
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    for fact in facts {
        assert!(words.contains(fact), "`{fact}` is missing from\n{screen}");
    }
}

fn every_screen(one: &Stages, other: &Layers) -> Vec<String> {
    vec![stages(one), live_stages(one), layers(other), ladder(&one.ladder)]
}

/// Every number of the trace times `factor`, as far as it goes.
fn scaled_stages(mut made: Stages, factor: u64) -> Stages {
    let scale = |value: &mut u64| *value = value.saturating_mul(factor);
    let bins = |bins: &mut Bins| {
        for value in [&mut bins.count, &mut bins.sum_ns, &mut bins.min_ns, &mut bins.max_ns] {
            *value = value.saturating_mul(factor);
        }
    };
    for value in
        [&mut made.ios, &mut made.matched, &mut made.lost, &mut made.elapsed.0, &mut made.tracing.events]
    {
        scale(value);
    }
    made.ways.iter_mut().for_each(|way| {
        bins(&mut way.whole);
        way.stages.iter_mut().for_each(|(_, each)| bins(each));
    });
    made.devices.iter_mut().for_each(|device| {
        bins(&mut device.whole);
        device.stages.iter_mut().for_each(|(_, each)| bins(each));
        scale(&mut device.merged);
    });
    made
}

fn scaled_layers(mut made: Layers, factor: u64) -> Layers {
    for row in &mut made.rows {
        row.time.0 = row.time.0.saturating_mul(factor);
        row.samples = row.samples.saturating_mul(factor);
        row.kinds.iter_mut().for_each(|(_, count)| *count = count.saturating_mul(factor));
    }
    made.clocks.tasks.0 = made.clocks.tasks.0.saturating_mul(factor) / 4;
    made.elapsed.0 = made.elapsed.0.saturating_mul(factor);
    made.samples = made.samples.saturating_mul(factor);
    made
}

#[test]
fn every_screen_fits_whatever_the_width_of_its_numbers() {
    for factor in [0, 1, 7, 1_000, 1_000_000, 1_000_000_000] {
        for made in [fixture::stages(), fixture::stages_of_process()] {
            let made = scaled_stages(made, factor);
            for profile in [fixture::layers(), fixture::layers_of_process()] {
                let profile = scaled_layers(profile, factor);
                for screen in every_screen(&made, &profile) {
                    assert_fits(&screen);
                }
            }
        }
    }
}

#[test]
fn nothing_measured_is_a_screen_and_not_a_panic() {
    let nothing = Stages {
        subject: "device vda".to_owned(),
        elapsed: Nanos(0),
        ios: 0,
        matched: 0,
        lost: 0,
        ways: Vec::new(),
        devices: Vec::new(),
        application_mean_ns: Some(0.0),
        ladder: Ladder::default(),
        notes: Vec::new(),
        ..fixture::stages()
    };
    assert_fits(&stages(&nothing));
    assert_says(&stages(&nothing), &["no I/O was seen while traced"]);
    assert_says(&live_stages(&nothing), &["waiting for the first I/O"]);
    let empty = Layers {
        rows: Vec::new(),
        functions: Vec::new(),
        stacks: Vec::new(),
        samples: 0,
        tsc_hz: 0,
        ios: Some(0),
        ..fixture::layers()
    };
    assert_fits(&layers(&empty));
    assert_says(&layers(&empty), &["no sample fell into the subject"]);
    assert_says(&ladder(&Ladder::default()), &["not probed"]);
    let hollow = WayStages {
        way: Way::Device,
        whole: Bins::default(),
        stages: vec![(Stage::Device, Bins::default())],
    };
    assert_fits(&stages(&Stages { ways: vec![hollow.clone()], ..nothing.clone() }));
    assert_fits(&live_stages(&Stages { ways: vec![hollow], ..nothing }));
}

#[test]
fn the_stages_say_who_took_the_time_and_how_far_to_trust_it() {
    let screen = stages(&fixture::stages());
    assert_says(
        &screen,
        &[
            "STAGES of this load 37,422 I/Os in 3 s",
            "to the device 37,422 100.0 100.0",
            "doorbell driver, telling the device",
            "interrupt to end of request",
            "The platform took 18 % of the latency, the transport 5 %, the device 77 %.",
            "26 % in the paper's section 4.1, but 20 of 180 us = 11 % in its section 5.",
            "by the application's own clock (+0.15 %)",
            "37,422 of 37,422 I/Os seen from end to end (100.00 %); no event lost",
            "840 ns CPU per I/O: 224,532 events at 140 ns",
            "rung 3 of 4 (tracing); rung 4 (hardware: cycles and instructions) is not reached: the hypervisor",
        ],
    );
}

#[test]
fn other_ways_losses_and_the_tree_of_devices_are_told() {
    let screen = stages(&fixture::stages_of_process());
    assert_says(
        &screen,
        &[
            "cache hit 84,310",
            "cache, waited 512",
            "unmatched 9",
            "96,724 of 96,733 I/Os seen from end to end; 3 EVENTS LOST: the figures are incomplete",
            "2,790 bios merged, 8 split",
        ],
    );
    assert!(screen.contains("\nloop0 ") && screen.contains("\n vda "), "{screen}");
    // One stage is the whole: a hit has no table of its own.
    assert!(screen.contains("\nCACHE, WAITED") && !screen.contains("\nCACHE HIT"), "{screen}");
}

#[test]
fn a_share_of_all_is_told_only_where_nothing_was_lost() {
    let share = |lost, matched| {
        let screen = stages(&Stages { lost, matched, ios: 100_000, ..fixture::stages() });
        let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        words.split("end to end").nth(1).and_then(|rest| rest.split(';').next()).map(str::to_owned)
    };
    assert_eq!(share(0, 100_000).as_deref(), Some(" (100.00 %)"));
    assert_eq!(share(0, 99_999).as_deref(), Some(" (99.99 %)"));
    assert_eq!(share(1, 100_000).as_deref(), Some(""));
}

#[test]
fn a_device_has_bios() {
    let made = fixture::stages_of_process();
    let bios = made.devices[0].whole.count;
    let device = Stages { ways: Vec::new(), ios: bios, matched: bios, lost: 0, ..made };
    assert_says(
        &stages(&device),
        &[
            "11,910 bios in 8.2 s",
            "11,910 of 11,910 bios seen from end to end",
            "840 ns CPU per bio: 224,532",
        ],
    );
    assert_says(&live_stages(&device), &["11,910 bios, 1,452 per second"]);
}

#[test]
fn the_wait_for_the_journal_is_a_part_of_its_own() {
    let mut made = fixture::stages();
    let way = &mut made.ways[0];
    let wait = way.stages.iter().find(|(stage, _)| *stage == Stage::Submit).expect("it has one").1.clone();
    way.whole.sum_ns += wait.sum_ns;
    way.stages.push((Stage::Journal, wait));
    let screen = stages(&made);
    assert_says(&screen, &["JOURNAL", "waiting for the journal", "waiting for the journal 4 %. (Published"]);
}

/// The number in a column of a line that begins with a word, by its unit in the fixture.
fn micros(screen: &str, start: &str) -> f64 {
    let line = screen.lines().find(|line| line.trim_start().starts_with(start)).expect(start);
    let words: Vec<&str> = line.split_whitespace().collect();
    let place = words.iter().position(|word| ["ns", "us", "ms"].contains(word)).expect("a time");
    let factor = match words[place] {
        "ns" => 0.001,
        "us" => 1.0,
        _ => 1000.0,
    };
    words[place - 1].parse::<f64>().expect("a number") * factor
}

#[test]
fn the_parts_shown_add_up_to_the_sum_shown_and_the_stages_to_their_part() {
    let screen = stages(&fixture::stages());
    let sum = micros(&screen, "SUM");
    let parts = ["PLATFORM", "TRANSPORT", "DEVICE "].map(|part| micros(&screen, part));
    assert!((parts.iter().sum::<f64>() / sum - 1.0).abs() < 0.01, "{parts:?} {sum}\n{screen}");
    let own = ["submit", "queue", "schedule", "complete", "wake", "switch", "return"];
    let own: f64 = own.iter().map(|stage| micros(&screen, stage)).sum();
    assert!((own / parts[0] - 1.0).abs() < 0.01, "{own} {parts:?}\n{screen}");
}

#[test]
fn a_sum_that_misses_the_applications_clock_is_doubted() {
    let mut off = fixture::stages();
    off.application_mean_ns = Some(off.mean_ns() * 1.03);
    assert_says(&stages(&off), &["(-2.91 %); more than 1 % apart: take the split with care"]);
}

#[test]
fn the_live_block_has_at_most_sixteen_lines_and_leaves_the_last_column_free() {
    let mut open_loop = fixture::stages();
    let late = open_loop.ways[0].stages[0].1.clone();
    let stages = &mut open_loop.ways[0].stages;
    stages.insert(0, (Stage::Late, late.clone()));
    stages.extend([(Stage::Preempted, late.clone()), (Stage::Journal, late)]);
    let mut device = fixture::stages_of_process();
    device.ways.clear();
    device.devices = vec![device.devices[0].clone(); 40];
    "x".repeat(300).clone_into(&mut device.subject);
    for made in [open_loop, device, fixture::stages_of_process()] {
        let block = live_stages(&made);
        assert!(block.lines().count() <= 16, "{block}");
        assert!(block.lines().all(|line| line.chars().count() < WIDTH), "{block}");
    }
}

#[test]
fn a_chain_of_devices_that_bites_its_tail_ends() {
    let mut made = fixture::stages_of_process();
    made.devices[0].above = Some("vda".to_owned());
    assert_fits(&stages(&made));
    let orphan = DeviceStages { above: Some("gone".to_owned()), ..made.devices[1].clone() };
    assert_fits(&stages(&Stages { devices: vec![orphan], ..made }));
}

#[test]
fn the_layers_say_clocks_kinds_and_whose_clock() {
    let screen = layers(&fixture::layers());
    assert_says(
        &screen,
        &[
            "LAYER clocks/I/O %",
            "SUM 12,300 100.0",
            "KIND OF WORK",
            "doorbell",
            "telling the device",
            "nvme_queue_rq",
            "12,300 clocks per I/O of 37,422 I/Os of the load; exact",
            "not in the sum 1,845 kernel threads, interrupts: its or others'",
            "94.0 % in the threads, 6.0 % in its kernel threads (iou-wrk 6.0 %)",
            "738 clocks/I/O in kernel threads (kworker/3:1H-kblockd 492, jbd2/nvme0n1p2-8 246), 1,107 in interrupts: not",
            "the time-stamp counter's, 3.000 GHz at all times; the core's own clock is another and changes",
            "0.30 % unclassified; 0.21 % inferred from a caller; rules disagree on 1.20 %",
            "cpu-clock at 997 Hz and CPU, none lost; it cost 3.1 % of the CPU time",
        ],
    );
}

#[test]
fn layers_without_a_count_of_ios_are_per_second_and_their_total_is_not_called_exact() {
    let hardware = Some(iostack_model::Hardware { instructions: 11_240.0, cycles: 14_310.0 });
    assert_says(
        &layers(&Layers { hardware, ..fixture::layers() }),
        &["11,240 instructions and 14,310 core cycles per I/O: 0.79 instructions a cycle"],
    );
    let screen = layers(&fixture::layers_of_process());
    assert_says(
        &screen,
        &[
            "clocks/s",
            "nobody counted I/Os; NOT EXACT (samples times their period)",
            "1.2 s of idle polling kept out",
            "12 LOST",
            "rung 2 of 4 (all samples); rung 3 (tracing: latency",
            "$ sudo setcap",
        ],
    );
}

#[test]
fn the_ladder_tells_each_rung_with_its_reason_and_command() {
    let screen = ladder(&fixture::layers_of_process().ladder);
    assert_says(
        &screen,
        &[
            "rung 2 of 4 (all samples); rung 3 (tracing) is not reached",
            "0 counters yes throughput",
            "3 tracing NO latency by stage; exact totals of clocks",
            "but: BPF needs a capability",
            "$ sudo setcap cap_perfmon,cap_bpf,cap_syslog+ep $(command -v iostack)",
            "4 hardware NO",
            "perf_event_paranoid 1",
        ],
    );
    let mut gap = fixture::ladder();
    gap.rungs[1].reached = false;
    assert_says(&ladder(&gap), &["rung 0 of 4 (counters), and above a gap 2 (all samples), 3 (tracing)"]);
}

#[test]
fn path_costs_stand_beside_the_published_figures() {
    let mut check = fixture::check();
    check.path_costs = fixture::path_costs();
    assert_says(
        &crate::check(&check).text(),
        &[
            "system call 312 ±4.0% 924 clocks",
            "buffering, per byte 0.380 ±4.0% 2.10 clocks/byte",
            "switch of threads 4,240 ±4.0% - clocks",
        ],
    );
    let page = crate::check(&check).html();
    for fact in ["not measured: interrupts of this device", "5,250", "Linux 2.6.28: another machine"] {
        assert!(page.contains(fact), "{fact}");
    }
    check.path_costs = vec![PathCost::default()];
    assert_fits(&crate::check(&check).text());
}

#[test]
fn hostile_names_reach_no_terminal() {
    let evil = "\u{1b}]2;owned\u{7}evil";
    let mut made = fixture::stages_of_process();
    evil.clone_into(&mut made.subject);
    evil.clone_into(&mut made.devices[0].name);
    made.notes.push(evil.to_owned());
    made.ladder.rungs[4].reason = evil.to_owned();
    let mut profile = fixture::layers();
    evil.clone_into(&mut profile.rows[0].layer);
    evil.clone_into(&mut profile.functions[0].name);
    for screen in every_screen(&made, &profile) {
        assert!(screen.chars().all(|c| c == '\n' || !c.is_control()), "{screen}");
    }
}

#[test]
fn a_check_and_a_run_show_where_time_and_clocks_went() {
    let screen = crate::check(&fixture::check()).text();
    assert_says(
        &screen,
        &[
            "WHERE THE TIME GOES (random read, depth 1)",
            "switch 6, submit 4 % 18.1 14.5 us",
            "clocks random read: 12,300 clocks/I/O; driver 3,223 (26 %), scheduler 2,103",
            "system call 312 ±4.0% 924 clocks",
        ],
    );
    let mut without = fixture::check();
    for point in without.steps.iter_mut().flat_map(|step| &mut step.points) {
        (point.outcome.stages, point.outcome.layers) = (None, None);
    }
    without.path_costs.iter_mut().for_each(|cost| cost.measured = None);
    let screen = crate::check(&without).text();
    assert_says(&screen, &["path costs not measured: interrupts of this device"]);
    assert!(!screen.contains("WHERE THE TIME GOES") && !screen.contains("\nmore "), "{screen}");
    assert_says(
        &crate::run(&fixture::outcome_file()).text(),
        &["STAGES of this load", "LAYERS of this load"],
    );
}

//! The parts that `docs/simulation-parts.md` shows: they compile, work, and stand there as they stand here.

use std::path::Path;

use iostack_model::{Amount, Bytes, Job, Stage};
use iostack_sim::engine::{Kind, World};
use iostack_sim::run::{About, RunOptions, run_world};
use iostack_sim::sheet::Sheet;

use crate::load::{Mixed, closed_loop};

pub(crate) mod gatherer;
mod tape;

fn tape() -> Sheet {
    let numbers = [("tape.capacity", "1GiB"), ("tape.rate", "100MB/s"), ("tape.wind", "60s")];
    Sheet::of_kind(&tape::KIND, &numbers).expect("complete")
}

fn world() -> World {
    let mut world = World::new();
    world.sim.keep_stamps();
    let device = tape::build(&tape(), &mut world, 1).expect("complete");
    world.set_root(device);
    world
}

#[test]
fn the_guide_shows_the_parts_as_they_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect("it is there");
    let guide = read("../../docs/simulation-parts.md");
    for part in ["tape.rs", "gatherer.rs"] {
        let text = read(&format!("tests/all/parts/guide/{part}"));
        assert!(text.lines().count() < 100, "{part} is longer than the guide promises");
        assert!(
            guide.contains(&format!("```rust\n{text}```\n")),
            "docs/simulation-parts.md shows another {part}"
        );
    }
}

#[test]
fn a_tape_winds_and_streams() {
    let mut world = world();
    let seen = closed_loop(&mut world, 1, 2, |index| (Kind::Read, (512 << 20) * index, 1 << 20));
    // The first megabyte streams at once; from there to the middle, less that megabyte, is just under half of the reel.
    let share = 511.0 / 1024.0;
    assert_eq!(seen.latencies, [10_485_760, 2_000_000_000 + (60e9 * share) as u64 + 10_485_760]);
    assert_eq!(seen.stage(Stage::Medium), 2 * 10_485_760);
}

#[test]
fn a_tape_loses_nothing() {
    for seed in 0..20 {
        Mixed::new(world(), seed).run(500);
    }
}

#[test]
fn a_job_runs_on_a_tape() {
    let job = Job { io_count: Some(100), size: Some(Amount::Bytes(Bytes::mib(64))), ..Job::default() };
    let ran = run_world(world(), &About::of(&tape()), &[job], &RunOptions::seeded(1)).expect("it runs");
    let inside = ran.outcomes[0].inside.as_ref().expect("simulated");
    assert_eq!(inside.resources[0].name, "motor");
}

#[test]
fn a_gatherer_saves_a_dram_ssd_its_commands() {
    let mut world = World::new();
    let numbers = [
        ("dram.capacity", "1GiB"),
        ("dram.command", "10us"),
        ("dram.rate", "4096MB/s"),
        ("dram.batch", "64"),
    ];
    let sheet = Sheet::from_values("dram", &numbers).expect("complete");
    let below = iostack_sim::devices::build(&sheet, &mut world, 1).expect("complete");
    let host = world.add(Box::new(gatherer::Gatherer { below, window: 500, held: Vec::new() }));
    world.set_root(host);
    // Eight at once: they wait 500 ns for each other, pay one command, and move 8 pages of 1 us.
    let seen = closed_loop(&mut world, 8, 800, |index| (Kind::Write, index << 12, 4096));
    assert_eq!(seen.elapsed, 100 * (500 + 10_000 + 8000));
}

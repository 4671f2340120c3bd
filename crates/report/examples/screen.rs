//! Prints the reports of the fixture, to look at them:
//! `cargo run -p iostack-report --features fixture --example screen -- check`.
//!
//! The word chooses the screen: `check` (default), `quick`, `interrupted`, `run`, `simulated`, `live`,
//! `compare`, `stages`, `process`, `watch`, `layers`, `clocks`, `ladder`, `costs`, `iocost`, `ahci`, `iocosts`,
//! `costdiff`, `budgets`, `calltree`. `ascii` after it shows what a terminal
//! without Unicode gets.

use iostack_model::{Nanos, Phase, Progress};
use iostack_report::{fixture, text};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let screen = match words.first().map_or("check", String::as_str) {
        "quick" => text::check(&fixture::check_quick()),
        "interrupted" => text::check(&fixture::check_interrupted()),
        "run" => text::outcome(&fixture::outcome_file()),
        "simulated" => text::outcome(&fixture::simulated_file()),
        "live" => live(),
        "compare" => comparison(),
        "stages" => text::stages(&fixture::stages()),
        "process" => text::stages(&fixture::stages_of_process()),
        "watch" => text::live_stages(&fixture::stages_of_process()),
        "layers" => text::layers(&fixture::layers()),
        "clocks" => text::layers(&fixture::layers_of_process()),
        "ladder" => text::ladder(&fixture::ladder()),
        "costs" => text::path_costs(&fixture::path_costs()),
        "iocost" => text::iocost_text(&fixture::iocost(), false),
        "ahci" => text::iocost_text(&fixture::iocosts()[4], true),
        "iocosts" => text::costs_text(&fixture::iocosts()),
        "costdiff" => text::costdiff_text(&fixture::costdiff()),
        "budgets" => text::budget_text(&fixture::budgets()),
        "calltree" => {
            fixture::iocost().tree.map_or_else(String::new, |tree| text::calltree_text(&tree, 12, 50))
        }
        _ => text::check(&fixture::check()),
    };
    let plain = words.iter().any(|word| word == "ascii");
    print!("{}", if plain { text::ascii(&screen) } else { screen });
}

fn live() -> String {
    let live = Progress {
        job: "random-read".to_owned(),
        phase: Phase::Running,
        elapsed: Nanos::millis(4_200),
        expected: Some(Nanos::secs(10)),
        read_iops: 339_000.0,
        write_iops: 145_000.0,
        bandwidth: 1.987e9,
        p50: Nanos::micros(64),
        p99: Nanos::micros(110),
        ..Progress::default()
    };
    [120, 80, 60, 40].map(|width| text::live_within(&live, width) + "\n").concat()
}

fn comparison() -> String {
    let mut outcomes = fixture::outcome_file().outcomes;
    let (a, b) = (outcomes.remove(0), outcomes.remove(0));
    let machine = fixture::machine();
    text::comparison(
        &iostack_stats::compare(&a, &b, (&machine, &machine), iostack_doubt::says),
        "before.json",
        "after.json",
    )
}

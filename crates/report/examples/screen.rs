//! Prints the reports of the fixture, to look at them:
//! `cargo run -p iostack-report --features fixture --example screen -- check`.
//!
//! The word chooses the screen: `check` (default), `quick`, `interrupted`, `run`, `simulated`, `live`,
//! `compare`, `stages`, `process`, `watch`, `layers`, `clocks`, `ladder`, `iocost`, `ahci`, `iocosts`,
//! `costdiff`, `budgets`, `calltree`, `ab`, `merge`, `iolat`, `history`, `steps`. `ascii` after it shows what a terminal
//! without Unicode gets.

use iostack_model::answers::IoCost;
use iostack_model::{Nanos, Phase, Progress};
use iostack_report::{CostDetail, fixture, text};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let screen = match words.first().map_or("check", String::as_str) {
        "quick" => iostack_report::check(&fixture::check_quick()).text(),
        "interrupted" => iostack_report::check(&fixture::check_interrupted()).text(),
        "run" => iostack_report::run(&fixture::outcome_file()).text(),
        "simulated" => iostack_report::run(&fixture::simulated_file()).text(),
        "live" => live(),
        "compare" => comparison(),
        "stages" => iostack_report::attribution(Some(&fixture::stages()), None).text(),
        "process" => iostack_report::attribution(Some(&fixture::stages_of_process()), None).text(),
        "watch" => text::live_stages(&fixture::stages_of_process()),
        "layers" => iostack_report::attribution(None, Some(&fixture::layers())).text(),
        "clocks" => iostack_report::attribution(None, Some(&fixture::layers_of_process())).text(),
        "ladder" => iostack_report::ladder(&fixture::ladder()).text(),
        "iocost" => cost(&[fixture::iocost()], CostDetail::default()),
        "ahci" => cost(&fixture::iocosts()[4..], CostDetail { full: true, tree: false }),
        "iocosts" => cost(&fixture::iocosts(), CostDetail::default()),
        "costdiff" => iostack_report::iocost(&[], Some(&fixture::costdiff()), CostDetail::default()).text(),
        "budgets" => iostack_report::budgets(&fixture::budgets()).text(),
        "calltree" => cost(&[fixture::iocost()], CostDetail { full: false, tree: true }),
        "ab" => iostack_report::ab(&fixture::ab()).text(),
        "merge" => iostack_report::merge(&fixture::merge()).text(),
        "history" => iostack_report::history(&fixture::history()).text(),
        "steps" => iostack_report::history(&fixture::history_of_one()).text(),
        "iolat" => iostack_report::iolat(&fixture::iolat()).text(),
        _ => iostack_report::check(&fixture::check()).text(),
    };
    let plain = words.iter().any(|word| word == "ascii");
    print!("{}", if plain { text::ascii(&screen) } else { screen });
}

fn cost(costs: &[IoCost], detail: CostDetail) -> String {
    iostack_report::iocost(costs, None, detail).text()
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
    iostack_report::comparison(
        &iostack_stats::compare(&a, &b, (&machine, &machine), iostack_doubt::says),
        "random-read",
        ["before.json", "after.json"],
    )
    .text()
}

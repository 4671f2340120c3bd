//! Exact costs on the screen: they fit, they add up, and they say what is missing.

use iostack_model::{CallNode, IoCost};

use super::format::count;
use super::tests::{assert_fits, assert_says};
use super::{ascii, budget_text, calltree_text, costdiff_text, costs_text, iocost_text};
use crate::fixture;

/// A name that no column holds.
fn long() -> String {
    "a_function_of_the_kernel_whose_name_is_longer_than_any_column.constprop.0".repeat(2)
}

fn every_screen(cost: &IoCost) -> Vec<String> {
    let mut diff = fixture::costdiff();
    diff.after = cost.clone();
    vec![
        iocost_text(cost, false),
        iocost_text(cost, true),
        costs_text(&[cost.clone(), fixture::iocost()]),
        costdiff_text(&diff),
    ]
}

#[test]
fn every_screen_fits_eighty_columns_with_and_without_unicode() {
    let mut screens: Vec<String> = fixture::iocosts().iter().flat_map(every_screen).collect();
    screens.push(budget_text(&fixture::budgets()));
    screens.push(calltree_text(fixture::iocost().tree.as_ref().expect("it was traced"), 99, 0));
    for screen in screens {
        assert_fits(&screen);
        assert!(ascii(&screen).is_ascii() && !ascii(&screen).contains('?'), "{}", ascii(&screen));
    }
}

#[test]
fn long_names_and_large_numbers_fit_too() {
    let mut cost = fixture::iocosts().swap_remove(4);
    for case in [&mut cost.case.device, &mut cost.case.scheduler, &mut cost.case.kernel, &mut cost.how] {
        *case = format!("long {}", &long()[..40]);
    }
    cost.case.options = vec![("capacity_mib".to_owned(), "64".to_owned()); 9];
    cost.layers[0].layer = long();
    (cost.functions[0].name, cost.functions[0].module) = (long(), Some(long()));
    cost.functions[0].calls = Some(99_999);
    let uses = cost.mmio.as_mut().expect("registers were counted");
    (uses[0].function, uses[0].region, uses[0].register) = (long(), long(), Some(long()));
    for screen in every_screen(&cost) {
        assert_fits(&screen);
    }
    let mut diff = fixture::costdiff();
    (diff.functions[0].name, diff.functions[0].layer, diff.layers[0].name) = (long(), long(), long());
    diff.layers[0].after = 9_999_999;
    assert_fits(&costdiff_text(&diff));
    let mut verdicts = fixture::budgets();
    (verdicts[0].name, verdicts[2].grown[0].name) = (long(), long());
    (verdicts[2].grown[1].name, verdicts[2].grown[1].layer) = (long(), long());
    assert_fits(&budget_text(&verdicts));
}

#[test]
fn the_screen_says_the_number_its_share_the_layers_and_the_limits() {
    let cost = fixture::iocosts().swap_remove(4);
    let screen = iocost_text(&cost, false);
    assert_says(
        &screen,
        &[
            "COST of one I/O: 4 KiB read of ahci",
            "psync, bare device, direct, scheduler none, kernel 6.1.0-fixture, mitigations off",
            "8,871 INSTRUCTIONS, exactly, in 93.5 % of 5,000 I/Os",
            "8,879 240 4.8",
            "+8",
            "8,871 in each of 5 boots",
            "time-stamp counter saw 6 more",
            "scheduler 2,730 30.8",
            "SUM 8,871 100.0",
            "ahci_qc_issue ahci PxCI 0 1",
            "0xfebf1134 1 0",
            "16,171 clocks = 8,871 instructions x 1.00 + 3 register reads x 2,100 + 4 register writes x 250",
            "35,000 clocks",
            "2,100 clocks each, on the mean, are 8,400",
            "Instructions are not clocks",
            "iteration of a `rep` instruction counts as one",
            "one virtual CPU",
        ],
    );
    assert!(
        screen.lines().last().is_some_and(|line| line.starts_with("next: iostack lab cost ahci")),
        "{screen}"
    );
}

#[test]
fn every_number_of_the_data_is_on_the_full_screen() {
    for cost in fixture::iocosts() {
        let screen = iocost_text(&cost, true);
        let said = |name: &str, number: u64| {
            let number = count(number);
            screen
                .lines()
                .any(|line| line.starts_with(name) && line.split_whitespace().any(|word| word == number))
        };
        for layer in &cost.layers {
            assert!(said(&layer.layer, layer.instructions), "{layer:?}\n{screen}");
        }
        for one in &cost.functions {
            assert!(
                said(&one.name, one.instructions) && said(&one.name, one.calls.unwrap_or_default()),
                "{one:?}"
            );
        }
        for mode in &cost.modes {
            assert!(said(&count(mode.instructions), mode.ios), "{mode:?}\n{screen}");
        }
        for one in cost.mmio.iter().flatten() {
            assert!(said(&one.function, one.reads) && said(&one.function, one.writes), "{one:?}");
        }
    }
}

#[test]
fn what_is_folded_is_counted() {
    let cost = fixture::iocost();
    let screen = iocost_text(&cost, false);
    let told: u64 = cost.functions.iter().take(16).map(|one| one.instructions).sum();
    let rest = format!("... {} more {}", cost.functions.len() - 16, count(cost.instructions - told));
    assert_says(&screen, &[&rest]);
}

#[test]
fn nothing_traced_nothing_counted_and_one_mode_are_told() {
    let mut cost = fixture::iocost();
    (cost.mmio, cost.tree, cost.tsc_excess) = (None, None, None);
    cost.modes.truncate(1);
    cost.functions.iter_mut().for_each(|one| one.calls = None);
    let screen = iocost_text(&cost, false);
    assert_fits(&screen);
    assert_says(
        &screen,
        &["were not counted", "no clocks: they need the register accesses", "does not compare"],
    );
    assert!(!screen.contains("EXACT COUNT"), "one mode needs no table\n{screen}");
    assert_fits(&costs_text(&[cost.clone()]));
    (cost.modes, cost.layers, cost.functions) = (Vec::new(), Vec::new(), Vec::new());
    (cost.boots, cost.ios, cost.instructions) = (Vec::new(), 0, 0);
    let screen = iocost_text(&cost, true);
    assert_fits(&screen);
    assert_says(&screen, &["NOT ONE I/O was counted"]);
    assert_fits(&costs_text(&[]));
    assert_says(&budget_text(&[]), &["nothing was held against a budget"]);
}

#[test]
fn what_is_wrong_is_not_hidden() {
    let mut cost = fixture::iocost();
    cost.layers[0].instructions += 1;
    cost.unclassified = vec!["mystery".to_owned()];
    cost.tsc_excess = Some(-30);
    assert_says(
        &iocost_text(&cost, false),
        &[
            "do not add up: layers 9,126, functions 9,125, the I/O 9,125",
            "1 functions have none: mystery",
            "30 FEWER: one of the two is wrong",
        ],
    );
}

#[test]
fn the_readings_of_the_clock_are_no_alarm() {
    let mut cost = fixture::iocost();
    cost.tsc_excess = Some(-1);
    assert_says(&iocost_text(&cost, false), &["counter agrees: 1 fewer, of the code that reads"]);
}

#[test]
fn a_survey_says_once_what_all_cases_have() {
    let screen = costs_text(&fixture::iocosts());
    assert_says(
        &screen,
        &[
            "5 cases",
            "all read, 4 KiB, psync, bare device, direct, scheduler none, kernel 6.1.0-fixture",
            "brd 3,000 93.5 0/0 3,000 mm 26, block 21",
            "ahci 8,871 93.5 3/4 16,171",
        ],
    );
    assert_eq!(screen.matches("psync").count(), 1);
}

#[test]
fn a_difference_adds_up_and_names_its_functions() {
    let screen = costdiff_text(&fixture::costdiff());
    assert_says(
        &screen,
        &[
            "varied kernel 6.1.0-fixture -> 6.12.0-fixture",
            "INSTRUCTIONS 9,756 3,547 -6,209 -63.6 %",
            "scheduler 6,262 0 -6,262 gone",
            "blk_mq_submit_bio block 386 431 +45",
        ],
    );
    let sum = screen.lines().find(|line| line.starts_with("SUM of what changed")).expect("a sum");
    assert!(sum.ends_with("-6,209"), "{sum}");
    let mut same = fixture::costdiff();
    same.after = same.before.clone();
    (same.layers, same.functions, same.varied) = (Vec::new(), Vec::new(), Vec::new());
    assert_says(&costdiff_text(&same), &["the same case twice", "No layer changed."]);
}

#[test]
fn a_broken_budget_names_the_layer_and_the_function() {
    let screen = budget_text(&fixture::budgets());
    assert_says(
        &screen,
        &["1 of 3 DO NOT HOLD", "scsi_ram-read 6,220 6,200 +20 NO", "layer scsi 1,514 1,494 +20"],
    );
    assert_says(&screen, &["scsi_ram_queuecommand (scsi) 161 143 +18", "null_blk-read 4,316 4,316 0 yes"]);
}

/// Sums of the lines at a depth of the drawing.
fn at_depth(screen: &str, depth: usize) -> u64 {
    let lines = screen.lines().skip(1).filter(|line| line[22..].matches("| ").count() == depth);
    lines.map(|line| line[..12].trim().replace(',', "").parse::<u64>().expect("a number")).sum()
}

#[test]
fn callees_and_what_is_folded_add_up_to_their_caller() {
    let leaf = |name: &str, instructions, times| CallNode {
        name: name.to_owned(),
        layer: "block".to_owned(),
        instructions,
        calls: Vec::new(),
        times,
    };
    let middle = CallNode { calls: vec![leaf("small", 3, 2), leaf("large", 50, 1)], ..leaf("middle", 10, 4) };
    let root = CallNode { calls: vec![middle, leaf("last", 1, 1)], ..leaf("root", 5, 1) };
    let screen = calltree_text(&root, 9, 30);
    assert_eq!(
        screen.lines().skip(1).collect::<Vec<_>>(),
        [
            "         270       5  root (block)",
            "         264      40  | middle x4",
            "         200     200  | | large",
            "          24          | | ... 1 call folded",
            "           1          | ... 1 call folded",
        ]
    );
    let tree = fixture::iocost().tree.expect("it was traced");
    for (depth_max, least) in [(99, 0), (99, 200), (3, 0), (0, 0)] {
        let screen = calltree_text(&tree, depth_max, least);
        assert_eq!(at_depth(&screen, 0), tree.whole());
        assert_eq!(at_depth(&screen, 1), tree.whole() - tree.instructions, "{screen}");
    }
}

#[test]
fn calls_deeper_than_the_drawing_say_their_depth() {
    let mut node =
        CallNode { name: long(), layer: "block".to_owned(), instructions: 1, calls: Vec::new(), times: 1 };
    for _ in 0..60 {
        node = CallNode {
            calls: vec![node],
            name: "caller".to_owned(),
            layer: "vfs".to_owned(),
            instructions: 1,
            times: 1,
        };
    }
    let screen = calltree_text(&node, 99, 0);
    assert_fits(&screen);
    assert!(screen.contains(" 59: caller") && screen.lines().count() == 62, "{screen}");
}

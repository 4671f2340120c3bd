//! Exact costs are told wholly and soundly, they add up, and what is missing or wrong is said.

use iostack_model::answers::{CallNode, CostDiff, IoCost};

use super::calltree::drawing;
use super::{CostDetail, budgets, iocost};
use crate::document::tests::{fits, sound};
use crate::fixture;
use crate::pages::tests::screens::assert_says;
use crate::pages::tests::sound::HOSTILE;
use crate::text::ascii;
use crate::text::format::count;

const FULL: CostDetail = CostDetail { full: true, tree: true };

/// A name that no column holds.
fn long() -> String {
    "a_function_of_the_kernel_whose_name_is_longer_than_any_column.constprop.0".repeat(2)
}

/// Screen and page, which are what all are.
fn told(costs: &[IoCost], diff: Option<&CostDiff>, detail: CostDetail) -> (String, String) {
    let document = iocost(costs, diff, detail);
    let (text, page) = (document.text(), document.html());
    fits(&text);
    assert!(ascii(&text).is_ascii() && !ascii(&text).contains('?'), "{}", ascii(&text));
    sound(&page);
    (text, page)
}

fn text(cost: &IoCost) -> String {
    told(std::slice::from_ref(cost), None, CostDetail::default()).0
}

fn everywhere(cost: &IoCost) {
    let mut diff = fixture::costdiff();
    diff.after = cost.clone();
    for detail in [CostDetail::default(), FULL] {
        told(std::slice::from_ref(cost), None, detail);
        told(&[cost.clone(), fixture::iocost()], None, detail);
        told(&[], Some(&diff), detail);
    }
}

#[test]
fn every_screen_fits_and_every_page_is_sound() {
    fixture::iocosts().iter().for_each(everywhere);
    told(&fixture::iocosts(), Some(&fixture::costdiff()), FULL);
    let (text, page) = told(&[], None, FULL);
    assert!(text.contains("No case was counted.") && page.contains("No case was counted."), "{text}");
    assert!(text.ends_with("next: iostack lab cost scsi_ram    # functions of one case\n"), "{text}");
}

#[test]
fn long_names_and_large_numbers_fit_too() {
    let mut cost = fixture::iocosts().swap_remove(4);
    for case in [&mut cost.case.device, &mut cost.case.scheduler, &mut cost.case.kernel, &mut cost.how] {
        *case = format!("long {}", &long()[..40]);
    }
    cost.case.options = vec![("capacity_mib".to_owned(), "64".to_owned()); 9];
    (cost.layers[0].layer, cost.layers[0].instructions) = (long()[..60].to_owned(), u64::MAX);
    (cost.functions[0].name, cost.functions[0].module) = (long(), Some(long()));
    (cost.functions[0].calls, cost.modes[1].ios) = (Some(u64::MAX), u64::MAX);
    let uses = cost.mmio.as_mut().expect("registers were counted");
    (uses[0].function, uses[0].region, uses[0].register) = (long(), long(), Some(long()));
    everywhere(&cost);
    let mut diff = fixture::costdiff();
    (diff.functions[0].name, diff.functions[0].layer) = (long(), long());
    "a_layer".repeat(8).clone_into(&mut diff.layers[0].name);
    (diff.layers[0].after, diff.functions[0].after) = (u64::MAX, u64::MAX);
    told(&[], Some(&diff), FULL);
    let mut verdicts = fixture::budgets();
    (verdicts[0].name, verdicts[2].grown[0].name) = (long(), long());
    (verdicts[2].grown[1].name, verdicts[2].grown[1].layer) = (long(), long());
    fits(&budgets(&verdicts).text());
}

#[test]
fn the_number_its_share_the_layers_and_the_limits_are_said_to_both() {
    let (text, page) = told(&fixture::iocosts()[4..], None, CostDetail::default());
    let facts = [
        "4 KiB read of ahci",
        "psync, bare device, direct, scheduler none, kernel 6.1.0-fixture, mitigations off",
        "costs exactly 8,871 instructions, in 93.5 % of 5,000 I/Os; most of them in scheduler: 30.8 %.",
        "8,871 in each of 5 boots",
        "time-stamp counter saw 6 more",
        "16,171 clocks = 8,871 instructions x 1.00 + 3 register reads x 2,100 + 4 register writes x 250",
        "35,000 clocks",
        "2,100 clocks each, on the mean, are 8,400",
        "Instructions are not clocks",
        "iteration of a `rep` instruction counts as one",
        "one virtual CPU",
        "+1,873",
        "PxSACT",
        "0xfebf1134",
    ];
    assert_says(&text, &facts);
    assert_says(&page, &facts);
    let rows = ["8,879 240 4.8", "scheduler 2,730 30.8", "SUM 8,871 100.0", "ahci_qc_issue ahci PxCI 0x"];
    assert_says(&text, &rows);
    assert!(
        text.lines().last().is_some_and(|line| line.starts_with("next: iostack lab cost ahci")),
        "{text}"
    );
}

#[test]
fn every_number_of_the_data_is_told() {
    for cost in fixture::iocosts() {
        let (text, page) = told(std::slice::from_ref(&cost), None, FULL);
        let said = |name: &str, number: u64| {
            let number = count(number);
            let in_line = |line: &str| line.split_whitespace().any(|word| word == number);
            assert!(
                text.lines().any(|line| line.starts_with(name) && in_line(line)),
                "{name} {number}\n{text}"
            );
            assert!(page.contains(&format!("<td class=\"number\">{number}</td>")), "{name} {number}");
        };
        cost.layers.iter().for_each(|layer| said(&layer.layer, layer.instructions));
        for one in &cost.functions {
            said(&one.name, one.instructions);
            said(&one.name, one.calls.unwrap_or_default());
        }
        cost.modes.iter().for_each(|mode| said(&count(mode.instructions), mode.ios));
        for one in cost.mmio.iter().flatten() {
            said(&one.function, one.reads);
            said(&one.function, one.writes);
        }
    }
}

#[test]
fn what_is_folded_is_counted() {
    let cost = fixture::iocost();
    let told: u64 = cost.functions.iter().take(16).map(|one| one.instructions).sum();
    let rest = format!("... {} more {}", cost.functions.len() - 16, count(cost.instructions - told));
    assert_says(&text(&cost), &[&rest]);
}

#[test]
fn nothing_traced_nothing_counted_and_nothing_changed_are_told() {
    let mut cost = fixture::iocost();
    (cost.mmio, cost.tree, cost.tsc_excess) = (None, None, None);
    cost.modes.truncate(1);
    cost.functions.iter_mut().for_each(|one| one.calls = None);
    let (text, page) = told(std::slice::from_ref(&cost), None, FULL);
    let facts = ["were not counted", "no clocks: they need the register accesses", "does not compare"];
    assert_says(&text, &facts);
    assert_says(&page, &facts);
    assert!(!text.contains("EXACT COUNT"), "one mode needs no table\n{text}");
    assert!(page.contains("was not traced"));
    (cost.modes, cost.layers, cost.functions) = (Vec::new(), Vec::new(), Vec::new());
    (cost.boots, cost.ios, cost.instructions) = (Vec::new(), 0, 0);
    everywhere(&cost);
    let (text, page) = told(&[cost.clone()], None, FULL);
    assert!(text.contains("NOT ONE I/O was counted") && page.contains("Not one I/O was counted"), "{text}");
    let (_, page) = told(&[cost.clone(), cost], None, FULL);
    assert!(page.contains("Not one I/O was counted"));
    let mut same = fixture::costdiff();
    same.after = same.before.clone();
    (same.layers, same.functions, same.varied) = (Vec::new(), Vec::new(), Vec::new());
    let (text, page) = told(&[], Some(&same), FULL);
    for facts in [text, page] {
        assert_says(&facts, &["the same case twice", "No layer changed.", "Nothing changed: 9,756"]);
    }
    assert_says(&budgets(&[]).text(), &["Nothing was held against a budget"]);
}

#[test]
fn what_is_wrong_is_not_hidden() {
    let mut cost = fixture::iocost();
    cost.layers[0].instructions += 1;
    cost.unclassified = vec!["mystery".to_owned()];
    cost.tsc_excess = Some(-30);
    let (text, page) = told(std::slice::from_ref(&cost), None, FULL);
    for told in [text, page] {
        let facts = [
            "do not add up: layers 9,126, functions 9,125, the I/O 9,125",
            "NO LAYER: 1 functions have none: mystery",
            "30 FEWER: one of the two is wrong",
        ];
        assert_says(&told, &facts);
    }
    cost.tsc_excess = Some(-1);
    assert_says(&self::text(&cost), &["counter agrees: 1 fewer, of the code that reads"]);
    for broken in [f64::NAN, f64::INFINITY, -1e9, 0.0] {
        cost.prices.cpi = broken;
        everywhere(&cost);
    }
}

#[test]
fn names_of_functions_stay_text() {
    let mut cost = fixture::iocosts().swap_remove(4);
    let hostile = || HOSTILE.to_owned();
    (cost.case.device, cost.case.kernel, cost.how) = (hostile(), hostile(), hostile());
    cost.case.options.push((hostile(), hostile()));
    (cost.layers[0].layer, cost.layers[0].meaning) = (hostile(), hostile());
    let function = &mut cost.functions[0];
    (function.name, function.layer, function.module) = (hostile(), hostile(), Some(hostile()));
    let uses = cost.mmio.as_mut().expect("registers were counted");
    (uses[0].function, uses[0].region, uses[0].register) = (hostile(), hostile(), Some(hostile()));
    let tree = cost.tree.as_mut().expect("it was traced");
    (tree.name, tree.layer) = ("<lambda>".to_owned(), hostile());
    (cost.unclassified, cost.notes) = (vec![hostile()], vec![hostile()]);
    let mut diff = fixture::costdiff();
    (diff.layers[0].name, diff.functions[0].name, diff.varied[0]) = (hostile(), hostile(), hostile());
    diff.before = cost.clone();
    let page = iocost(&[cost.clone(), cost], Some(&diff), FULL).html();
    sound(&page);
    assert!(page.contains("&lt;lambda&gt;") && !page.contains("<lambda>"));
    assert!(!page.contains("<img") && !page.contains("alert(1)</script>"));
    assert_eq!(page.matches("<script").count(), 2, "the data and our own");
}

#[test]
fn a_survey_says_once_what_all_cases_have_and_its_bars_are_as_long_as_their_costs() {
    let costs = fixture::iocosts();
    let (text, page) = told(&costs, None, CostDetail::default());
    assert_says(
        &text,
        &[
            "5 cases",
            "all read, 4 KiB, psync, bare device, direct, scheduler none, kernel 6.1.0-fixture",
            "brd 3,000 93.5 0/0 3,000 mm 26, block 21",
            "ahci 8,871 93.5 3/4 16,171",
            "One I/O costs 3,000 instructions (brd) to 9,667 (ata_ram).",
        ],
    );
    assert_eq!(text.matches("psync").count(), 1);
    let table =
        page.split("by layer</h4>").nth(1).and_then(|rest| rest.split("</table>").next()).expect("bars");
    let bars: Vec<&str> = table.split("role=\"img\"").skip(1).collect();
    assert_eq!(bars.len(), costs.len());
    let width = |part: &str| -> f64 {
        let text = part.split(" width=\"").nth(1).and_then(|rest| rest.split('%').next()).expect("a width");
        text.parse().expect("a number")
    };
    for (cost, bar) in costs.iter().zip(bars) {
        let drawn: f64 = bar.split("<svg class=\"s").skip(1).map(width).sum();
        assert!((drawn - cost.instructions as f64 / 9_667.0 * 100.0).abs() < 0.05, "{}", cost.case.device);
        let layer = &cost.layers[0];
        assert!(page.contains(&format!("<td class=\"number\">{}</td>", count(layer.instructions))));
    }
}

#[test]
fn a_difference_adds_up_and_names_its_functions() {
    let diff = fixture::costdiff();
    let (text, page) = told(&[diff.before.clone(), diff.after.clone()], Some(&diff), CostDetail::default());
    let rows = [
        "varied kernel 6.1.0-fixture -> 6.12.0-fixture",
        "instructions 9,756 3,547 -6,209 -63.6 %",
        "scheduler 6,262 0 -6,262 gone",
        "blk_mq_submit_bio block 386 431 +45",
    ];
    assert_says(&text, &rows);
    let sum = text.lines().find(|line| line.starts_with("SUM of what changed")).expect("a sum");
    assert!(sum.contains("-6,209"), "{sum}");
    assert!(!text.contains("modal %"), "the screen of a difference has no more: {text}");
    for fact in ["-6,209 instructions (-63.6 %), most of it in scheduler: -6,262.", "id=\"case-2\""] {
        assert!(page.contains(fact), "{fact} is missing");
    }
}

#[test]
fn a_broken_budget_names_the_layer_and_the_function() {
    let text = budgets(&fixture::budgets()).text();
    fits(&text);
    let rows = [
        "1 of 3 DO NOT HOLD",
        "scsi_ram-read 6,220 6,200 +20 NO",
        "layer scsi 1,514 1,494 +20",
        "scsi_ram_queuecommand (scsi) 161 143 +18",
        "null_blk-read 4,316 4,316 0 yes",
    ];
    assert_says(&text, &rows);
}

#[test]
fn a_layer_has_one_colour_on_the_whole_page() {
    let (_, page) = told(&fixture::iocosts(), Some(&fixture::costdiff()), CostDetail::default());
    for layer in ["scheduler", "block", "libata"] {
        let before = |what: String| {
            let at = page.find(&what).unwrap_or_else(|| panic!("{what}"));
            let class = page[..at].rsplit("class=\"").next().and_then(|rest| rest.split('"').next());
            class.and_then(|class| class.split(' ').next_back()).expect("a class before it").to_owned()
        };
        let (swatch, part) = (before(format!("\">{layer}</span>")), before(format!("<title>{layer}: ")));
        assert!(swatch.starts_with('s') && part == swatch, "{layer}: {swatch} {part}");
    }
}

fn leaf(name: &str, instructions: u64, times: u64) -> CallNode {
    CallNode { name: name.to_owned(), layer: "block".to_owned(), instructions, calls: Vec::new(), times }
}

#[test]
fn calls_are_folded_below_three_levels_and_small_ones_are_summed_up_on_a_full_page() {
    let mut cost = fixture::iocost();
    let (_, page) = told(std::slice::from_ref(&cost), None, CostDetail::default());
    assert!(page.contains(" open=\"open\"><summary>"));
    assert!(page.contains("<i></i><span>blk_mq_submit_bio</span>"), "all calls are there, folded or not");
    let at = page.find("<i></i><span>blkdev_read_iter").expect("a call");
    let opened = page[..at].rfind("<details").expect("it can be unfolded");
    assert!(!page[opened..at].contains("open="), "the fourth level is folded");
    let calls = (0..20_000).map(|index| leaf(&format!("function_{index}"), 1 + index % 50, 1)).collect();
    cost.tree = Some(CallNode { calls, ..leaf("function", 1, 1) });
    let (_, page) = told(&[cost], None, CostDetail::default());
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert!(page.contains(" small ones") && page.contains("instructions are summed up"));
}

/// Sums of the lines at a depth of the drawing.
fn at_depth(drawing: &str, depth: usize) -> u64 {
    let lines = drawing.lines().skip(1).filter(|line| line[22..].matches("| ").count() == depth);
    lines.map(|line| line[..12].trim().replace(',', "").parse::<u64>().expect("a number")).sum()
}

#[test]
fn callees_and_what_is_folded_add_up_to_their_caller() {
    let middle = CallNode { calls: vec![leaf("small", 3, 2), leaf("large", 50, 1)], ..leaf("middle", 10, 4) };
    let root = CallNode { calls: vec![middle, leaf("last", 1, 1)], ..leaf("root", 5, 1) };
    let drawn = drawing(&root, 9, 30);
    assert_eq!(
        drawn.lines().skip(1).collect::<Vec<_>>(),
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
        let drawn = drawing(&tree, depth_max, least);
        assert_eq!(at_depth(&drawn, 0), tree.whole());
        assert_eq!(at_depth(&drawn, 1), tree.whole() - tree.instructions, "{drawn}");
    }
}

#[test]
fn calls_deeper_than_the_drawing_say_their_depth() {
    let mut node = leaf(&long(), 1, 1);
    for _ in 0..60 {
        node = CallNode { calls: vec![node], layer: "vfs".to_owned(), ..leaf("caller", 1, 1) };
    }
    let drawn = drawing(&node, 99, 0);
    fits(&drawn);
    assert!(drawn.contains(" 59: caller") && drawn.lines().count() == 62, "{drawn}");
}

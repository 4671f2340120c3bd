//! Exact costs add up and are told wholly.

use iostack_model::answers::CallNode;

use super::calltree::drawing;
use super::{CostDetail, iocost};
use crate::fixture;
use crate::pages::tests::sound::assert_fits;
use crate::text::format::count;

const FULL: CostDetail = CostDetail { full: true, tree: true };

#[test]
fn every_number_of_the_data_is_told() {
    for cost in fixture::iocosts() {
        let document = iocost(std::slice::from_ref(&cost), None, FULL);
        let (text, page) = (document.text(), document.html());
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
fn bars_of_a_survey_are_as_long_as_their_costs() {
    let costs = fixture::iocosts();
    let page = iocost(&costs, None, CostDetail::default()).html();
    let table = page.split("by layer</h4>").nth(1).and_then(|rest| rest.split("</table>").next());
    let bars: Vec<&str> = table.expect("bars").split("role=\"img\"").skip(1).collect();
    assert_eq!(bars.len(), costs.len());
    let width = |part: &str| part.split(" width=\"").nth(1)?.split('%').next()?.parse::<f64>().ok();
    for (cost, bar) in costs.iter().zip(bars) {
        let drawn: f64 = bar.split("<svg class=\"s").skip(1).filter_map(width).sum();
        assert!((drawn - cost.instructions as f64 / 9_667.0 * 100.0).abs() < 0.05, "{}", cost.case.device);
    }
}

#[test]
fn a_layer_has_one_colour_on_the_whole_page() {
    let diff = fixture::answer("costdiff");
    let page = iocost(&fixture::iocosts(), Some(&diff), CostDetail::default()).html();
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
fn calls_are_folded_below_three_levels() {
    let page = iocost(&fixture::iocosts()[2..3], None, CostDetail::default()).html();
    let at = page.find("<i></i><span>blkdev_read_iter").expect("a call");
    let opened = page[..at].rfind("<details").expect("it can be unfolded");
    assert!(page.contains(" open=\"open\"><summary>") && !page[opened..at].contains("open="));
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
    let tree = fixture::iocosts().swap_remove(2).tree.expect("it was traced");
    for (depth_max, least) in [(99, 0), (99, 200), (3, 0), (0, 0)] {
        let drawn = drawing(&tree, depth_max, least);
        assert_eq!(at_depth(&drawn, 0), tree.whole());
        assert_eq!(at_depth(&drawn, 1), tree.whole() - tree.instructions, "{drawn}");
    }
}

#[test]
fn calls_deeper_than_the_drawing_say_their_depth() {
    let mut node = leaf(&"a_name_that_no_column_holds".repeat(5), 1, 1);
    for _ in 0..60 {
        node = CallNode { calls: vec![node], layer: "vfs".to_owned(), ..leaf("caller", 1, 1) };
    }
    let drawn = drawing(&node, 99, 0);
    assert_fits(&drawn);
    assert!(drawn.contains(" 59: caller") && drawn.lines().count() == 62, "{drawn}");
}

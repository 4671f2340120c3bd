//! Exact costs on a page: sound whatever was counted, in the colours of their layers, and complete.

use iostack_model::{CallNode, CostDiff, IoCost};

use super::iocost_html;
use super::numbers::grouped;
use super::tests::{HOSTILE, assert_sound};
use crate::fixture;

fn sound(costs: &[IoCost], diff: Option<&CostDiff>) -> String {
    let page = iocost_html(costs, diff);
    assert_sound(&page);
    page
}

#[test]
fn the_pages_of_the_fixture_are_sound() {
    let (costs, diff) = (fixture::iocosts(), fixture::costdiff());
    for each in &costs {
        sound(std::slice::from_ref(each), None);
    }
    sound(&costs, None);
    sound(&costs, Some(&diff));
    sound(&[], Some(&diff));
    assert!(sound(&[], None).contains("No case was counted"));
}

#[test]
fn nothing_traced_nothing_counted_and_nothing_changed_are_told() {
    let mut cost = fixture::iocost();
    (cost.mmio, cost.tree) = (None, None);
    cost.modes.truncate(1);
    let page = sound(std::slice::from_ref(&cost), None);
    assert!(page.contains("was not traced") && page.contains("They were not counted"));
    (cost.modes, cost.layers, cost.functions) = (Vec::new(), Vec::new(), Vec::new());
    (cost.ios, cost.instructions, cost.tsc_excess) = (0, 0, None);
    assert!(sound(&[cost.clone(), cost], None).contains("Not one I/O was counted"));
    let mut diff = fixture::costdiff();
    diff.after = diff.before.clone();
    (diff.layers, diff.functions, diff.varied) = (Vec::new(), Vec::new(), Vec::new());
    assert!(sound(&[], Some(&diff)).contains("Nothing changed"));
}

#[test]
fn broken_prices_are_not_drawn() {
    for broken in [f64::NAN, f64::INFINITY, -1e9, 0.0] {
        let mut costs = fixture::iocosts();
        for cost in &mut costs {
            cost.prices.cpi = broken;
        }
        sound(&costs, None);
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
    let page = sound(&[cost.clone(), cost], Some(&diff));
    assert!(page.contains("&lt;lambda&gt;") && !page.contains("<lambda>"));
    assert!(!page.contains("<img") && !page.contains("alert(1)</script>"));
    assert_eq!(page.matches("<script").count(), 2, "the data and our own");
}

#[test]
fn the_page_has_every_function_register_and_exact_count() {
    let cost = fixture::iocosts().swap_remove(4);
    let page = sound(std::slice::from_ref(&cost), None);
    for one in &cost.functions {
        assert!(
            page.contains(&format!(">{}</span></th><td>{}</td>", one.name, grouped(one.instructions))),
            "{one:?}"
        );
    }
    for layer in &cost.layers {
        assert!(
            page.contains(&format!("<td class=\"number\">{}</td>", grouped(layer.instructions))),
            "{layer:?}"
        );
    }
    for fact in [
        "93.5\u{202f}%",
        "PxSACT",
        "0xfebf1134",
        "+1\u{202f}873",
        "16\u{202f}171",
        "35,000 clocks",
        "exactly",
    ] {
        assert!(page.contains(fact), "{fact:?} is missing");
    }
}

/// Widths of the parts of each bar of the picture side by side, in percent.
fn widths(page: &str) -> Vec<f64> {
    let start = page.find("sidebyside\"><h4>").expect("the page has the picture");
    let end = start + page[start..].find("</table>").expect("the table ends");
    let bars = page[start..end].split("role=\"img\"").skip(1);
    let width = |tag: &str| -> f64 {
        let text = tag.split("width=\"").nth(1).and_then(|rest| rest.split('%').next()).expect("a width");
        text.parse().expect("a number")
    };
    bars.map(|bar| bar.split("<svg class=\"s").skip(1).map(width).sum()).collect()
}

#[test]
fn bars_side_by_side_are_as_long_as_their_costs() {
    let costs = fixture::iocosts();
    let widths = widths(&sound(&costs, None));
    let most = costs.iter().map(|cost| cost.instructions).max().expect("there are cases") as f64;
    assert_eq!(widths.len(), costs.len());
    for (cost, width) in costs.iter().zip(widths) {
        let expected = cost.instructions as f64 / most * 100.0;
        assert!((width - expected).abs() < 0.05, "{}: {width} {expected}", cost.case.device);
    }
}

#[test]
fn a_layer_has_one_colour_on_the_whole_page() {
    let page = sound(&fixture::iocosts(), Some(&fixture::costdiff()));
    for layer in ["scheduler", "block", "libata"] {
        let class = |before: &str| {
            let at = page.find(before).unwrap_or_else(|| panic!("{before}"));
            let from = page[..at].rfind("class=\"").expect("a class before it") + 7;
            page[from..]
                .split('"')
                .next()
                .expect("the class ends")
                .rsplit(' ')
                .next()
                .expect("a word")
                .to_owned()
        };
        let swatch = class(&format!("\">{layer}</span>"));
        let part = class(&format!("<title>{layer}: "));
        assert!(swatch.starts_with('s') && part.contains(&swatch), "{layer}: {swatch} {part}");
    }
}

#[test]
fn calls_are_folded_below_three_levels_and_small_ones_are_summed_up_on_a_full_page() {
    let cost = fixture::iocost();
    let page = sound(std::slice::from_ref(&cost), None);
    assert!(page.contains(" open=\"open\"><summary>"));
    assert!(page.contains("<i></i><span>blk_mq_submit_bio</span>"), "all calls are there, folded or not");
    let at = page.find("<i></i><span>blkdev_read_iter").expect("a call");
    let opened = page[..at].rfind("<details").expect("it can be unfolded");
    assert!(!page[opened..at].contains("open="), "the fourth level is folded");
    let leaf = |index: u64| CallNode {
        name: format!("function_{index}"),
        layer: "block".to_owned(),
        instructions: 1 + index % 50,
        calls: Vec::new(),
        times: 1,
    };
    let mut many = fixture::iocost();
    many.tree = Some(CallNode { calls: (0..20_000).map(leaf).collect(), ..leaf(0) });
    let page = sound(&[many], None);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert!(page.contains(" small ones") && page.contains("instructions are summed up"));
}

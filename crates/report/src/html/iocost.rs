//! What does one I/O cost, exactly, and where?
//!
//! The page of `iostack lab cost`: the cases side by side, what changed, then each case with its layers, calls, functions
//! and register accesses. A layer has one colour on the whole page. Start reading at [`page`].

use std::fmt::Write as _;

use iostack_model::{CostDiff, CostFunction, IoCost};

use super::layers::Colours;
use super::numbers::{NOTHING, grouped};
use super::page::{Section, document};
use super::sheet::Sheet;
use super::stages::{notes, percent};
use super::table::{pairs, table};
use super::tiles;
use super::{calltree, costbars, costdiff, escape, raw};
use crate::iocost::{
    Cases, LIMITS, PUBLISHED, boots, broken_sum, circumstances, clock_sum, clocks, place, price, prices,
    subject, tell_apart, time_stamp,
};

/// Functions shown before the fold, of few cases and of many.
const FUNCTIONS: [usize; 2] = [24, 8];
/// More cases than this are many.
const FEW: usize = 2;
/// Rows of all calls of the page: some 400 bytes each.
const CALLS: usize = 3_000;

/// How much of each case stands on the page.
struct Room {
    calls: usize,
    functions: usize,
}

/// The page.
pub(super) fn page(costs: &[IoCost], diff: Option<&CostDiff>) -> String {
    let of_diff = diff.map(|diff| [&diff.before, &diff.after]);
    let all: Vec<&IoCost> = costs.iter().chain(of_diff.into_iter().flatten()).collect();
    let names = costbars::names(&all);
    let colours = Colours::of_names(names.iter().map(String::as_str));
    let cases = tell_apart(costs);
    let mut sections = Vec::new();
    if let Some(diff) = diff {
        let body = costdiff::body(diff, &colours);
        sections.push(Section::new("changed", "What changed", "What changed", body));
    }
    if costs.len() > 1 {
        let body = survey(costs, &cases, &colours);
        sections.push(Section::new("cases", "Side by side", "The cases side by side", body));
    }
    let room = Room {
        calls: (CALLS / costs.len().max(1)).max(100),
        functions: FUNCTIONS[usize::from(costs.len() > FEW)],
    };
    for (index, (cost, name)) in costs.iter().zip(&cases.names).enumerate() {
        let title = if costs.len() > 1 { name.clone() } else { subject(&cost.case) };
        sections.push(Section::new(
            &format!("case-{}", index + 1),
            name,
            &title,
            case(cost, &colours, &room),
        ));
    }
    sections.push(Section::new("method", "How to read it", "How to read it", method(&all)));
    let sheet = Sheet::bare();
    document("iostack lab cost", &header(costs, diff, &cases), &sections, &sheet, &raw::costs(&all))
}

fn header(costs: &[IoCost], diff: Option<&CostDiff>, cases: &Cases) -> String {
    let about = match (diff, costs) {
        (Some(diff), _) => subject(&diff.after.case),
        (None, [one]) => circumstances(&one.case),
        _ => cases.common.clone(),
    };
    let about = if about.is_empty() { String::new() } else { format!(" · {}", escape::text(&about)) };
    let answer = match (diff, costs) {
        (Some(diff), _) => costdiff::answer(diff),
        (None, []) => "No case was counted".to_owned(),
        (None, [one]) => answer(one),
        (None, _) => answers(costs, cases),
    };
    format!("<p class=\"kicker\"><b>iostack lab cost</b>{about}</p><h1>{}</h1>", escape::text(&answer))
}

fn answer(cost: &IoCost) -> String {
    let most = cost.layers.first().map_or_else(String::new, |layer| {
        format!(
            ", most of them in {}: {}",
            layer.layer,
            percent(share(layer.instructions, cost.instructions))
        )
    });
    format!("A {} costs exactly {} instructions{most}", subject(&cost.case), grouped(cost.instructions))
}

fn answers(costs: &[IoCost], cases: &Cases) -> String {
    let place = |index: usize| (cases.names[index].as_str(), costs[index].instructions);
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by_key(|&index| costs[index].instructions);
    let (low, high) = (place(order[0]), place(order[order.len() - 1]));
    format!("One I/O costs {} instructions ({}) to {} ({})", grouped(low.1), low.0, grouped(high.1), high.0)
}

fn share(part: u64, whole: u64) -> f64 {
    if whole > 0 { part as f64 / whole as f64 } else { 0.0 }
}

/// All cases as bars and as a table.
fn survey(costs: &[IoCost], cases: &Cases, colours: &Colours<'_>) -> String {
    let every: Vec<&IoCost> = costs.iter().collect();
    let caption = "modal I/O of each; what the cases have alike stands first; the numbers of each part are in the cases \
                   below";
    let rows: Vec<Vec<String>> = costs
        .iter()
        .zip(&cases.names)
        .enumerate()
        .map(|(index, (cost, name))| {
            let (reads, writes) = registers(cost);
            vec![
                format!("<a href=\"#case-{}\">{}</a>", index + 1, escape::text(name)),
                grouped(cost.instructions),
                percent(cost.modal_share()),
                reads,
                writes,
                clocks(cost).map_or(NOTHING.to_owned(), grouped),
            ]
        })
        .collect();
    let heads =
        ["case", "instructions", "I/Os with exactly these", "register reads", "writes", "modelled clocks"];
    costbars::figure(&every, &cases.names, colours, caption) + &table(&heads, &rows)
}

fn registers(cost: &IoCost) -> (String, String) {
    cost.registers()
        .map_or((NOTHING.to_owned(), NOTHING.to_owned()), |(reads, writes)| (grouped(reads), grouped(writes)))
}

/// Everything about one case.
fn case(cost: &IoCost, colours: &Colours<'_>, room: &Room) -> String {
    if cost.modes.is_empty() {
        return "<p class=\"note\">Not one I/O was counted.</p>".to_owned() + &trust(cost);
    }
    let caption = format!(
        "the modal I/O, {} of {} alike; {}",
        grouped(cost.modes[0].ios),
        grouped(cost.ios),
        escape::text(&cost.how)
    );
    let tree = cost.tree.as_ref().map_or_else(
        || "<p class=\"note\">This I/O was not traced: there are no calls to unfold.</p>".to_owned(),
        |tree| calltree::figure(tree, colours, room.calls, &format!("{caption}.")),
    );
    tiles(cost)
        + &by_layer(cost, colours, &caption)
        + &tree
        + &by_function(cost, colours, room.functions)
        + &format!("<div class=\"two\"><div>{}</div><div>{}</div></div>", modes(cost), by_register(cost))
        + &trust(cost)
}

fn tiles(cost: &IoCost) -> String {
    let mut items = vec![
        ("instructions".to_owned(), grouped(cost.instructions), "of the commonest I/O, exactly".to_owned()),
        (
            "I/Os with exactly these".to_owned(),
            percent(cost.modal_share()),
            format!("of {}", grouped(cost.ios)),
        ),
    ];
    if let Some(first) = cost.layers.first() {
        items.push((
            format!("most in: {}", first.layer),
            percent(share(first.instructions, cost.instructions)),
            format!("{} instructions", grouped(first.instructions)),
        ));
    }
    let (reads, writes) = registers(cost);
    items.push(("register accesses".to_owned(), format!("{reads} / {writes}"), "reads / writes".to_owned()));
    if let Some(clocks) = clocks(cost) {
        let prices = cost.prices;
        let accesses = cost.registers().map_or(0, |(reads, writes)| reads + writes);
        let detail = if accesses == 0 {
            format!("instructions \u{d7} {}", price(prices.cpi))
        } else {
            format!(
                "instructions \u{d7} {} + {reads} \u{d7} {} + {writes} \u{d7} {}",
                price(prices.cpi),
                price(prices.mmio_read),
                price(prices.mmio_write)
            )
        };
        items.push(("modelled clocks".to_owned(), grouped(clocks), detail));
    }
    tiles::tiles(&items)
}

fn by_layer(cost: &IoCost, colours: &Colours<'_>, caption: &str) -> String {
    let total: u64 = cost.layers.iter().map(|row| row.instructions).sum();
    let most = cost.layers.iter().map(|row| row.instructions).max().unwrap_or(0);
    let mut rows = String::new();
    for row in &cost.layers {
        write!(
            rows,
            "<tr><th>{layer}<br/><small>{meaning}</small></th><td class=\"bar s{slot}\"><svg width=\"100%\" height=\"16\" \
             role=\"img\" aria-label=\"{layer} {share}\"><rect x=\"0\" y=\"2\" width=\"{width:.2}%\" height=\"12\"/></svg>\
             </td><td class=\"number\">{own}</td><td class=\"number\">{share}</td></tr>",
            layer = escape::text(&row.layer),
            meaning = escape::text(&row.meaning),
            slot = colours.slot(&row.layer),
            width = share(row.instructions, most) * 100.0,
            own = grouped(row.instructions),
            share = percent(share(row.instructions, total)),
        )
        .expect("a string takes everything");
    }
    format!(
        "<figure class=\"bars costlayers\"><h4>Instructions by layer</h4><div class=\"scroll\"><table><thead><tr><th>layer</th><th></th>\
         <th class=\"number\">instructions</th><th class=\"number\">share</th></tr></thead><tbody>{rows}\
         <tr class=\"partsum\"><th>sum</th><td></td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr></tbody>\
         </table></div><figcaption>{caption}</figcaption></figure>",
        grouped(total),
        percent(share(total, total)),
    )
}

fn by_function(cost: &IoCost, colours: &Colours<'_>, shown: usize) -> String {
    if cost.functions.is_empty() {
        return String::new();
    }
    let row = |one: &CostFunction| {
        vec![
            dotted(&one.name, colours.slot(&one.layer)),
            grouped(one.instructions),
            percent(share(one.instructions, cost.instructions)),
            one.calls.map_or(NOTHING.to_owned(), grouped),
            escape::text(&one.layer),
            escape::text(place(one)),
        ]
    };
    let rows: Vec<Vec<String>> = cost.functions.iter().map(row).collect();
    let heads = ["function", "instructions", "share", "calls", "layer", "module"];
    let (first, rest) = rows.split_at(rows.len().min(shown));
    let rest = if rest.is_empty() {
        String::new()
    } else {
        format!(
            "<details><summary>{} smaller functions</summary>{}</details>",
            rest.len(),
            table(&heads, rest)
        )
    };
    format!("<h3>Functions, without what they call</h3>{}{rest}", table(&heads, first))
}

/// A name behind the colour of its layer.
pub(super) fn dotted(name: &str, slot: usize) -> String {
    format!("<span class=\"swatch s{slot}\">{}</span>", escape::text(name))
}

fn modes(cost: &IoCost) -> String {
    let mut rows: Vec<Vec<String>> = cost
        .modes
        .iter()
        .map(|mode| {
            let beside = match costdiff::signed(cost.instructions, mode.instructions) {
                same if same == "0" => "the modal one".to_owned(),
                other => other,
            };
            let share = percent(share(mode.ios, cost.ios));
            vec![grouped(mode.instructions), grouped(mode.ios), share, beside]
        })
        .collect();
    let rest = cost.ios.saturating_sub(cost.modes.iter().map(|mode| mode.ios).sum());
    if rest > 0 {
        rows.push(vec!["others".to_owned(), grouped(rest), percent(share(rest, cost.ios)), String::new()]);
    }
    format!(
        "<h3>Exact counts</h3>{}",
        table(&["instructions", "I/Os", "share", "against the modal one"], &rows)
    )
}

fn by_register(cost: &IoCost) -> String {
    let Some(uses) = &cost.mmio else {
        return "<h3>Register accesses</h3><p>They were not counted.</p>".to_owned();
    };
    if uses.is_empty() {
        return "<h3>Register accesses</h3><p>No register of a device is read or written.</p>".to_owned();
    }
    let rows: Vec<Vec<String>> =
        uses.iter()
            .map(|one| {
                let address = format!("{:#x}", one.address);
                let register = one.register.as_ref().map_or(address.clone(), |name| {
                    format!("{} <small>{address}</small>", escape::text(name))
                });
                vec![
                    escape::text(&one.function),
                    escape::text(&one.region),
                    register,
                    grouped(one.reads),
                    grouped(one.writes),
                ]
            })
            .collect();
    format!("<h3>Register accesses</h3>{}", table(&["function", "of", "register", "reads", "writes"], &rows))
}

fn trust(cost: &IoCost) -> String {
    let unknown: Vec<String> = cost.unclassified.iter().map(|name| escape::text(name)).collect();
    let unknown = if unknown.is_empty() {
        "every function has one".to_owned()
    } else {
        format!("<b class=\"held\">{} functions have none</b>: {}", unknown.len(), unknown.join(", "))
    };
    let wrong = broken_sum(cost)
        .map_or_else(String::new, |wrong| format!("<b class=\"held\">{}</b>", escape::text(&wrong)));
    let sum = clock_sum(cost)
        .map_or_else(String::new, |sum| format!("{}; the prices are set, not measured", escape::text(&sum)));
    let facts = pairs(&[
        ("Case", escape::text(&circumstances(&cost.case))),
        ("Counted", escape::text(&format!("{}; iostack {}", cost.how, cost.iostack))),
        ("Boots", escape::text(&boots(cost))),
        ("Check", escape::text(&time_stamp(cost))),
        ("Layers", unknown),
        ("Sums", wrong),
        ("Modelled clocks", sum),
    ]);
    format!("<h3>How far to trust it</h3>{facts}{}", notes(&cost.notes))
}

fn method(costs: &[&IoCost]) -> String {
    let limits: String = LIMITS.iter().map(|limit| format!("<li>{}</li>", escape::text(limit))).collect();
    let prices = pairs(&[
        ("Prices of the model", format!("clocks: {}", prices(costs.iter().copied()))),
        ("Published", format!("{PUBLISHED}.")),
    ]);
    format!(
        "<p>A kernel ran in an emulated machine that counts every instruction between the start and the end of an I/O. The \
         figure is the commonest exact count of many I/Os, never a mean; layers and functions are those of one such I/O, and \
         add up to it.</p><ul class=\"evidence\">{limits}</ul>{prices}"
    )
}

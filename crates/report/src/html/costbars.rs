//! How do several exact costs stand beside each other?
//!
//! A bar for each case, from a common zero, made of its layers. What all cases have alike stands first, so that the
//! bars begin alike and differ at their ends. Start reading at [`figure`].

use std::fmt::Write as _;

use iostack_model::IoCost;

use super::escape;
use super::layers::Colours;
use super::numbers::grouped;
use super::stages::percent;

/// Share of the longest bar below which no part has room for a name.
const NAMED: f64 = 0.02;
/// Share of the width that a letter takes on a desk, and on a telephone.
const LETTER: [f64; 2] = [0.009, 0.036];
/// Height of a bar.
const HEIGHT: usize = 30;

/// Instructions of a layer; none where a case does not have it.
pub(super) fn of_layer(cost: &IoCost, layer: &str) -> u64 {
    cost.layers.iter().filter(|row| row.layer == layer).map(|row| row.instructions).sum()
}

/// All layers of all cases, by their sum, largest first.
pub(super) fn names(costs: &[&IoCost]) -> Vec<String> {
    let mut names: Vec<(u64, String)> = Vec::new();
    for row in costs.iter().flat_map(|cost| &cost.layers) {
        match names.iter_mut().find(|(_, name)| *name == row.layer) {
            Some((sum, _)) => *sum += row.instructions,
            None => names.push((row.instructions, row.layer.clone())),
        }
    }
    names.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    names.into_iter().map(|(_, name)| name).collect()
}

/// The layers with a colour of their own, those that differ least from case to case first.
fn order<'a>(costs: &[&IoCost], colours: &Colours<'a>) -> Vec<&'a str> {
    let spread = |layer: &str| {
        let values = || costs.iter().map(|cost| of_layer(cost, layer));
        values().max().unwrap_or(0) - values().min().unwrap_or(0)
    };
    let mut order = colours.named().to_vec();
    order.sort_by_key(|layer| {
        (spread(layer), std::cmp::Reverse(costs.first().map(|cost| of_layer(cost, layer))))
    });
    order
}

/// The key of colours.
pub(super) fn legend(colours: &Colours<'_>, layers: usize) -> String {
    let named = colours.named().iter().map(|layer| {
        format!("<span class=\"swatch s{}\">{}</span>", colours.slot(layer), escape::text(layer))
    });
    let rest = match layers.saturating_sub(colours.named().len()) {
        0 => None,
        rest => Some(format!("<span class=\"swatch s6\">{rest} smaller ones</span>")),
    };
    format!("<div class=\"swatches\">{}</div>", named.chain(rest).collect::<String>())
}

/// The bars. `caption` is HTML.
pub(super) fn figure(costs: &[&IoCost], cases: &[String], colours: &Colours<'_>, caption: &str) -> String {
    let order = order(costs, colours);
    let most = costs.iter().map(|cost| cost.instructions).max().unwrap_or(0).max(1);
    let mut rows = String::new();
    for (cost, name) in costs.iter().zip(cases) {
        write!(
            rows,
            "<tr><th>{name}</th><td class=\"bar\"><svg width=\"100%\" height=\"{HEIGHT}\" role=\"img\" \
             aria-label=\"{name}: {all} instructions\">{parts}</svg></td><td class=\"number\">{all}</td></tr>",
            name = escape::text(name),
            all = grouped(cost.instructions),
            parts = parts(cost, &order, colours, most),
        )
        .expect("a string takes everything");
    }
    format!(
        "<figure class=\"bars sidebyside\"><h4>Instructions of one I/O by layer</h4>{}<div class=\"scroll\"><table>\
         <thead><tr><th>case</th><th></th><th class=\"number\">instructions</th></tr></thead><tbody>{rows}</tbody>\
         </table></div><figcaption>{caption}</figcaption></figure>",
        legend(colours, names(costs).len())
    )
}

/// One bar; what has no colour of its own is its grey end.
fn parts(cost: &IoCost, order: &[&str], colours: &Colours<'_>, most: u64) -> String {
    let mut out = String::new();
    let mut from = 0;
    let known = order.iter().map(|&layer| (layer, of_layer(cost, layer), colours.slot(layer)));
    let sum: u64 = order.iter().map(|layer| of_layer(cost, layer)).sum();
    let rest = cost.layers.iter().map(|row| row.instructions).sum::<u64>().saturating_sub(sum);
    for (layer, own, slot) in known.chain([("smaller ones", rest, 6)]).filter(|(_, own, _)| *own > 0) {
        let width = own as f64 / most as f64;
        let [desk, telephone] = LETTER.map(|letter| layer.chars().count() as f64 * letter + letter);
        let label = if width < NAMED || width < desk {
            String::new()
        } else {
            let small = if width < telephone { " class=\"small\"" } else { "" };
            format!("<text{small} x=\"5\" y=\"19\">{}</text>", escape::text(layer))
        };
        write!(
            out,
            "<svg class=\"s{slot}\" x=\"{:.3}%\" width=\"{:.3}%\" height=\"{HEIGHT}\"><title>{}: {}, {}</title>\
             <rect width=\"100%\" height=\"{HEIGHT}\"/>{label}</svg>",
            from as f64 / most as f64 * 100.0,
            width * 100.0,
            escape::text(layer),
            grouped(own),
            percent(own as f64 / cost.instructions.max(1) as f64),
        )
        .expect("a string takes everything");
        from += own;
    }
    out
}

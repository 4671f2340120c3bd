//! Through which calls did the clocks go?
//!
//! The stacks as nested rectangles: a row is a depth of call, from the entry at the top down; a width is a share of
//! the samples. What is too narrow to be seen is folded into one grey rectangle, so that the page stays small.
//! Every rectangle says what it is without a script; `flame.js` adds zoom. Start reading at [`figure`].

use std::collections::BTreeMap;

use iostack_model::{Layers, StackRow};

use super::colours::Colours;
use super::escape::{self, within};
use super::numbers::grouped;
use crate::document::Block;
use crate::lists::Joined;
use crate::text::format::percent;

/// Height of a row.
const ROW: usize = 18;
/// Rectangles drawn at most: some 250 bytes each.
const RECTANGLES: usize = 2_500;
/// Rows drawn at most.
const ROWS: usize = 48;
/// Share of the samples from which a rectangle can be seen.
const VISIBLE: f64 = 0.001;
/// Share from which it has room for a name.
const NAMED: f64 = 0.018;

/// A function called in one place.
#[derive(Default)]
struct CallNode {
    layer: String,
    samples: u64,
    calls: BTreeMap<String, CallNode>,
}

/// All stacks as one tree below a root that stands for all samples.
fn tree(stacks: &[StackRow]) -> CallNode {
    let mut root = CallNode::default();
    for stack in stacks {
        root.samples += stack.samples;
        let mut here = &mut root;
        for (depth, frame) in stack.frames.iter().enumerate().take(ROWS) {
            here = here.calls.entry(frame.clone()).or_default();
            here.samples += stack.samples;
            if here.layer.is_empty() {
                here.layer = stack.layers.get(depth).cloned().unwrap_or_default();
            }
        }
    }
    root
}

impl CallNode {
    fn seen(&self, least: u64) -> impl Iterator<Item = &CallNode> {
        self.calls.values().filter(move |call| call.samples >= least)
    }

    /// Rectangles of at least `least` samples, this one not counted.
    fn visible(&self, least: u64) -> usize {
        self.seen(least).map(|call| 1 + call.visible(least)).sum()
    }

    fn depth(&self, least: u64) -> usize {
        self.seen(least).map(|call| 1 + call.depth(least)).max().unwrap_or(0)
    }
}

/// The fewest samples that are drawn: those that can be seen, more where there would be too many.
fn least(root: &CallNode) -> u64 {
    let mut least = ((root.samples as f64 * VISIBLE) as u64).max(1);
    while root.visible(least) > RECTANGLES {
        least += least.div_ceil(4);
    }
    least
}

/// The picture and what was folded; nothing without stacks.
pub(crate) fn figure(layers: &Layers, colours: &Colours<'_>, measured: &str) -> Option<Block> {
    let root = tree(&layers.stacks);
    if root.samples == 0 {
        return None;
    }
    let least = least(&root);
    let counted = format!("{measured}; calls of fewer than {} samples are folded", grouped(least));
    let mut drawing = Drawing { out: String::new(), least, whole: root.samples as f64, colours };
    drawing.calls(&root, 0.0, 0);
    let key =
        |slot: usize, name: &str| format!("<span class=\"swatch s{slot}\">{}</span>", escape::text(name));
    let legend = colours.named().iter().map(|layer| key(colours.slot(layer), layer));
    let legend = legend.chain([key(colours.slot(""), "other")]).joined("");
    let (height, drawn) = (root.depth(least) * ROW, drawing.out);
    let drawn = format!(
        "<button type=\"button\" class=\"tool back\" hidden=\"hidden\">Show all</button>\
         <h4>Calls, from the entry of the kernel down: wide is costly</h4><div class=\"swatches\">{legend}</div>\
         <p class=\"took\">A rectangle is a function, below the one that called it; its width is its share of the \
         samples, its colour its layer. Point at one to read it, click it to enlarge it.</p>\
         <svg class=\"calls\" width=\"100%\" height=\"{height}\" role=\"img\" aria-label=\"stacks\">{drawn}</svg>\
         <p class=\"said\"></p>"
    );
    Some(Block::Figure("flame", drawn, counted))
}

struct Drawing<'a> {
    out: String,
    least: u64,
    whole: f64,
    colours: &'a Colours<'a>,
}

impl Drawing<'_> {
    /// The calls of one function side by side, largest first, each with its own below it.
    fn calls(&mut self, of: &CallNode, from: f64, row: usize) {
        let mut calls: Vec<(&String, &CallNode)> = of.calls.iter().collect();
        calls.sort_by(|a, b| b.1.samples.cmp(&a.1.samples).then(a.0.cmp(b.0)));
        let seen = calls.iter().take_while(|(_, call)| call.samples >= self.least).count();
        let mut at = from;
        for (name, call) in &calls[..seen] {
            self.rectangle(name, &call.layer, call.samples, at, row);
            self.calls(call, at, row + 1);
            at += call.samples as f64;
        }
        let folded: u64 = calls[seen..].iter().map(|(_, call)| call.samples).sum();
        if folded >= self.least {
            let name = format!("{} small ones", calls.len() - seen);
            self.rectangle(&name, "", folded, at, row);
        }
    }

    fn rectangle(&mut self, name: &str, layer: &str, samples: u64, at: f64, row: usize) {
        let (share, slot, name) = (samples as f64 / self.whole, self.colours.slot(layer), escape::text(name));
        let of = within(" (", escape::text(layer), ")");
        let label =
            if share < NAMED { String::new() } else { format!("<text x=\"4\" y=\"13\">{name}</text>") };
        let (x, y, width) = (at / self.whole * 100.0, row * ROW, share * 100.0);
        let (percent, samples, height) = (percent(share), grouped(samples), ROW - 1);
        self.out += &format!(
            "<svg class=\"s{slot}\" x=\"{x:.3}%\" y=\"{y}\" width=\"{width:.3}%\" height=\"{ROW}\"><title>{name}{of}: \
             {percent} %, {samples} samples</title><rect width=\"100%\" height=\"{height}\"/>{label}</svg>"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(frames: &[&str], samples: u64) -> StackRow {
        StackRow {
            frames: frames.iter().map(|frame| (*frame).to_owned()).collect(),
            layers: frames.iter().map(|_| "block".to_owned()).collect(),
            samples,
        }
    }

    fn drawn(stacks: &[StackRow]) -> (String, u64) {
        let root = tree(stacks);
        let least = least(&root);
        let colours = crate::fixture::layers();
        let colours = Colours::of_profile(&colours);
        let mut drawing =
            Drawing { out: String::new(), least, whole: root.samples as f64, colours: &colours };
        drawing.calls(&root, 0.0, 0);
        (drawing.out, least)
    }

    #[test]
    fn a_callers_width_is_that_of_its_calls_and_its_own() {
        let (svg, _) = drawn(&[stack(&["a", "b"], 30), stack(&["a", "c"], 50), stack(&["a"], 20)]);
        assert!(svg.contains("<title>a (block): 100.0 %, 100 samples"), "{svg}");
        // The largest stands first.
        assert!(
            svg.contains("x=\"0.000%\" y=\"18\" width=\"50.000%\"")
                && svg.contains("x=\"50.000%\" y=\"18\" width=\"30.000%\""),
            "{svg}"
        );
    }

    #[test]
    fn narrow_calls_are_folded_and_the_picture_stays_small() {
        let many: Vec<StackRow> = (0..20_000u64)
            .map(|index| {
                let names: Vec<String> =
                    (0..30).map(|depth| format!("function_{}", index >> (depth / 2))).collect();
                let names: Vec<&str> = names.iter().rev().map(String::as_str).collect();
                stack(&names, 1 + index % 5)
            })
            .collect();
        let (svg, least) = drawn(&many);
        assert!(svg.matches("<rect").count() <= 2 * RECTANGLES + 1, "{}", svg.matches("<rect").count());
        assert!(svg.len() < 1_200_000, "{}", svg.len());
        assert!(least > 1 && svg.contains("small ones"));
    }

    #[test]
    fn a_stack_deeper_than_the_picture_ends_at_its_floor() {
        let deep: Vec<String> = (0..500).map(|depth| format!("f{depth}")).collect();
        let deep: Vec<&str> = deep.iter().map(String::as_str).collect();
        assert_eq!(tree(&[stack(&deep, 3)]).depth(1), ROWS);
        assert_eq!(tree(&[StackRow { layers: Vec::new(), ..stack(&["a"], 1) }]).calls["a"].layer, "");
    }
}

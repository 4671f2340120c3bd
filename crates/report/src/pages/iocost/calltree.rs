//! What did one I/O call, and what did each call cost?
//!
//! The calls in the order of execution as lists to unfold, without a script. A row has the instructions of the function
//! itself and those with everything it called; its bar shows both against the whole I/O. Calls too small to matter are
//! summed up where a page would become too long. A screen has them as an indented drawing. Start reading at [`figure`].

use std::fmt::Write as _;

use iostack_model::answers::CallNode;

use crate::document::Block;
use crate::html::colours::Colours;
use crate::html::escape;
use crate::text::WIDTH;
use crate::text::format::{count, cut};

/// Levels unfolded at first. A call of a single other one is no level.
const OPEN: usize = 3;
/// Depth from which rows move in by less.
const DEEP: usize = 12;

/// Columns of the two figures and the gap after them.
const FIGURES: usize = 22;
/// Columns of the drawing.
const DRAWING: usize = WIDTH - FIGURES;
/// Levels drawn with a guide each; deeper calls say their depth instead.
const GUIDES: usize = 14;
/// Levels of the calls on a screen, and the smallest call that is shown.
const TREE: (usize, u64) = (30, 20);

/// The calls as a figure of at most `rows` rows.
pub(super) fn figure(root: &CallNode, colours: &Colours<'_>, rows: usize, caption: &str) -> String {
    let least = least(root, rows);
    let mut tree = Tree { out: String::new(), whole: root.whole().max(1), least, colours };
    tree.call(root, &CallPosition { depth: 0, level: 0, times: 1 });
    let folded = if least > 1 {
        format!(" Calls of fewer than {} instructions are summed up.", count(least))
    } else {
        String::new()
    };
    format!(
        "<figure class=\"wide\"><h4>Every call of the modal I/O, in order</h4><div class=\"calltree\"><p class=\"head\">\
         <span class=\"name\"><span>function, and its layer where it changes</span></span><span class=\"width\">of the \
         whole</span><b>itself</b><b>with its calls</b></p>{}</div><figcaption>{}{folded}</figcaption></figure>",
        tree.out,
        escape::text(caption)
    )
}

/// Calls of at least so many instructions, in a tree that itself happens `times` times.
fn visible(node: &CallNode, times: u64, least: u64) -> usize {
    let times = times * node.times;
    let seen = node.calls.iter().filter(|call| call.whole() * times >= least);
    1 + seen.map(|call| visible(call, times, least)).sum::<usize>()
}

/// The fewest instructions of a row, so that there are not more than `rows`.
fn least(root: &CallNode, rows: usize) -> u64 {
    let mut least = 1;
    while visible(root, 1, least) > rows {
        least += (least / 4_u64).max(1);
    }
    least
}

/// Position of a call in the drawing.
struct CallPosition {
    depth: usize,
    level: usize,
    /// Times that its caller is called.
    times: u64,
}

struct Tree<'a> {
    out: String,
    whole: u64,
    least: u64,
    colours: &'a Colours<'a>,
}

impl Tree<'_> {
    fn call(&mut self, node: &CallNode, place: &CallPosition) {
        self.under(node, place, "");
    }

    /// `above`: the layer of the caller.
    fn under(&mut self, node: &CallNode, place: &CallPosition, above: &str) {
        let slot = self.colours.slot(&node.layer);
        let times = place.times * node.times;
        let (shown, small): (Vec<&CallNode>, Vec<&CallNode>) =
            node.calls.iter().partition(|call| call.whole() * times >= self.least);
        if node.calls.is_empty() {
            self.put(format_args!("<p class=\"s{slot}\">"));
            self.row(node, times, above);
            self.put(format_args!("</p>"));
            return;
        }
        let open = if place.level < OPEN { " open=\"open\"" } else { "" };
        let deep = if place.depth >= DEEP { " deep" } else { "" };
        self.put(format_args!("<details class=\"s{slot}\"{open}><summary>"));
        self.row(node, times, above);
        self.put(format_args!("</summary><div class=\"inner{deep}\">"));
        let level = place.level + usize::from(node.calls.len() > 1);
        for call in shown {
            self.under(call, &CallPosition { depth: place.depth + 1, level, times }, &node.layer);
        }
        if !small.is_empty() {
            let whole: u64 = small.iter().map(|call| call.whole() * times).sum();
            self.put(format_args!(
                "<p class=\"folded\"><span class=\"name\"><span>{} small ones</span></span><svg width=\"100%\" height=\"9\"></svg>\
                 <b></b><b>{}</b></p>",
                small.len(),
                count(whole)
            ));
        }
        self.put(format_args!("</div></details>"));
    }

    fn row(&mut self, node: &CallNode, times: u64, above: &str) {
        let in_row = if node.times == 1 { String::new() } else { format!(" \u{d7} {}", count(node.times)) };
        let layer = if node.layer == above {
            String::new()
        } else {
            format!(" <small>{}</small>", escape::text(&node.layer))
        };
        let own = node.instructions * times;
        let whole = node.whole() * (times / node.times.max(1));
        let percent = |part: u64| part as f64 / self.whole as f64 * 100.0;
        let (narrow, wide) = (percent(own), percent(whole));
        self.put(format_args!(
            "<span class=\"name\"><i></i><span>{}{in_row}{layer}</span></span><svg width=\"100%\" height=\"9\"><rect class=\"callees\" \
             width=\"{wide:.2}%\" height=\"9\"/><rect width=\"{narrow:.2}%\" height=\"9\"/></svg><b>{}</b><b>{}</b>",
            escape::text(&node.name),
            count(own),
            count(whole)
        ));
    }

    fn put(&mut self, what: std::fmt::Arguments<'_>) {
        self.out.write_fmt(what).expect("a string takes everything");
    }
}

/// All calls down to `depth_max`, but those of fewer than `least` instructions, callees included. What is left out is
/// summed up, so that the callees of a call always add up.
pub(super) fn drawing(root: &CallNode, depth_max: usize, least: u64) -> String {
    let mut drawing = Drawing { text: String::new(), depth_max, least };
    drawing.text += &line("with callees", "own", "CALLS of the modal I/O, in order (layer where it changes)");
    drawing.call(root, 0, 1, "");
    drawing.text
}

/// The calls as a screen has them.
pub(super) fn lines(root: &CallNode) -> Block {
    Block::Ready(drawing(root, TREE.0, TREE.1))
}

struct Drawing {
    text: String,
    depth_max: usize,
    least: u64,
}

impl Drawing {
    /// `times`: how often the caller is called.
    fn call(&mut self, node: &CallNode, depth: usize, times: u64, layer: &str) {
        let in_row = if node.times == 1 { String::new() } else { format!(" x{}", count(node.times)) };
        let of = if node.layer == layer { String::new() } else { format!(" ({})", cut(&node.layer, 14)) };
        let words = format!("{in_row}{of}");
        let guides = guides(depth);
        let room = DRAWING.saturating_sub(guides.chars().count() + words.chars().count());
        let own = node.instructions * node.times * times;
        let name = cut(&node.name, room);
        self.text += &line(&count(node.whole() * times), &count(own), &format!("{guides}{name}{words}"));
        let times = times * node.times;
        let mut folded = (0, 0);
        for called in &node.calls {
            let whole = called.whole() * times;
            if depth >= self.depth_max || whole < self.least {
                folded = (folded.0 + calls(called), folded.1 + whole);
            } else {
                self.call(called, depth + 1, times, &node.layer);
            }
        }
        if folded.0 > 0 {
            let plural = if folded.0 == 1 { "call" } else { "calls" };
            let words = format!("{}... {} {plural} folded", self::guides(depth + 1), count(folded.0));
            self.text += &line(&count(folded.1), "", &words);
        }
    }
}

/// Calls in a tree, each place once.
fn calls(node: &CallNode) -> u64 {
    1 + node.calls.iter().map(calls).sum::<u64>()
}

fn guides(depth: usize) -> String {
    if depth <= GUIDES { "| ".repeat(depth) } else { format!("{}{depth:>3}: ", "| ".repeat(GUIDES - 2)) }
}

fn line(whole: &str, own: &str, drawing: &str) -> String {
    format!("{whole:>12}{own:>8}  {drawing}\n")
}

//! What did one I/O call, and what did each call cost?
//!
//! The calls in the order of execution as lists to unfold, without a script. A row has the instructions of the function
//! itself and those with everything it called; its bar shows both against the whole I/O. Calls too small to matter are
//! summed up where a page would become too long. Start reading at [`figure`].

use std::fmt::Write as _;

use iostack_model::CallNode;

use super::escape;
use super::layers::Colours;
use super::numbers::grouped;

/// Levels unfolded at first. A call of a single other one is no level.
const OPEN: usize = 3;
/// Depth from which rows move in by less.
const DEEP: usize = 12;

/// The calls as a figure of at most `rows` rows. `caption` is HTML.
pub(super) fn figure(root: &CallNode, colours: &Colours<'_>, rows: usize, caption: &str) -> String {
    let least = least(root, rows);
    let mut tree = Tree { out: String::new(), whole: root.whole().max(1), least, colours };
    tree.call(root, &Place { depth: 0, level: 0, times: 1 });
    let folded = if least > 1 {
        format!(" Calls of fewer than {} instructions are summed up.", grouped(least))
    } else {
        String::new()
    };
    format!(
        "<figure class=\"wide\"><h4>Every call of the modal I/O, in order</h4><div class=\"calltree\"><p class=\"head\">\
         <span class=\"name\"><span>function, and its layer where it changes</span></span><span class=\"width\">of the \
         whole</span><b>itself</b><b>with its calls</b></p>{}</div><figcaption>{caption}{folded}</figcaption></figure>",
        tree.out
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

/// Where a call stands.
struct Place {
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
    fn call(&mut self, node: &CallNode, place: &Place) {
        self.under(node, place, "");
    }

    /// `above`: the layer of the caller.
    fn under(&mut self, node: &CallNode, place: &Place, above: &str) {
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
            self.under(call, &Place { depth: place.depth + 1, level, times }, &node.layer);
        }
        if !small.is_empty() {
            let whole: u64 = small.iter().map(|call| call.whole() * times).sum();
            self.put(format_args!(
                "<p class=\"folded\"><span class=\"name\"><span>{} small ones</span></span><svg width=\"100%\" height=\"9\"></svg>\
                 <b></b><b>{}</b></p>",
                small.len(),
                grouped(whole)
            ));
        }
        self.put(format_args!("</div></details>"));
    }

    fn row(&mut self, node: &CallNode, times: u64, above: &str) {
        let in_row = if node.times == 1 { String::new() } else { format!(" \u{d7} {}", grouped(node.times)) };
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
            grouped(own),
            grouped(whole)
        ));
    }

    fn put(&mut self, what: std::fmt::Arguments<'_>) {
        self.out.write_fmt(what).expect("a string takes everything");
    }
}

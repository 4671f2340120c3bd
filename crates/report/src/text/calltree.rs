//! The calls of one I/O as an indented drawing, in the order of execution.

use iostack_model::CallNode;

use super::format::{clean, count, cut};

/// Columns of the two figures and the gap after them.
const FIGURES: usize = 22;
/// Columns of the drawing.
const DRAWING: usize = super::WIDTH - FIGURES;
/// Levels drawn with a guide each; deeper calls say their depth instead.
const GUIDES: usize = 14;

/// All calls down to `depth_max`, but those of fewer than `min_instructions`, callees included. What is left out is
/// summed up, so that the callees of a call always add up.
pub fn calltree_text(root: &CallNode, depth_max: usize, min_instructions: u64) -> String {
    let mut drawing = Drawing { text: String::new(), depth_max, least: min_instructions };
    drawing.text += &line("with callees", "own", "CALLS of the modal I/O, in order (layer where it changes)");
    drawing.call(root, 0, 1, "");
    clean(&drawing.text)
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

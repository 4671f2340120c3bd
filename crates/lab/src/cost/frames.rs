//! Is this block a call, a return, or another task?
//!
//! A trace says where execution was, not how it got there. A block at a function's first address was called (or jumped
//! to: a tail call stands below its caller until execution goes on further out). A block inside a function that is on the
//! stack returns to it. A block inside one that is not: a jump between parts of one function, or, in a task whose
//! beginning nobody saw, a return to a caller that was there before.

use super::atlas::{Atlas, FunctionId};

/// Frames of a task that are kept; the kernel's stacks of 16 KiB hold fewer. Only nonsense is deeper.
const DEPTH_MAX: usize = 192;

/// Callers found from within that a task may have.
const OUTWARD_MAX: usize = 48;

/// Functions that only lead to another: what they jump to is called by their caller.
const TRAMPOLINES: &str = include_str!("trampolines.txt");

/// Labels in assembly, which are symbols, and are reached by jumps into their middle.
const LABELS: &str = include_str!("labels.txt");

/// A run of instructions within one function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) function: FunctionId,
    pub(super) pc: u64,
    pub(super) instructions: u64,
    /// True when `pc` is the function's first address.
    pub(super) at_start: bool,
    /// Address behind its last instruction, where execution goes on when a call comes back; `None` when nothing there
    /// ever ran.
    pub(super) resume: Option<u64>,
}

/// A function that has been entered and not left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) function: FunctionId,
    /// Node of the tree.
    pub(super) node: usize,
    pub(super) resume: Option<u64>,
}

/// Effect of a segment on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// Goes on in the frame of this place, what is above it has ended.
    Return(usize),
    /// A new frame above this many.
    Call(usize),
    /// A new frame below all, which have ended.
    Outward,
    /// Another task runs now.
    Switch,
}

/// The frames of one task, outermost first.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    pub(super) stack: Vec<Frame>,
    /// True when the outermost is known to be the outermost.
    rooted: bool,
    outward: usize,
}

impl Frames {
    pub(super) fn rooted(root: Frame) -> Frames {
        Frames { stack: vec![root], rooted: true, outward: 0 }
    }

    /// A task that was not seen before; `rooted` when it begins now.
    pub(super) fn unseen(rooted: bool) -> Frames {
        Frames { stack: Vec::new(), rooted, outward: 0 }
    }

    /// Decides the effect of this task's next segment.
    pub(super) fn decide(&self, segment: &Segment, atlas: &Atlas) -> Move {
        let depth = self.stack.len();
        let Some(top) = self.stack.last() else { return Move::Call(0) };
        if self.leaves_by_switch(segment, atlas) {
            return Move::Switch;
        }
        if segment.function == top.function {
            return Move::Return(depth - 1);
        }
        if segment.at_start {
            let jumped = depth > 1 && begins_with(atlas.name(top.function), TRAMPOLINES);
            return Move::Call((depth - usize::from(jumped)).min(DEPTH_MAX - 1));
        }
        let here = |frame: &Frame| frame.function == segment.function;
        let expected = self.stack.iter().rposition(|frame| here(frame) && frame.resume == Some(segment.pc));
        if let Some(place) = expected.or_else(|| self.stack.iter().rposition(here)) {
            return Move::Return(place);
        }
        let jumped = is_jumped_into(segment.function, top.function, atlas);
        if jumped || self.rooted || self.outward >= OUTWARD_MAX {
            Move::Call(depth.min(DEPTH_MAX - 1))
        } else {
            Move::Outward
        }
    }

    /// `__switch_to` returns to the task that runs from now on.
    fn leaves_by_switch(&self, segment: &Segment, atlas: &Atlas) -> bool {
        let switching = |frame: &Frame| atlas.name(frame.function) == "__switch_to";
        let Some(place) = self.stack.iter().rposition(switching) else { return false };
        if segment.at_start {
            return atlas.name(segment.function).starts_with("ret_from_fork");
        }
        !self.stack[place..].iter().any(|frame| frame.function == segment.function)
    }

    /// Does what was decided; `node` is the node of a new frame.
    pub(super) fn apply(&mut self, decided: Move, segment: &Segment, node: usize) {
        let frame = Frame { function: segment.function, node, resume: segment.resume };
        match decided {
            Move::Return(place) => {
                self.stack.truncate(place + 1);
                self.stack[place].resume = segment.resume;
            }
            Move::Call(depth) => {
                self.stack.truncate(depth);
                self.stack.push(frame);
            }
            Move::Outward => {
                self.stack.clear();
                self.stack.push(frame);
                self.outward += 1;
            }
            Move::Switch => {}
        }
    }

    /// Leaves the task where it waits: below `__switch_to`.
    pub(super) fn suspend(&mut self, atlas: &Atlas) {
        let switching = |frame: &Frame| atlas.name(frame.function).starts_with("__switch_to");
        let below = self.stack.iter().position(switching).unwrap_or(self.stack.len());
        self.stack.truncate(below);
    }

    /// Number of these returns, the innermost first, that this waiting task would make; `None` when one is not its.
    pub(super) fn matches(&self, returns: &[Segment]) -> Option<usize> {
        let mut below = self.stack.len();
        for (matched, segment) in returns.iter().enumerate() {
            let expected =
                |frame: &Frame| frame.function == segment.function && frame.resume == Some(segment.pc);
            match self.stack[..below].iter().rposition(expected) {
                Some(place) => below = place,
                // The caller whom nobody saw may be this one.
                None if below == 0 && !self.rooted => return Some(matched),
                None => return None,
            }
        }
        Some(returns.len())
    }
}

fn begins_with(name: &str, beginnings: &str) -> bool {
    beginnings.lines().any(|beginning| name.starts_with(beginning))
}

/// Is this function reached inside by jumps, not by returns only?
fn is_jumped_into(function: FunctionId, from: FunctionId, atlas: &Atlas) -> bool {
    let plain = |name: &str| name.split_once('.').map_or(name, |(plain, _)| plain).to_owned();
    let name = atlas.name(function);
    function == FunctionId::NAMELESS
        || name.rsplit_once('.').is_some_and(|(_, part)| part == "cold")
        || begins_with(name, LABELS)
        || plain(name) == plain(atlas.name(from))
}

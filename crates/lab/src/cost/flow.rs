//! Who called whom? From the blocks of a trace to a tree.
//!
//! Nothing is lost: each instruction of the trace is a node's own, whatever the trace is. When another task runs, what it
//! returns to tells whether it is one that waited before ([`Frames::matches`]) or a new one; each task is a node of its
//! own below the root, in order of appearance.

use super::atlas::{Atlas, FunctionId};
use super::frames::{Frame, Frames, Move, Segment};
use crate::counts::{Event, Trace, Vector};

/// Returns by which a task is recognised.
const RECOGNISED_BY: usize = 32;

/// Bytes of the longest instruction.
const INSTRUCTION_MAX: u64 = 15;

/// Call of a function, with all that it called.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) function: FunctionId,
    pub(super) instructions: u64,
    pub(super) calls: Vec<usize>,
    /// False for one that was under way before it was seen.
    pub(super) called: bool,
}

/// A task: its frames, and the node that holds it.
struct TracedTask {
    frames: Frames,
    holder: usize,
}

/// Every call of a trace; the root is node 0, user space.
pub(super) struct Flow {
    pub(super) nodes: Vec<Node>,
    tasks: Vec<TracedTask>,
    current: usize,
}

/// Follows a trace.
pub(super) fn follow(segments: &[Segment], atlas: &Atlas) -> Flow {
    let root = Frame { function: FunctionId::USER, node: 0, resume: None };
    let first = TracedTask { frames: Frames::rooted(root), holder: 0 };
    let mut flow = Flow { nodes: vec![Node::new(FunctionId::USER, true)], tasks: vec![first], current: 0 };
    for (index, segment) in segments.iter().enumerate() {
        let decided = flow.tasks[flow.current].frames.decide(segment, atlas);
        match decided {
            Move::Switch => flow.switch(&segments[index..], atlas),
            _ => flow.take(decided, segment),
        }
    }
    flow
}

impl Node {
    fn new(function: FunctionId, called: bool) -> Node {
        Node { function, instructions: 0, calls: Vec::new(), called }
    }
}

impl Flow {
    /// Does what was decided within the current task.
    fn take(&mut self, decided: Move, segment: &Segment) {
        let task = &mut self.tasks[self.current];
        let node = match decided {
            Move::Return(place) => task.frames.stack[place].node,
            Move::Call(depth) => {
                let caller = depth.checked_sub(1).map_or(task.holder, |depth| task.frames.stack[depth].node);
                // What a task resumes in was called before.
                self.nodes.push(Node::new(segment.function, depth > 0 || segment.at_start));
                let node = self.nodes.len() - 1;
                self.nodes[caller].calls.push(node);
                node
            }
            Move::Outward | Move::Switch => {
                // The new caller takes all that the task did so far.
                self.nodes.push(Node::new(segment.function, false));
                let node = self.nodes.len() - 1;
                let done = std::mem::replace(&mut self.nodes[task.holder].calls, vec![node]);
                self.nodes[node].calls = done;
                node
            }
        };
        self.nodes[node].instructions += segment.instructions;
        task.frames.apply(decided, segment, node);
    }

    /// The task that runs from the first of these segments on.
    fn switch(&mut self, upcoming: &[Segment], atlas: &Atlas) {
        self.tasks[self.current].frames.suspend(atlas);
        let fresh = upcoming[0].at_start;
        let returns = if fresh { Vec::new() } else { returns(upcoming, atlas) };
        let known = |(index, task): (usize, &TracedTask)| {
            let matched = task.frames.matches(&returns)?;
            (index != self.current && matched > 0).then_some((matched, index))
        };
        let best = self.tasks.iter().enumerate().filter_map(known).max_by_key(|&(matched, _)| matched);
        self.current = match best {
            Some((_, index)) => index,
            None => self.begin(fresh),
        };
        let decided = self.tasks[self.current].frames.decide(&upcoming[0], atlas);
        // A task that waits below `__switch_to` cannot switch again at once.
        assert_ne!(decided, Move::Switch, "a suspended task has no frame of __switch_to");
        self.take(decided, &upcoming[0]);
    }

    /// A task that was not seen before.
    fn begin(&mut self, rooted: bool) -> usize {
        self.nodes.push(Node::new(FunctionId::TASK, true));
        let holder = self.nodes.len() - 1;
        self.nodes[0].calls.push(holder);
        self.tasks.push(TracedTask { frames: Frames::unseen(rooted), holder });
        self.tasks.len() - 1
    }
}

/// The returns that lead out of all that was entered since the first segment, which is one itself.
fn returns(upcoming: &[Segment], atlas: &Atlas) -> Vec<Segment> {
    let mut frames = Frames::unseen(false);
    let mut found = Vec::new();
    for segment in upcoming {
        let decided = frames.decide(segment, atlas);
        if decided == Move::Switch || found.len() == RECOGNISED_BY {
            break;
        }
        if decided == Move::Outward || found.is_empty() {
            found.push(*segment);
        }
        frames.apply(decided, segment, 0);
    }
    found
}

/// Cuts the blocks of a trace where functions end. `vector` knows the addresses of the instructions: those of a block
/// are its neighbours there.
pub(super) fn segments(trace: &Trace, vector: &Vector, atlas: &mut Atlas) -> Vec<Segment> {
    let mut segments = Vec::new();
    for event in &trace.events {
        let Event::Block { pc, instructions } = *event else { continue };
        let first = vector.counts.partition_point(|&(address, _)| address < pc);
        let mut left = instructions;
        let mut begin = pc;
        let mut place = first;
        while left > 0 {
            let function = atlas.at(begin);
            let known = vector.counts[place.min(vector.counts.len())..].iter();
            let same = known.take(left as usize).take_while(|&&(address, _)| atlas.at(address) == function);
            // What the vector does not know is taken whole.
            let count = match same.count() as u64 {
                0 => left,
                count => count,
            };
            place += count as usize;
            let last = vector.counts.get(place.wrapping_sub(1)).map_or(begin, |&(address, _)| address);
            let next = vector.counts.get(place).map(|&(address, _)| address);
            let near = |next: &u64| *next > last && *next - last <= INSTRUCTION_MAX;
            left -= count;
            segments.push(Segment {
                function,
                pc: begin,
                instructions: count,
                at_start: function != FunctionId::USER && atlas.known(function).start == begin,
                resume: next.filter(near),
            });
            let Some(next) = next.filter(|_| left > 0) else {
                // The vector ends within the block: the rest belongs to where it began.
                if let Some(segment) = segments.last_mut() {
                    segment.instructions += left;
                }
                break;
            };
            begin = next;
        }
    }
    segments
}

#[cfg(test)]
mod tests;

//! From calls to layers: each instruction is charged to the layer of the stack it ran on.

use std::collections::BTreeMap;

use iostack_model::answers::{CallNode, CostFunction, CostLayer};

use super::Names;
use super::atlas::{FunctionId, Known};
use super::flow::Flow;
use crate::counts::Vector;

/// Instructions by function and layer, and the calls where they are known.
pub(super) struct Charged {
    pub(super) layers: Vec<CostLayer>,
    pub(super) functions: Vec<CostFunction>,
    pub(super) tree: Option<CallNode>,
    pub(super) unclassified: Vec<String>,
}

/// Layer of what no rule knows.
const UNCLASSIFIED: &str = "unclassified";

/// Layer of the nodes that hold other tasks; they have no instructions.
const SCHEDULER: &str = "scheduler";

/// Sums by function and layer.
#[derive(Default)]
struct Sums {
    rows: BTreeMap<(FunctionId, String), (u64, u64)>,
}

/// Charges each instruction to the layer of the exact stack it ran on.
pub(super) fn by_stack(flow: &Flow, functions: &[Known], names: &mut dyn Names) -> Charged {
    let mut walk = Walk { flow, functions, names, sums: Sums::default(), stack: Vec::new() };
    let tree = walk.node(0);
    let sums = walk.sums;
    sums.charged(functions, names, Some(tree))
}

/// Charges by function alone, for an I/O that was not traced: `counts` are instructions by function.
pub(super) fn by_function(
    counts: &BTreeMap<FunctionId, u64>,
    functions: &[Known],
    names: &mut dyn Names,
) -> Charged {
    let mut sums = Sums::default();
    for (&function, &instructions) in counts {
        let stack = [functions[function.index()].start];
        let layer = names.layer(if function == FunctionId::USER { &[] } else { &stack });
        sums.add(function, layer, instructions, 0);
    }
    sums.charged(functions, names, None)
}

/// Instructions of a vector by function.
pub(super) fn count(vector: &Vector, mut at: impl FnMut(u64) -> FunctionId) -> BTreeMap<FunctionId, u64> {
    let mut counts = BTreeMap::new();
    for &(pc, times) in &vector.counts {
        *counts.entry(at(pc)).or_default() += times;
    }
    counts
}

struct Walk<'a> {
    flow: &'a Flow,
    functions: &'a [Known],
    names: &'a mut dyn Names,
    sums: Sums,
    /// Addresses in the functions under way, outermost first.
    stack: Vec<u64>,
}

impl Walk<'_> {
    fn node(&mut self, index: usize) -> CallNode {
        let node = &self.flow.nodes[index];
        let known = &self.functions[node.function.index()];
        let is_code = ![FunctionId::USER, FunctionId::TASK].contains(&node.function);
        if is_code {
            self.stack.push(known.start);
        }
        let layer =
            if node.function == FunctionId::TASK { SCHEDULER.to_owned() } else { self.layer(is_code) };
        if node.instructions > 0 {
            self.sums.add(node.function, layer.clone(), node.instructions, u64::from(node.called));
        }
        let calls = fold(node.calls.iter().map(|&call| self.node(call)).collect());
        if is_code {
            self.stack.pop();
        }
        CallNode { name: known.name.clone(), layer, instructions: node.instructions, calls, times: 1 }
    }

    fn layer(&mut self, is_code: bool) -> String {
        if !is_code {
            return self.names.layer(&[]);
        }
        let inner_first: Vec<u64> = self.stack.iter().rev().copied().collect();
        self.names.layer(&inner_first)
    }
}

/// Joins equal calls in a row.
fn fold(calls: Vec<CallNode>) -> Vec<CallNode> {
    let mut folded: Vec<CallNode> = Vec::with_capacity(calls.len());
    for call in calls {
        match folded.last_mut() {
            Some(last) if is_alike(last, &call) => last.times += 1,
            _ => folded.push(call),
        }
    }
    folded
}

fn is_alike(one: &CallNode, two: &CallNode) -> bool {
    one.name == two.name
        && one.layer == two.layer
        && one.instructions == two.instructions
        && one.calls == two.calls
}

impl Sums {
    fn add(&mut self, function: FunctionId, layer: String, instructions: u64, calls: u64) {
        let row = self.rows.entry((function, layer)).or_default();
        row.0 += instructions;
        row.1 += calls;
    }

    fn charged(self, known: &[Known], names: &dyn Names, tree: Option<CallNode>) -> Charged {
        let mut layers: BTreeMap<&str, u64> = BTreeMap::new();
        let mut unclassified = Vec::new();
        let mut functions = Vec::new();
        for ((function, layer), (instructions, calls)) in &self.rows {
            *layers.entry(layer).or_default() += instructions;
            let Known { name, module, .. } = &known[function.index()];
            if layer == UNCLASSIFIED {
                unclassified.push(name.clone());
            }
            functions.push(CostFunction {
                name: name.clone(),
                module: module.clone(),
                layer: layer.clone(),
                instructions: *instructions,
                calls: tree.is_some().then_some(*calls),
                alike: None,
            });
        }
        functions.sort_by(|one, two| {
            (two.instructions, &one.name, &one.layer).cmp(&(one.instructions, &two.name, &two.layer))
        });
        let row = |(layer, instructions): (&str, u64)| CostLayer {
            layer: layer.to_owned(),
            meaning: names.meaning(layer),
            instructions,
            alike: None,
        };
        let mut layers: Vec<CostLayer> = layers.into_iter().map(row).collect();
        layers.sort_by(|one, two| (two.instructions, &one.layer).cmp(&(one.instructions, &two.layer)));
        unclassified.sort();
        unclassified.dedup();
        Charged { layers, functions, tree, unclassified }
    }
}

//! Folded stacks, as flamegraph.pl and its kin read them: a chain on a line, its frames parted by semicolons, then its
//! weight.

use std::collections::BTreeMap;
use std::fmt::Write;

use iostack_model::Layers;
use iostack_model::answers::WatchSlice;

use super::chain;

/// The chains as folded stacks.
pub fn folded(layers: &Layers) -> String {
    let mut text = String::new();
    for stack in &layers.stacks {
        let names: Vec<&str> = chain(stack).into_iter().map(|(name, _)| name).collect();
        writeln!(text, "{} {}", names.join(";"), stack.samples).expect("a string takes all");
    }
    text
}

/// Long sleeps as folded stacks: process, then the kernel's functions, the outermost first; weighted by microseconds.
pub fn folded_sleeps(slices: &[WatchSlice]) -> String {
    let mut chains = BTreeMap::<String, u64>::new();
    for sleep in slices.iter().flat_map(|slice| &slice.sleeps).filter(|sleep| !sleep.kernel) {
        let frames = sleep.stack.iter().rev();
        let names = std::iter::once(&sleep.owner.name).chain(frames).map(|name| name.replace(';', ":"));
        let chain = names.collect::<Vec<_>>().join(";");
        *chains.entry(chain).or_default() += (sleep.slept_ns + sleep.runnable_ns) / 1000;
    }
    let mut text = String::new();
    for (chain, us) in chains {
        writeln!(text, "{chain} {us}").expect("a string takes all");
    }
    text
}

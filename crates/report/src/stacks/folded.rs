//! Folded stacks, as flamegraph.pl and its kin read them: a chain on a line, its frames parted by semicolons, then its
//! weight.

use std::fmt::Write;

use iostack_model::Layers;

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

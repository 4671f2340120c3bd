//! From counts, symbols and layers to the cost of one I/O.
//!
//! ```text
//!   rounds ──► modal: the commonest exact count ──► its vector ─┐
//!                                                   its trace ──┴─► flow: who called whom ──► charge: layers, functions
//!   two costs ──► diff          a cost and a file ──► budget
//! ```
//!
//! All of it is pure: what an address means is asked of [`Names`]. Start reading at [`tabulate`].

mod atlas;
pub mod budget;
mod charge;
mod diff;
mod flow;
mod frames;
mod modal;
mod notes;
pub mod registers;
mod tabulate;
#[cfg(test)]
mod tests;

pub use diff::diff;
pub use tabulate::{Counted, tabulate};

/// A function of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// Symbol of the function.
    pub name: &'a str,
    /// Module, `None` for the kernel itself.
    pub module: Option<&'a str>,
    /// Address of its first instruction.
    pub start: u64,
}

/// Meaning of the guest's addresses: functions and layers.
pub trait Names {
    /// The function that holds an address.
    fn function(&self, pc: u64) -> Option<Function<'_>>;

    /// The layer of the innermost function of a stack. `stack` holds an address in each function, innermost first; it is
    /// empty for user space.
    fn layer(&mut self, stack: &[u64]) -> String;

    /// The rules' words for a layer.
    fn meaning(&self, layer: &str) -> String;
}

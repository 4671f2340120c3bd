//! Which of two is better, on a machine that does not hold still?
//!
//! ```text
//!   block:   A B B A   or   B A A B      a coin decides, for each block
//!            └─┴─┴─┴──► ln(B / A), a value for each figure: a drift within the block cancels
//!
//!   values of all blocks ──► signed ranks ──► a statistic for each figure ─┐
//!   the same, with blocks' signs flipped 9,999 times ──────────────────────┴──► sure, or not yet
//! ```
//!
//! The coin is the whole proof. Were A and B the same, then whatever the machine did (drift, steps, a neighbour that
//! comes and goes), the other side of the coin would have given the same value with the other sign. So what was seen is
//! held against what other coins would have given (Fisher's randomisation test), and nothing is assumed about noise. All
//! figures of a block flip together, and the largest of their statistics counts: the family is tested once (Westfall and
//! Young 1993). Looking several times is paid for: each look may spend only a part of the 5 % (Lan and `DeMets` 1983, with
//! the spending function that imitates Pocock's), and the flips that were "sure" at an earlier look are counted.
//!
//! Ranks instead of the values themselves (Wilcoxon 1945), because one run beside a backup must not hide the others; the
//! interval belongs to the test: the changes that it would not have refused (Hodges and Lehmann 1963).
//!
//! Start reading at [`AbTest`].

mod coins;
mod order;
mod report;
#[cfg(test)]
mod simulated;
mod test;
mod walsh;

pub use order::{ab_order, ab_seed};
pub use report::{AbAnswer, AbArm, AbBlock, AbDesign, AbDoubt, AbFigure, AbReport, AbRow, AbRun, AbSide};
pub use test::{AB_BLOCKS_LEAST, AbTest, ab_looks};

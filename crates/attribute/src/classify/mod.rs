//! Whose work is this stack?
//!
//! ```text
//!   address ──► Symbols ──► name ──► Rules: [[name]] ─┬─► owner of a frame: a layer, or its caller's
//!               (kallsyms)  module ────► [module] ────┤
//!                           FunctionTable ► [path] ───┤
//!                           Neighbours ───► [path] ───┤
//!                           addresses ────► [path] ───┘   (exact counts only)
//!   stack ──► Classifier: the leaf gives the kind, the nearest frame that is not transparent the layer ──► Classified
//!   classes ──► Profile: rows by layer, by function, by stack
//! ```
//!
//! Pure: what is stored classifies like what was just sampled, without privileges. Start reading at [`Classifier`].

mod addresses;
mod classifier;
mod neighbours;
mod profile;
mod rules;
mod symbols;
mod table;

pub use classifier::{Classified, Classifier, Route, Tally};
pub use profile::Profile;
pub use rules::{KindId, LayerId, Rules, RulesError};
pub use symbols::{Symbol, SymbolId, Symbols, SymbolsError};
pub use table::FunctionTable;

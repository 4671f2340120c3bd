//! How much time may a question take?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Thoroughness of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// A few seconds.
    Quick,
    /// A minute or so.
    #[default]
    Default,
    /// Time as long as it needs.
    Full,
}

impl Effort {
    /// Name as it is stored and shown.
    pub const fn name(self) -> &'static str {
        match self {
            Effort::Quick => "quick",
            Effort::Default => "default",
            Effort::Full => "full",
        }
    }
}

//! How much time may a question take?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How thorough a command is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Seconds.
    Quick,
    /// A minute or so.
    #[default]
    Default,
    /// As long as it needs.
    Full,
}

impl Effort {
    /// As it is stored and shown.
    pub const fn name(self) -> &'static str {
        match self {
            Effort::Quick => "quick",
            Effort::Default => "default",
            Effort::Full => "full",
        }
    }
}

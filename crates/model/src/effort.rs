//! How much time may a question take?

words! {
    /// Thoroughness of a command.
    #[derive(Default)]
    #[serde(rename_all = "lowercase")]
    pub enum Effort {
        /// A few seconds.
        Quick = "quick",
        /// A minute or so.
        #[default]
        Default = "default",
        /// Time as long as it needs.
        Full = "full",
    }
}

//! What does a terminal show?

//! How sure are we?

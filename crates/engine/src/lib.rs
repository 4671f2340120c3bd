//! How is it asked?

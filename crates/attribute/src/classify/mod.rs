//! Which layer does a function belong to, and what kind of work is it?

//! Which targets are there? The one table that knows every kind, for the program and for whoever embeds it.
//!
//! What measures implements [`iostack_target::Target`], what thinks knows only that; here both meet. Start reading at
//! [`targets`].

mod ends;
pub mod targets;

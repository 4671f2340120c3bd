//! What can any program use? A simulated drive, in real time, as a disk.
//!
//! ```text
//!   program ──► file system ──► route ──► Disk ──► layers ──► Drive (sim) ──► reply, when the model says
//!                               nbd, fuse   └──► Store: the data
//! ```
//!
//! The drive is the same model as everywhere; the data are real. Who answers, and when, stands in `server.rs`; a route is a
//! folder that turns one protocol into calls of [`Disk`].
//!
//! Start reading at [`Disk`], then at `nbd/session.rs`.

mod clock;
mod door;
mod drive;
pub mod fuse;
pub mod lab;
mod later;
pub mod layers;
pub mod nbd;
mod request;
mod seen;
mod server;
mod stepped;
mod store;
mod sys;
mod volatile;

pub use door::{Door, Route, Wanted, untouched};
pub use drive::Drive;
pub use request::{DiskRequest, Errno, Reply};
pub use server::{Disk, Server};
pub use stepped::Stepped;
pub use store::Store;
pub use volatile::{Cut, Promise, SECTOR};

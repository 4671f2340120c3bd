//! What machine is this, and can it be measured?
//!
//! | question | answer |
//! | --- | --- |
//! | which machine, which storage? | [`machine`], [`storage`], [`cgroup_io_limit`] |
//! | what did the user name, may we write there? | [`resolve`], [`permit_write`], [`permit_store`], [`Held`] |
//! | where can we write without harm? | [`Scratch`], [`sweep`], [`signals`], [`save`] |
//! | what time is it, what was counted? | [`clock`], [`counters`] |
//! | has the medium been written at all, will it answer at once? | [`unwritten`], [`supports_nowait`] |
//! | what do a system call and a context switch cost? | [`path`] |
//! | how would it be with another scheduler? | [`set_scheduler`], [`restore_leftovers`] |
//!
//! Everything is read from sysfs, procfs and system calls of Linux. What reads the kernel's files takes their root, so
//! that it is tested on stored trees of machines nobody here has. Start reading at [`resolve`].

pub mod awaited;
mod cgroup;
mod chain;
pub mod clock;
pub mod counters;
mod device;
mod emergency;
mod error;
mod extents;
mod growing;
mod held;
mod machine;
mod marks;
mod mounts;
mod own_name;
pub mod path;
mod permit;
mod process;
mod publish;
mod resolve;
mod roots;
pub mod save;
mod scratch;
mod settings;
pub mod signals;
mod signature;
mod sparse;
mod storage;
mod sys;
#[cfg(test)]
mod testing;
mod virtualisation;

pub use cgroup::{cgroup_io_limit, cgroup_io_limits};
pub use error::HostError;
pub use extents::{supports_nowait, unwritten};
pub use growing::Growing;
pub use held::{Held, mark_made, permit_new};
pub use machine::machine;
pub use mounts::{FuseMount, fuse_mounts};
pub use permit::{permit_store, permit_write};
pub use process::{TaskStat, has_ended, own_mark};
pub use publish::{close, publish};
pub use resolve::{logical_block, resolve, target_size};
pub use scratch::{Scratch, scratch_size, sweep};
pub use settings::{Journal, SettingGuard, restore_all, restore_leftovers, set_scheduler};
pub use sparse::{stretches, stretches_within};
pub use storage::{storage, zone_model};
pub use sys::allocator::Allocator;
pub use sys::private::{dies_with_us, effective_group, free_bytes, memory_file};
pub use sys::{effective_user, monotonic_ns, run_on, thread_cpu_ns, thread_number};

//! Which kinds of device are there? One line each; a new kind adds one file and one line.

mod adapter;
mod cloud;
mod dram;
mod file_system;
mod flash;
mod hdd;
mod os;
mod platform;
mod raid0;
mod scheduler;
mod zero;

use crate::sheet::parameter::DeviceKind;

pub use flash::PAGE_ORDERS;
pub use platform::SUBSYSTEMS;
pub use scheduler::SCHEDULERS;

/// All kinds.
pub const KINDS: &[DeviceKind] = &[
    platform::KIND,
    os::KIND,
    scheduler::KIND,
    file_system::KIND,
    adapter::KIND,
    zero::KIND,
    flash::KIND,
    dram::KIND,
    hdd::KIND,
    raid0::KIND,
    cloud::KIND,
];

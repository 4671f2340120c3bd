//! The host on real devices and real processes.

mod loop_devices;
mod signals;

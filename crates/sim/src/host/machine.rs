//! What is the machine, and where does a request go in it?

use super::merge::subsystem::Subsystem;
use super::thread::Wait;
use crate::engine::{PartId, Shape, Time};

/// A step of a thread ends; an interrupt is through; a slice is; a nap is; and the interrupt that ends it.
pub(super) const STEP: u8 = 0;
pub(super) const LINE: u8 = 1;
pub(super) const TICK: u8 = 2;
pub(super) const NAP: u8 = 3;
pub(super) const WOKEN: u8 = 4;

/// The machine's own numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) ns_per_clock: f64,
    /// Clocks more of a turn under the scheduler's lock that was waited for.
    pub(crate) contention: f64,
    /// Clocks of an uncacheable read.
    pub(crate) register_read: f64,
    /// One core takes all interrupts.
    pub(crate) one_for_all: bool,
    /// Manner of waiting of threads that do not ask for polling themselves.
    pub(crate) wait: Wait,
    pub(crate) subsystem: Subsystem,
    /// Commands that the host leaves in a drive.
    pub(crate) outstanding: Option<u32>,
    /// Completions of one interrupt, and time after which it begins no more, ns: what is left is for a thread of the kernel.
    pub(crate) budget: Option<(u64, Time)>,
}

/// The drives and how to reach them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drives {
    pub(crate) adapters: Vec<PartId>,
    pub(crate) count: usize,
    /// Shape of one drive.
    pub(crate) shape: Shape,
    /// Part above each drive: its scheduler, or its adapter where none orders.
    pub(crate) doors: Vec<PartId>,
    /// They follow each other in one space; else threads take turns at them.
    pub(crate) in_a_row: bool,
}

/// Way that a request went.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DriveFlight {
    pub(super) drive: u16,
    pub(super) line: u16,
    /// It is part of a request for several drives.
    pub(super) is_part: bool,
    pub(super) issued: Time,
}

//! Which names do our own files have that may be left behind?

use std::sync::atomic::{AtomicU32, Ordering};

use crate::process::Process;

pub(crate) const PREFIX: &str = ".iostack-scratch-";

/// A name that no other process uses, and this one only once.
pub(crate) fn new_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let owner = Process::current();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{PREFIX}{}-{}-{number}", owner.pid, owner.start_ticks)
}

/// The process that a scratch file's name tells.
pub(crate) fn owner_of(name: &str) -> Option<Process> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-').map(str::parse::<u64>);
    let (pid, start, number) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    let whole = parts.next().is_none() && u32::try_from(number).is_ok();
    whole.then_some(Process { pid: u32::try_from(pid).ok()?, start_ticks: start })
}

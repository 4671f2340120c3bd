//! The libaio engine: `io_submit`, and completions read from the ring in user space where that is possible.

use std::os::fd::RawFd;

use iostack_model::{Carrier, Job};
use iostack_ring::{Context, ControlBlock};
use iostack_workload::Op;

use crate::backend::{Entered, Patience, Queue, is_passing};
use crate::sys::queue;
use crate::{EngineError, Result};

/// A context with its control blocks, one per slot.
pub(crate) struct Libaio {
    context: Context,
    files: Vec<RawFd>,
    blocks: Vec<ControlBlock>,
    /// Slots pushed and not yet taken by the kernel, in order.
    pending: Vec<u32>,
    pointers: Vec<*const ControlBlock>,
    /// A block the kernel refused for good: its slot and `-errno`.
    refused: Option<(u32, i32)>,
    /// Flags of reads, and of writes.
    flags: [u32; 2],
}

impl Libaio {
    /// A context for the job's depth.
    pub(crate) fn new(job: &Job, files: Vec<RawFd>) -> Result<Libaio> {
        let depth = job.queue_depth.max(1);
        let context = Context::new(depth).map_err(|source| match source.raw_os_error() {
            Some(libc::EAGAIN) => EngineError::DepthBeyondLimit {
                engine: "libaio",
                depth,
                threads: job.threads,
                limit: "fs.aio-max-nr requests of all processes together".to_owned(),
                remedy: "raise it (`sysctl fs.aio-max-nr=1048576`) or lower depth or threads".to_owned(),
            },
            _ => EngineError::EngineUnavailable {
                engine: "libaio",
                reason: "the kernel refused the context".to_owned(),
                remedy: "use io_uring or psync",
                source,
            },
        })?;
        Ok(Libaio {
            context,
            files,
            blocks: vec![ControlBlock::default(); depth as usize],
            pending: Vec::with_capacity(depth as usize),
            pointers: Vec::with_capacity(depth as usize),
            refused: None,
            flags: [false, true].map(|write| job.host.flags.bits(write)),
        })
    }
}

impl Queue for Libaio {
    const SUBMITS_APART: bool = true;

    fn carrier(&self) -> Carrier {
        Carrier::Libaio { blocks: self.blocks.as_ptr() as u64 }
    }

    #[inline]
    fn push_all(&mut self, batch: impl Iterator<Item = (u32, Op, *mut u8)>) {
        for (slot, op, buffer) in batch {
            let file = self.files[usize::from(op.file)];
            let write = op.direction != 0;
            self.blocks[slot as usize] = ControlBlock::new(slot, write, file, buffer, op.length, op.offset);
            self.pending.push(slot);
        }
    }

    fn push_preferred(&mut self, priority: u16, one: (u32, Op, *mut u8)) {
        let (slot, write) = (one.0 as usize, one.1.direction != 0);
        self.push_all(std::iter::once(one));
        if priority > 0 {
            self.blocks[slot] = self.blocks[slot].preferred(priority);
        }
        let flags = self.flags[usize::from(write)];
        if flags > 0 {
            self.blocks[slot] = self.blocks[slot].flagged(flags);
        }
    }

    #[inline]
    fn submit(&mut self) -> Entered {
        if self.pending.is_empty() {
            return Entered { syscalls: 0, errno: 0 };
        }
        self.pointers.clear();
        self.pointers.extend(self.pending.iter().map(|&slot| &raw const self.blocks[slot as usize]));
        let result = queue::submit(&mut self.context, &self.pointers);
        if result.cast_unsigned() == self.pending.len() {
            self.pending.clear();
        } else if result > 0 {
            self.pending.drain(..result.unsigned_abs());
        } else {
            let errno = if result == 0 { libc::EAGAIN } else { -result as i32 };
            if is_passing(errno) {
                return Entered { syscalls: 1, errno };
            }
            // One at a time: the next waits until the loop has heard of this one.
            if self.refused.is_some() {
                return Entered { syscalls: 1, errno: libc::EAGAIN };
            }
            self.refused = Some((self.pending.remove(0), -errno));
        }
        Entered { syscalls: 1, errno: 0 }
    }

    #[inline]
    fn submit_and_wait(&mut self, least: u32, patience: Patience) -> Entered {
        let mut entered = self.submit();
        if entered.errno != 0 || self.refused.is_some() || !self.pending.is_empty() {
            return entered;
        }
        let timeout = match patience {
            Patience::Forever => None,
            Patience::Nanos(ns) => Some(ns),
        };
        let least = if timeout == Some(0) { 0 } else { least };
        match self.context.wait(least, timeout) {
            Ok(called) => entered.syscalls += u64::from(called),
            Err(errno) => entered = Entered { syscalls: entered.syscalls + 1, errno },
        }
        entered
    }

    #[inline]
    fn is_ready(&self) -> bool {
        self.refused.is_some() || self.context.is_ready()
    }

    #[inline]
    fn reap(&mut self, most: u32, mut each: impl FnMut(u32, i32)) {
        if let Some((slot, result)) = self.refused.take() {
            each(slot, result);
            return;
        }
        self.context.reap(most, each);
    }
}

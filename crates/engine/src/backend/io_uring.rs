//! The `io_uring` engine.
//!
//! One `io_uring_enter` both submits and waits, so at depth 1 there is one system call per I/O.

use iostack_model::{Bytes, Carrier, Job};
use iostack_ring::{PRIORITY_SHIFT, Request, Ring, RingOptions, WRITE, head_word};
use iostack_workload::Op;

use crate::EngineError;
use crate::backend::{Entered, Patience, Queue};
use crate::files::Files;
use crate::payload::Payload;
use crate::sys::queue;

/// Options of a job's ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IoUringOptions {
    pub(crate) registered_files: bool,
    pub(crate) poll: bool,
    pub(crate) submit_poll: bool,
}

/// A ring with its files and buffers. `REGISTERED` when the buffers are.
pub(crate) struct IoUring<const REGISTERED: bool> {
    ring: Ring,
    /// The first word of a read of each file.
    heads: Vec<u64>,
    /// Registered buffers of reads come first; those of writes behind them.
    reads: u16,
    /// Pushed and not yet taken by the kernel.
    pending: u32,
}

impl<const REGISTERED: bool> IoUring<REGISTERED> {
    /// A ring for the job's depth.
    pub(crate) fn new(
        job: &Job,
        options: IoUringOptions,
        files: &Files,
        payload: &Payload,
    ) -> Result<IoUring<REGISTERED>, EngineError> {
        let depth = job.queue_depth.max(1);
        let ring_options = RingOptions {
            entries: depth,
            poll: options.poll,
            submit_poll: options.submit_poll,
            submitter_cpu: job.host.submitter_cpu,
            // A loop that waits for its schedule looks at the ring without a call.
            by_itself: job.is_timed(),
            ..RingOptions::default()
        };
        let ring = Ring::new(ring_options).map_err(|source| unavailable(source, job))?;
        if ring.entries() < depth {
            return Err(EngineError::DepthBeyondLimit {
                engine: "io_uring",
                depth,
                threads: job.threads,
                limit: format!("a ring holds {} entries", ring.entries()),
                remedy: "lower the depth, or spread it over more threads".to_owned(),
            });
        }
        let failed =
            |source| EngineError::Failed { act: "register with io_uring", path: files.path.clone(), source };
        if options.registered_files {
            ring.register_files(&files.descriptors).map_err(failed)?;
        }
        if REGISTERED {
            let buffers: Vec<_> = payload.reads.vectors().chain(payload.writes.vectors()).collect();
            let asked = buffers.iter().map(|buffer| buffer.iov_len as u64).sum();
            ring.register_buffers(&buffers).map_err(|source| {
                if source.raw_os_error() == Some(libc::ENOMEM) {
                    EngineError::LockedMemory { asked: Bytes(asked), source }
                } else {
                    failed(source)
                }
            })?;
        }
        let reads = payload.reads.count.min(usize::from(u16::MAX)) as u16;
        let numbered = files.descriptors.iter().enumerate();
        let heads = numbered.map(|(number, descriptor)| {
            let file = if options.registered_files { number as u32 } else { descriptor.cast_unsigned() };
            head_word(file, options.registered_files, REGISTERED)
        });
        Ok(IoUring { ring, heads: heads.collect(), reads, pending: 0 })
    }

    #[inline]
    fn entered(&mut self, result: isize) -> Entered {
        if result >= 0 {
            // The kernel takes no more than it was offered.
            self.pending = self.pending.wrapping_sub(result as u32);
            Entered { syscalls: 1, errno: 0 }
        } else {
            Entered { syscalls: 1, errno: -result as i32 }
        }
    }
}

fn unavailable(source: std::io::Error, job: &Job) -> EngineError {
    let (reason, remedy) = match source.raw_os_error() {
        Some(libc::EPERM) => (
            "the kernel or the container's seccomp profile forbids it",
            "set `sysctl kernel.io_uring_disabled=0`, allow io_uring in the container, or use libaio",
        ),
        Some(libc::ENOSYS) => ("this kernel has no io_uring", "use Linux 5.6 or later, or use libaio"),
        Some(libc::ENOMEM) => {
            ("the ring does not fit the limit of locked memory", "raise it (`ulimit -l`) or lower the depth")
        }
        Some(libc::EINVAL) if job.queue_depth > 32_768 => {
            ("the ring would be larger than the kernel allows", "lower the depth")
        }
        _ => ("the kernel refused the ring", "use libaio or psync"),
    };
    EngineError::EngineUnavailable { engine: "io_uring", reason: reason.to_owned(), remedy, source }
}

impl<const REGISTERED: bool> Queue for IoUring<REGISTERED> {
    const SUBMITS_APART: bool = false;

    fn carrier(&self) -> Carrier {
        Carrier::IoUring
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "most of it is decided by the loop around it")]
    fn push_all(&mut self, batch: impl Iterator<Item = (u32, Op, *mut u8)>) {
        let (heads, reads) = (&*self.heads, self.reads);
        // Most jobs have one file: a flag in a register is cheaper than a look into the table.
        let only = if let [only] = heads { Some(*only) } else { None };
        self.pending += queue::push_all::<REGISTERED>(
            &mut self.ring,
            batch.map(|(slot, op, buffer)| {
                let write = op.direction != 0;
                Request {
                    head: only.unwrap_or_else(|| heads[usize::from(op.file)]) + if write { WRITE } else { 0 },
                    offset: op.offset,
                    address: buffer,
                    length: op.length,
                    slot,
                    buffer_index: if REGISTERED { slot as u16 + if write { reads } else { 0 } } else { 0 },
                }
            }),
        );
    }

    fn push_preferred(&mut self, priority: u16, one: (u32, Op, *mut u8)) {
        let file = usize::from(one.1.file);
        let kept = self.heads[file];
        self.heads[file] |= u64::from(priority) << PRIORITY_SHIFT;
        self.push_all(std::iter::once(one));
        self.heads[file] = kept;
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "most of it is decided by the loop around it")]
    fn submit(&mut self) -> Entered {
        if self.pending == 0 {
            return Entered { syscalls: 0, errno: 0 };
        }
        let result = self.ring.enter(self.pending, 0);
        self.entered(result)
    }

    #[inline]
    fn submit_and_wait(&mut self, least: u32, patience: Patience) -> Entered {
        let result = match patience {
            Patience::Forever => self.ring.enter(self.pending, least),
            Patience::Nanos(0) => self.ring.enter_and_collect(self.pending, 0),
            Patience::Nanos(ns) if self.ring.waits_with_timeout() => {
                self.ring.enter_for(self.pending, least, ns)
            }
            Patience::Nanos(ns) => {
                std::thread::sleep(std::time::Duration::from_nanos(ns.min(50_000)));
                self.ring.enter_and_collect(self.pending, 0)
            }
        };
        self.entered(result)
    }

    #[inline]
    fn is_ready(&self) -> bool {
        self.ring.is_ready()
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "most of it is decided by the loop around it")]
    fn reap(&mut self, most: u32, each: impl FnMut(u32, i32)) {
        self.ring.reap(most, each);
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "most of it is decided by the loop around it")]
    fn take(&mut self) -> Option<(u32, i32)> {
        self.ring.take()
    }
}

//! What does each step of an I/O's way cost? Clocks by layer, put together once from the sheets.

use iostack_model::Engine;

use super::layer::{Layer, Ledger, Path};
use super::system::System;
use crate::adapter::Driver;

/// Way in which a thread asks, as far as it makes a difference for costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubmitWay {
    /// `pread`, `pwrite` and the like: the call ends with the I/O.
    Call,
    /// libaio: a call to submit, a call to pick up.
    Aio,
    /// `io_uring`: one call for both. Files and buffers are known to the kernel, or looked up for each I/O.
    Uring { files: bool, buffers: bool },
    /// `io_uring` whose submissions the kernel's thread takes from the ring: what is left to the caller.
    Ring,
    /// The kernel's own I/O, such as that of the page cache: block layer and below.
    Kernel,
    /// The thread of the kernel that takes submissions from the ring.
    Helper { files: bool, buffers: bool },
}

impl SubmitWay {
    /// The way of a caller, and that of the kernel's thread where it has one.
    pub(crate) fn of_engine(engine: Engine) -> (SubmitWay, Option<SubmitWay>) {
        match engine {
            Engine::Libaio => (SubmitWay::Aio, None),
            Engine::IoUring { fixed_buffers: buffers, registered_files: files, submit_poll, .. } => {
                let helper = SubmitWay::Helper { files, buffers };
                if submit_poll {
                    (SubmitWay::Ring, Some(helper))
                } else {
                    (SubmitWay::Uring { files, buffers }, None)
                }
            }
            // One call each; nobody asks a simulated host for those that `Job::needs_threads` names.
            _ => (SubmitWay::Call, None),
        }
    }
}

/// Steps of one way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    /// A call that submits.
    pub(crate) call: Path,
    /// Each I/O of a call that submits.
    pub(crate) submit: Path,
    /// A call that picks up.
    pub(crate) reap_call: Path,
    /// Each I/O of a call that picks up.
    pub(crate) reap: Path,
    /// A call that waits, of a way that else needs none.
    pub(crate) sleep_call: Path,
}

/// Steps of all ways, and those beside them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths {
    system: System,
    driver: Driver,
    /// Ways that threads go.
    known: Vec<SubmitWay>,
    /// Steps of each known way.
    pub(crate) ways: Vec<Steps>,
    pub(crate) interrupt: Path,
    /// Each completion of an interrupt.
    pub(crate) complete: Path,
    pub(crate) wake: Path,
    /// A timer that wakes a thread.
    pub(crate) timer: Path,
    pub(crate) switch_out: Path,
    pub(crate) switch_in: Path,
    pub(crate) other_core: Path,
    /// The rest of it when the other core is on another socket.
    pub(crate) other_socket: Path,
    /// One look for a completion.
    pub(crate) look: Path,
    /// Time under the lock of the I/O scheduler.
    pub(crate) hold: Path,
    /// Time under the lock of the driver.
    pub(crate) driver_hold: Path,
}

impl Paths {
    pub(crate) fn new(ledger: &mut Ledger, system: &System, driver: &Driver, register_read: f64) -> Paths {
        let mut path = |clocks: &[(Layer, f64)]| ledger.path(clocks);
        let scsi_end = if driver.is_scsi() { system.scsi_end } else { 0.0 };
        Paths {
            system: system.clone(),
            driver: driver.clone(),
            known: Vec::new(),
            ways: Vec::new(),
            interrupt: path(&[
                (Layer::Interrupt, system.interrupt),
                (Layer::DriverReturn, driver.interrupt),
                (Layer::Registers, driver.register_reads * register_read),
            ]),
            complete: path(&[
                (Layer::DriverReturn, driver.end),
                (Layer::Scsi, scsi_end),
                (Layer::Block, system.block_end),
            ]),
            wake: path(&[(Layer::Switch, system.wake)]),
            timer: path(&[(Layer::Interrupt, system.interrupt), (Layer::Switch, system.wake)]),
            switch_out: path(&[(Layer::Switch, system.switch_out)]),
            switch_in: path(&[(Layer::Switch, system.switch_in)]),
            other_core: path(&[(Layer::OtherCore, system.other_core)]),
            other_socket: Path::default(),
            look: path(&[(Layer::Poll, system.poll)]),
            hold: path(&[(Layer::Lock, system.scheduler_hold)]),
            driver_hold: path(&[(Layer::Lock, driver.lock)]),
        }
    }

    /// Lines from another socket take so many times as long as from another core.
    pub(crate) fn prolong_other_core(&mut self, times: f64, ledger: &mut Ledger) {
        self.other_socket = ledger.path(&[(Layer::OtherCore, self.system.other_core * (times - 1.0))]);
    }

    /// The number of a way; its steps are made when it is first asked for.
    pub(crate) fn way(&mut self, way: SubmitWay, ledger: &mut Ledger) -> usize {
        if let Some(index) = self.known.iter().position(|&known| known == way) {
            return index;
        }
        let Paths { system, driver, .. } = &*self;
        let mut path = |clocks: &[(Layer, f64)]| ledger.path(clocks);
        let ring = |files: bool, buffers: bool| {
            let look_up = |known: bool, clocks: f64| if known { 0.0 } else { clocks };
            system.uring_submit + look_up(files, system.uring_file) + look_up(buffers, system.uring_buffer)
        };
        let [application, syscall] = [system.application, system.syscall];
        let batch = match way {
            SubmitWay::Aio => system.aio_batch,
            SubmitWay::Uring { .. } => system.uring_batch,
            _ => 0.0,
        };
        // Clocks of the program, of the call that submits, beyond the vfs, of the call that picks up, and of each of it.
        let (own, call, extra, reap_call, reap) = match way {
            SubmitWay::Call => (application, syscall, 0.0, 0.0, 0.0),
            SubmitWay::Aio => (application, syscall, system.aio_submit - batch, syscall, system.aio_reap),
            SubmitWay::Uring { files, buffers } => {
                (application, syscall, ring(files, buffers) - batch, 0.0, system.uring_reap)
            }
            SubmitWay::Kernel => (0.0, 0.0, -system.vfs, 0.0, 0.0),
            SubmitWay::Ring => (application, 0.0, 0.0, 0.0, system.uring_reap),
            SubmitWay::Helper { files, buffers } => (0.0, 0.0, ring(files, buffers), 0.0, 0.0),
        };
        let submit = if way == SubmitWay::Ring {
            path(&[(Layer::Application, own), (Layer::Vfs, system.uring_queue)])
        } else {
            path(&[
                (Layer::Application, own),
                (Layer::Vfs, system.vfs + extra),
                (Layer::FileSystem, if way == SubmitWay::Kernel { 0.0 } else { system.through_files }),
                (Layer::Memory, system.pin),
                (Layer::Block, system.block),
                (Layer::Scheduler, system.scheduler),
                (Layer::Scsi, if driver.is_scsi() { system.scsi } else { 0.0 }),
                (Layer::Translation, driver.translation),
                (Layer::Driver, driver.command),
            ])
        };
        let steps = Steps {
            call: path(&[(Layer::Syscall, call), (Layer::Vfs, batch)]),
            submit,
            reap_call: path(&[(Layer::Syscall, reap_call)]),
            reap: path(&[(Layer::Vfs, reap)]),
            sleep_call: path(&[(Layer::Syscall, if way == SubmitWay::Ring { syscall } else { 0.0 })]),
        };
        self.known.push(way);
        self.ways.push(steps);
        self.ways.len() - 1
    }
}

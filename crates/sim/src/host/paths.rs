//! What does each step of an I/O's way cost? Clocks by layer, put together once from the sheets.

use iostack_model::Engine;

use super::layer::{Layer, Path, Work};
use super::system::System;
use crate::adapter::Driver;

/// How a thread asks, as far as it makes a difference for costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// `pread`, `pwrite` and the like: the call ends with the I/O.
    Call,
    /// libaio: a call to submit, a call to pick up.
    Aio,
    /// `io_uring`: one call for both.
    Uring,
}

impl Way {
    pub(crate) fn of(engine: Engine) -> Way {
        match engine {
            Engine::Libaio => Way::Aio,
            Engine::IoUring { .. } => Way::Uring,
            Engine::Psync | Engine::Pvsync2 { .. } | Engine::Mmap => Way::Call,
        }
    }
}

/// The steps of one way.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    /// A call that submits.
    pub(crate) call: Path,
    /// Each I/O of it.
    pub(crate) submit: Path,
    /// A call that picks up.
    pub(crate) reap_call: Path,
    /// Each I/O of it.
    pub(crate) reap: Path,
}

/// All steps.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    /// By [`Way`].
    pub(crate) ways: [Steps; 3],
    /// An interrupt.
    pub(crate) interrupt: Path,
    /// Each completion of it.
    pub(crate) complete: Path,
    pub(crate) wake: Path,
    pub(crate) switch_out: Path,
    pub(crate) switch_in: Path,
    pub(crate) other_core: Path,
    /// One look for a completion.
    pub(crate) look: Path,
    /// Under the lock of the I/O scheduler.
    pub(crate) hold: Path,
}

impl Paths {
    pub(crate) fn new(system: &System, driver: &Driver, register_read: f64, ns_per_clock: f64) -> Paths {
        let path = |list: &[(Layer, f64)]| Path::new(Work::of(list), ns_per_clock);
        let scsi = if driver.is_scsi { [system.scsi, system.scsi_end] } else { [0.0; 2] };
        let steps = |call: f64, extra: f64, reap_call: f64, reap: f64| Steps {
            call: path(&[(Layer::Syscall, call)]),
            submit: path(&[
                (Layer::Application, system.application),
                (Layer::Vfs, system.vfs + extra),
                (Layer::Block, system.block),
                (Layer::Scheduler, system.scheduler),
                (Layer::Scsi, scsi[0]),
                (Layer::Translation, driver.translation),
                (Layer::Driver, driver.command),
            ]),
            reap_call: path(&[(Layer::Syscall, reap_call)]),
            reap: path(&[(Layer::Vfs, reap)]),
        };
        Paths {
            ways: [
                steps(system.syscall, 0.0, 0.0, 0.0),
                steps(system.syscall, system.aio[0], system.syscall, system.aio[1]),
                steps(system.syscall, system.uring[0], 0.0, system.uring[1]),
            ],
            interrupt: path(&[
                (Layer::Interrupt, system.interrupt),
                (Layer::DriverReturn, driver.interrupt),
                (Layer::Registers, driver.register_reads * register_read),
            ]),
            complete: path(&[
                (Layer::DriverReturn, driver.end),
                (Layer::Scsi, scsi[1]),
                (Layer::Block, system.block_end),
            ]),
            wake: path(&[(Layer::Switch, system.wake)]),
            switch_out: path(&[(Layer::Switch, system.switch_out)]),
            switch_in: path(&[(Layer::Switch, system.switch_in)]),
            other_core: path(&[(Layer::OtherCore, system.other_core)]),
            look: path(&[(Layer::Poll, system.poll)]),
            hold: path(&[(Layer::Lock, system.scheduler_hold)]),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Path> {
        let ways = self.ways.iter().flat_map(|way| [&way.call, &way.submit, &way.reap_call, &way.reap]);
        ways.chain([
            &self.interrupt,
            &self.complete,
            &self.wake,
            &self.switch_out,
            &self.switch_in,
            &self.other_core,
            &self.look,
            &self.hold,
        ])
    }

    /// What all that was done came to.
    pub(crate) fn settle(&self) -> Work {
        let mut sum = Work::default();
        self.all().for_each(|path| path.settle(&mut sum));
        sum
    }

    /// Counts begin anew.
    pub(crate) fn begin(&mut self) {
        for way in &mut self.ways {
            [&mut way.call, &mut way.submit, &mut way.reap_call, &mut way.reap]
                .into_iter()
                .for_each(Path::begin);
        }
        let Paths { interrupt, complete, wake, switch_out, switch_in, other_core, look, hold, .. } = self;
        [interrupt, complete, wake, switch_out, switch_in, other_core, look, hold]
            .into_iter()
            .for_each(Path::begin);
    }
}

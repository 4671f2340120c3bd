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
    /// `io_uring`: one call for both. Files and buffers are known to the kernel, or looked up for each I/O.
    Uring { files: bool, buffers: bool },
    /// `io_uring` whose submissions the kernel's thread takes from the ring: what is left to the caller.
    Ring,
    /// The kernel's own I/O, such as that of the page cache: block layer and below.
    Kernel,
    /// That thread.
    Helper { files: bool, buffers: bool },
}

impl Way {
    /// Of a caller, and of the kernel's thread where it has one.
    pub(crate) fn of(engine: Engine) -> (Way, Option<Way>) {
        match engine {
            Engine::Libaio => (Way::Aio, None),
            Engine::IoUring { fixed_buffers: buffers, registered_files: files, submit_poll, .. } => {
                let helper = Way::Helper { files, buffers };
                if submit_poll { (Way::Ring, Some(helper)) } else { (Way::Uring { files, buffers }, None) }
            }
            // One call each; nobody asks a simulated host for those that `Job::needs_threads` names.
            _ => (Way::Call, None),
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
    /// A call that waits, of a way that else needs none.
    pub(crate) sleep_call: Path,
}

impl Steps {
    fn all(&self) -> [&Path; 5] {
        [&self.call, &self.submit, &self.reap_call, &self.reap, &self.sleep_call]
    }

    fn begin(&mut self) {
        let Steps { call, submit, reap_call, reap, sleep_call } = self;
        [call, submit, reap_call, reap, sleep_call].into_iter().for_each(Path::begin);
    }
}

/// All steps.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    system: System,
    driver: Driver,
    ns_per_clock: f64,
    /// The ways that threads go.
    known: Vec<Way>,
    /// Of each.
    pub(crate) ways: Vec<Steps>,
    /// An interrupt.
    pub(crate) interrupt: Path,
    /// Each completion of it.
    pub(crate) complete: Path,
    pub(crate) wake: Path,
    /// A timer that wakes a thread.
    pub(crate) timer: Path,
    pub(crate) switch_out: Path,
    pub(crate) switch_in: Path,
    pub(crate) other_core: Path,
    /// One look for a completion.
    pub(crate) look: Path,
    /// Under the lock of the I/O scheduler.
    pub(crate) hold: Path,
    /// Under the lock of the driver.
    pub(crate) driver_hold: Path,
}

impl Paths {
    pub(crate) fn new(system: &System, driver: &Driver, register_read: f64, ns_per_clock: f64) -> Paths {
        let path = |list: &[(Layer, f64)]| Path::new(Work::of(list), ns_per_clock);
        let scsi_end = if driver.is_scsi { system.scsi_end } else { 0.0 };
        Paths {
            system: system.clone(),
            driver: driver.clone(),
            ns_per_clock,
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
            look: path(&[(Layer::Poll, system.poll)]),
            hold: path(&[(Layer::Lock, system.scheduler_hold)]),
            driver_hold: path(&[(Layer::Lock, driver.lock)]),
        }
    }

    /// The number of a way; its steps are made when it is first asked for.
    pub(crate) fn way(&mut self, way: Way) -> usize {
        if let Some(index) = self.known.iter().position(|&known| known == way) {
            return index;
        }
        let Paths { system, driver, .. } = &*self;
        let path = |list: &[(Layer, f64)]| Path::new(Work::of(list), self.ns_per_clock);
        let ring = |files: bool, buffers: bool| {
            let look_up = |known: bool, clocks: f64| if known { 0.0 } else { clocks };
            system.uring[0] + look_up(files, system.uring_file) + look_up(buffers, system.uring_buffer)
        };
        let [application, syscall] = [system.application, system.syscall];
        // Clocks of the program, of the call that submits, beyond the vfs, of the call that picks up, and of each of it.
        let (own, call, extra, reap_call, reap) = match way {
            Way::Call => (application, syscall, 0.0, 0.0, 0.0),
            Way::Aio => (application, syscall, system.aio[0], syscall, system.aio[1]),
            Way::Uring { files, buffers } => {
                (application, syscall, ring(files, buffers), 0.0, system.uring[1])
            }
            Way::Kernel => (0.0, 0.0, -system.vfs, 0.0, 0.0),
            Way::Ring => (application, 0.0, 0.0, 0.0, system.uring[1]),
            Way::Helper { files, buffers } => (0.0, 0.0, ring(files, buffers), 0.0, 0.0),
        };
        let submit = if way == Way::Ring {
            path(&[(Layer::Application, own), (Layer::Vfs, system.uring_queue)])
        } else {
            path(&[
                (Layer::Application, own),
                (Layer::Vfs, system.vfs + extra),
                (Layer::FileSystem, if way == Way::Kernel { 0.0 } else { system.through_files }),
                (Layer::Memory, system.pin),
                (Layer::Block, system.block),
                (Layer::Scheduler, system.scheduler),
                (Layer::Scsi, if driver.is_scsi { system.scsi } else { 0.0 }),
                (Layer::Translation, driver.translation),
                (Layer::Driver, driver.command),
            ])
        };
        let steps = Steps {
            call: path(&[(Layer::Syscall, call)]),
            submit,
            reap_call: path(&[(Layer::Syscall, reap_call)]),
            reap: path(&[(Layer::Vfs, reap)]),
            sleep_call: path(&[(Layer::Syscall, if way == Way::Ring { syscall } else { 0.0 })]),
        };
        self.known.push(way);
        self.ways.push(steps);
        self.ways.len() - 1
    }

    fn all(&self) -> impl Iterator<Item = &Path> {
        let ways = self.ways.iter().flat_map(Steps::all);
        ways.chain([
            &self.interrupt,
            &self.complete,
            &self.wake,
            &self.timer,
            &self.switch_out,
            &self.switch_in,
            &self.other_core,
            &self.look,
            &self.hold,
            &self.driver_hold,
        ])
    }

    /// What all that was done came to.
    pub(crate) fn settle(&self) -> Work {
        let mut sum = Work::default();
        self.all().for_each(|path| path.settle(&mut sum));
        sum
    }

    /// The same in ns, as it was booked.
    pub(crate) fn booked(&self) -> u64 {
        self.all().map(Path::booked).sum()
    }

    /// Counts begin anew.
    pub(crate) fn begin(&mut self) {
        self.ways.iter_mut().for_each(Steps::begin);
        let Paths {
            interrupt,
            complete,
            wake,
            timer,
            switch_out,
            switch_in,
            other_core,
            look,
            hold,
            driver_hold,
            ..
        } = self;
        [interrupt, complete, wake, timer, switch_out, switch_in, other_core, look, hold, driver_hold]
            .into_iter()
            .for_each(Path::begin);
    }
}

//! Which layer spent the clocks?

use iostack_model::HostLayer;

/// A layer of the host's software, in the order of a request's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    Application,
    Syscall,
    Vfs,
    FileSystem,
    Memory,
    PageCache,
    Copy,
    Block,
    Scheduler,
    Lock,
    Scsi,
    Translation,
    Driver,
    DriverReturn,
    Registers,
    Interrupt,
    Poll,
    Switch,
    OtherCore,
    IdleExit,
    SlowDown,
}

/// Number of layers.
pub(crate) const LAYERS: usize = Layer::SlowDown as usize + 1;

/// Layers as reports name them, in the order of a request's way.
pub(crate) const LAYER_NAMES: [(Layer, &str); LAYERS] = [
    (Layer::Application, "application"),
    (Layer::Syscall, "system call"),
    (Layer::Vfs, "vfs"),
    (Layer::FileSystem, "file system"),
    (Layer::Memory, "memory"),
    (Layer::PageCache, "page cache"),
    (Layer::Copy, "copy"),
    (Layer::Block, "block"),
    (Layer::Scheduler, "scheduler"),
    (Layer::Lock, "lock"),
    (Layer::Scsi, "scsi"),
    (Layer::Translation, "translation"),
    (Layer::Driver, "driver"),
    (Layer::DriverReturn, "driver return"),
    (Layer::Registers, "registers"),
    (Layer::Interrupt, "interrupt"),
    (Layer::Poll, "poll"),
    (Layer::Switch, "switch"),
    (Layer::OtherCore, "other core"),
    (Layer::IdleExit, "idle exit"),
    (Layer::SlowDown, "slow-down"),
];

/// Clocks by layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LayerWork {
    clocks: [f64; LAYERS],
}

impl LayerWork {
    /// Nothing but these.
    pub(crate) fn from_clocks(list: &[(Layer, f64)]) -> LayerWork {
        let mut work = LayerWork::default();
        for &(layer, clocks) in list {
            work.add(layer, clocks);
        }
        work
    }

    pub(crate) fn add(&mut self, layer: Layer, clocks: f64) {
        self.clocks[layer as usize] += clocks;
    }

    pub(crate) fn sum(&self) -> f64 {
        self.clocks.iter().sum()
    }

    /// The layers that have any, each divided by `ios`.
    pub(crate) fn each(&self, ios: u64) -> Vec<HostLayer> {
        let ios = ios.max(1) as f64;
        let named = LAYER_NAMES.iter().zip(self.clocks).filter(|&(_, clocks)| clocks > 0.0);
        named
            .map(|((_, name), clocks)| HostLayer { name: (*name).to_owned(), clocks: clocks / ios })
            .collect()
    }
}

/// A kind of step that cores do again and again, in a [`Ledger`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Path {
    index: usize,
    /// Time that one takes.
    pub(crate) ns: u64,
}

/// Account of all that cores did: how often each kind of step, and time beyond these by layer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    ns_per_clock: f64,
    works: Vec<(LayerWork, Path)>,
    times: Vec<u64>,
    spent_ns: [u64; LAYERS],
    /// Time for the page cache, which tells its layers itself.
    pub(crate) cache_ns: u64,
}

impl Ledger {
    pub(crate) fn new(ns_per_clock: f64) -> Ledger {
        Ledger { ns_per_clock, works: Vec::new(), times: Vec::new(), spent_ns: [0; LAYERS], cache_ns: 0 }
    }

    /// A new kind of step, of these clocks.
    pub(crate) fn path(&mut self, clocks: &[(Layer, f64)]) -> Path {
        let work = LayerWork::from_clocks(clocks);
        let path = Path { index: self.works.len(), ns: (work.sum() * self.ns_per_clock).round() as u64 };
        self.works.push((work, path));
        self.times.push(0);
        path
    }

    /// The step is done once more; the time it takes, ns.
    #[inline]
    pub(crate) fn once(&mut self, path: Path) -> u64 {
        self.repeat(path, 1)
    }

    /// The step is done so many times more; the time all take, ns.
    #[inline]
    pub(crate) fn repeat(&mut self, path: Path, times: u64) -> u64 {
        self.times[path.index] += times;
        path.ns * times
    }

    /// A layer takes time that is no step's.
    pub(crate) fn spend(&mut self, layer: Layer, ns: u64) {
        self.spent_ns[layer as usize] += ns;
    }

    /// Sum of all times, ns.
    pub(crate) fn booked(&self) -> u64 {
        let paths = self.works.iter().zip(&self.times).map(|((_, path), times)| path.ns * times);
        paths.chain(self.spent_ns).chain([self.cache_ns]).sum()
    }

    /// Counts begin anew.
    pub(crate) fn begin(&mut self) {
        self.times.fill(0);
        (self.spent_ns, self.cache_ns) = ([0; LAYERS], 0);
    }

    /// Clocks by layer, without those of the page cache.
    pub(crate) fn work(&self) -> LayerWork {
        let mut sum = LayerWork::default();
        for ((work, _), &times) in self.works.iter().zip(&self.times) {
            for (all, clocks) in sum.clocks.iter_mut().zip(work.clocks) {
                *all += clocks * times as f64;
            }
        }
        for (all, ns) in sum.clocks.iter_mut().zip(self.spent_ns) {
            *all += ns as f64 / self.ns_per_clock;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_is_in_order_and_work_adds_up() {
        assert!((0..).zip(LAYER_NAMES).all(|(index, (layer, _))| layer as usize == index));
        let mut ledger = Ledger::new(0.5);
        let path = ledger.path(&[(Layer::Block, 300.0), (Layer::Scsi, 100.0)]);
        assert_eq!((ledger.once(path), ledger.repeat(path, 3)), (200, 600));
        assert_eq!(
            ledger.work().each(4),
            LayerWork::from_clocks(&[(Layer::Block, 300.0), (Layer::Scsi, 100.0)]).each(1)
        );
        ledger.spend(Layer::Lock, 7);
        assert_eq!(ledger.booked(), 807);
    }
}

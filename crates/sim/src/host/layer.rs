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
}

/// How many there are.
pub(crate) const LAYERS: usize = Layer::WAY.len();

impl Layer {
    /// All, in the order of the way.
    pub(crate) const WAY: [Layer; 19] = [
        Layer::Application,
        Layer::Syscall,
        Layer::Vfs,
        Layer::FileSystem,
        Layer::Memory,
        Layer::PageCache,
        Layer::Copy,
        Layer::Block,
        Layer::Scheduler,
        Layer::Lock,
        Layer::Scsi,
        Layer::Translation,
        Layer::Driver,
        Layer::DriverReturn,
        Layer::Registers,
        Layer::Interrupt,
        Layer::Poll,
        Layer::Switch,
        Layer::OtherCore,
    ];

    /// As reports name it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Layer::Application => "application",
            Layer::Syscall => "system call",
            Layer::Vfs => "vfs",
            Layer::FileSystem => "file system",
            Layer::Memory => "memory",
            Layer::PageCache => "page cache",
            Layer::Copy => "copy",
            Layer::Block => "block",
            Layer::Scheduler => "scheduler",
            Layer::Lock => "lock",
            Layer::Scsi => "scsi",
            Layer::Translation => "translation",
            Layer::Driver => "driver",
            Layer::DriverReturn => "driver return",
            Layer::Registers => "registers",
            Layer::Interrupt => "interrupt",
            Layer::Poll => "poll",
            Layer::Switch => "switch",
            Layer::OtherCore => "other core",
        }
    }
}

/// Clocks by layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Work {
    clocks: [f64; LAYERS],
}

impl Work {
    /// Nothing but these.
    pub(crate) fn of(list: &[(Layer, f64)]) -> Work {
        let mut work = Work::default();
        for &(layer, clocks) in list {
            work.add(layer, clocks);
        }
        work
    }

    pub(crate) fn add(&mut self, layer: Layer, clocks: f64) {
        self.clocks[layer as usize] += clocks;
    }

    pub(crate) fn add_times(&mut self, other: &Work, times: f64) {
        for (sum, clocks) in self.clocks.iter_mut().zip(other.clocks) {
            *sum += clocks * times;
        }
    }

    pub(crate) fn sum(&self) -> f64 {
        self.clocks.iter().sum()
    }

    /// The layers that have any, each divided by `ios`.
    pub(crate) fn each(&self, ios: u64) -> Vec<HostLayer> {
        let ios = ios.max(1) as f64;
        Layer::WAY
            .into_iter()
            .zip(self.clocks)
            .filter(|&(_, clocks)| clocks > 0.0)
            .map(|(layer, clocks)| HostLayer { name: layer.name().to_owned(), clocks: clocks / ios })
            .collect()
    }
}

/// Work that is done again and again, and how often.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path {
    work: Work,
    /// What one takes.
    pub(crate) ns: u64,
    times: u64,
}

impl Path {
    /// At so many ns a clock.
    pub(crate) fn new(work: Work, ns_per_clock: f64) -> Path {
        Path { ns: (work.sum() * ns_per_clock).round() as u64, work, times: 0 }
    }

    /// It is done once more; what it takes, ns.
    #[inline]
    pub(crate) fn once(&mut self) -> u64 {
        self.times += 1;
        self.ns
    }

    /// It is done so many times more.
    #[inline]
    pub(crate) fn repeat(&mut self, times: u64) -> u64 {
        self.times += times;
        self.ns * times
    }

    /// What it came to, ns.
    pub(crate) fn booked(&self) -> u64 {
        self.ns * self.times
    }

    pub(crate) fn begin(&mut self) {
        self.times = 0;
    }

    /// Adds what it came to.
    pub(crate) fn settle(&self, sum: &mut Work) {
        sum.add_times(&self.work, self.times as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_is_in_order_and_work_adds_up() {
        assert!(Layer::WAY.iter().enumerate().all(|(index, &layer)| layer as usize == index));
        let mut path = Path::new(Work::of(&[(Layer::Block, 300.0), (Layer::Scsi, 100.0)]), 0.5);
        assert_eq!((path.once(), path.repeat(3)), (200, 600));
        let mut sum = Work::default();
        path.settle(&mut sum);
        assert_eq!(sum.each(4), Work::of(&[(Layer::Block, 300.0), (Layer::Scsi, 100.0)]).each(1));
    }
}

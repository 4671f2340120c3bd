//! What does a doubt change? A reader who learns that first knows which ones to act on.

use crate::{Bytes, Caveat, Machine, Storage};

/// How much a doubt weighs, the heaviest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// A figure is of something else than it says.
    Wrong,
    /// A figure is too good or too bad, by an amount that is not known.
    Skewed,
    /// A figure holds, but not for all times and loads.
    Partial,
    /// No verdict rests on it: the figure's own interval, or its absence, says as much.
    None,
}

impl Caveat {
    /// What it changes, and how much that weighs. [`Weight::None`] comes without a sentence.
    pub const fn changes(&self) -> (Weight, &'static str) {
        match self {
            Caveat::UnwrittenExtents { .. } => (Weight::Wrong, "Reads look faster than the medium is."),
            Caveat::CachedReads { .. } => (Weight::Wrong, "The reads' figures are memory's."),
            Caveat::BufferedWrites { .. } => (Weight::Wrong, "The writes' figures are memory's."),
            Caveat::CompressibleData { .. } => (Weight::Wrong, "Writes look faster than with real data."),
            Caveat::CacheBelow { .. } => {
                (Weight::Wrong, "Figures and verdict are of that cache, not of the medium.")
            }
            Caveat::IoLimit { .. } => (Weight::Wrong, "Figures may be the limit's, not the device's."),
            Caveat::Failed { .. } => (Weight::Wrong, "Figures are of the I/Os that succeeded."),
            Caveat::Interrupted { .. } => (Weight::Wrong, "What was not measured is in no figure."),
            Caveat::DeviceCountDiffers { .. } => (Weight::Wrong, "One of the two counts is of other I/O."),
            Caveat::ForeignIo { .. } => (Weight::Skewed, "The device can do more than the figures say."),
            Caveat::ForeignCpu { .. } | Caveat::Steal { .. } => {
                (Weight::Skewed, "Rates may be too low, latencies too high.")
            }
            Caveat::Punted { .. } => (Weight::Skewed, "io_uring's figures are those of its workers."),
            Caveat::GeneratorBound { .. } => (Weight::Skewed, "The device may do more than this figure."),
            Caveat::DepthBelowAsked { .. } => (Weight::Skewed, "The rate belongs to the lower depth."),
            Caveat::LoadNotFull { .. } => {
                (Weight::Skewed, "Rate and latency are not those of the load asked for.")
            }
            Caveat::TraceLeap { .. } => {
                (Weight::Skewed, "Rates are means over a time that may not have been.")
            }
            Caveat::RateMissed { .. } => (Weight::Skewed, "Latencies are those of an overload."),
            Caveat::Stall { .. } => (Weight::Skewed, "Percentiles are too good."),
            Caveat::ClockNotInvariant { .. } => (Weight::Skewed, "Times may be off by one factor."),
            Caveat::SmallRegion { .. } => {
                (Weight::Partial, "Figures and verdict may be of that cache, not of the medium.")
            }
            Caveat::Drift { .. } => (Weight::Partial, "Figures of different steps do not compare."),
            Caveat::RateStep { .. } | Caveat::Cliff { .. } | Caveat::Slope { .. } => {
                (Weight::Partial, "The mean is of several levels.")
            }
            Caveat::Simulated { .. }
            | Caveat::NotSimulated { .. }
            | Caveat::StateByFormula { .. }
            | Caveat::Lab { .. } => (Weight::Partial, "No hardware was measured."),
            Caveat::EventsLost { .. } | Caveat::Unmatched { .. } | Caveat::Unclassified { .. } => {
                (Weight::Partial, "Stages and layers are those of the rest.")
            }
            Caveat::NotLinear { .. } | Caveat::CostOverlapped { .. } => {
                (Weight::Partial, "What merging saves is another amount.")
            }
            Caveat::Unstable { .. }
            | Caveat::FewSamples { .. }
            | Caveat::NoDeviceCount { .. }
            | Caveat::Traced { .. }
            | Caveat::InexactClocks { .. } => (Weight::None, ""),
        }
    }

    /// The doubt that reads of a region this small may be answered by the host of a virtual machine, who has at least
    /// the memory of its guest: raised below that. What a loop device or zram reads is known to be elsewhere.
    pub fn small_region(region: Bytes, machine: &Machine, storage: &Storage) -> Option<Caveat> {
        let memory = machine.memory.total;
        let is_virtual = machine.virtualisation.hypervisor.is_some();
        let disk = storage.bottom().is_some_and(|device| !matches!(device.driver.as_str(), "zram" | "loop"));
        (is_virtual && disk && region.0 > 0 && region < memory)
            .then_some(Caveat::SmallRegion { region, memory })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockDevice, Memory, Virtualisation};

    #[test]
    fn a_region_is_small_below_the_memory_of_a_virtual_machine_and_only_on_a_disk() {
        let memory = Memory { total: Bytes::gib(8), ..Memory::default() };
        let virtualisation = Virtualisation { hypervisor: Some("kvm".into()), ..Virtualisation::default() };
        let machine = Machine { memory, virtualisation, ..Machine::default() };
        let on = |driver: &str| {
            let device = BlockDevice { driver: driver.to_owned(), ..BlockDevice::default() };
            Storage { file_system: None, devices: vec![device] }
        };
        let disk = on("virtio_blk");
        let below = Bytes(Bytes::gib(8).0 - 1);
        let expected = Caveat::SmallRegion { region: below, memory: Bytes::gib(8) };
        assert_eq!(Caveat::small_region(below, &machine, &disk), Some(expected));
        assert_eq!(Caveat::small_region(Bytes::gib(8), &machine, &disk), None);
        assert_eq!(Caveat::small_region(Bytes(0), &machine, &disk), None);
        assert_eq!(Caveat::small_region(below, &machine, &on("zram")), None);
        assert_eq!(Caveat::small_region(below, &machine, &on("loop")), None);
        assert_eq!(Caveat::small_region(below, &machine, &Storage::default()), None);
        let metal = Machine { virtualisation: Virtualisation::default(), ..machine };
        assert_eq!(Caveat::small_region(below, &metal, &disk), None);
    }

    #[test]
    fn what_is_wrong_weighs_more_than_what_is_skewed_and_a_sentence_goes_with_a_weight() {
        assert!(
            Weight::Wrong < Weight::Skewed
                && Weight::Skewed < Weight::Partial
                && Weight::Partial < Weight::None
        );
        let (weight, sentence) = Caveat::Unstable { relative: 0.2 }.changes();
        assert_eq!((weight, sentence), (Weight::None, ""));
        let (weight, sentence) = Caveat::Steal { share: 0.2 }.changes();
        assert!(weight == Weight::Skewed && sentence.ends_with('.'));
    }
}

//! Which register of which device is at this address?
//!
//! The emulator names the region of an access. A PCI region lies at a multiple of its size, so that the low bits of the
//! address are the offset in it. Where the emulator says nothing, the guest's `/proc/iomem` tells the driver that holds
//! the address. Names are the specifications'.

/// Tables of registers, each under its heading.
const TABLES: &str = include_str!("registers.txt");

/// Regions of a device, and the table of its registers.
struct Map {
    /// Beginnings of the emulator's names of the region.
    regions: &'static [&'static str],
    /// Beginning of the driver's name in `/proc/iomem`; empty when it must not be guessed from there.
    driver: &'static str,
    /// Low bits of the address that are the offset.
    mask: u64,
    /// Heading in [`TABLES`]; empty when all registers are there many times.
    table: &'static str,
    /// Registers that are there many times.
    repeated: Option<fn(u64) -> Option<String>>,
}

const MAPS: &[Map] = &[
    map(&["ahci"], "ahci", 0xfff, "ahci", Some(ahci_port)),
    map(&["nvme"], "nvme", 0x3fff, "nvme", Some(nvme_doorbell)),
    map(&["mptsas-mmio", "mptsas-io"], "mpt", 0xff, "mpt", None),
    map(&["megasas-mmio", "megasas-io"], "megasas", 0xff, "megasas", None),
    map(&["lsi-mmio", "lsi-io"], "sym53c8xx", 0xff, "lsi53c8xx", None),
    map(&["virtio-pci-common"], "", 0xfff, "virtio common", None),
    map(&["virtio-pci-isr"], "", 0xfff, "virtio isr", None),
    map(&["virtio-pci-notify"], "", 0xfff, "", Some(virtio_notify)),
    map(&["virtio-pci-device"], "", 0xfff, "", Some(virtio_device)),
    map(&["apic-msi", "apic"], "Local APIC", 0xfff, "local apic", None),
    map(&["ioapic"], "IOAPIC", 0xff, "io apic", None),
    map(&["msix-table"], "", 0xfff, "", Some(msix_entry)),
];

const fn map(
    regions: &'static [&'static str],
    driver: &'static str,
    mask: u64,
    table: &'static str,
    repeated: Option<fn(u64) -> Option<String>>,
) -> Map {
    Map { regions, driver, mask, table, repeated }
}

/// The register at an address; `region` is the emulator's name for where it lies, `-` when it has none.
pub fn register(region: &str, address: u64, resources: &Resources) -> Option<String> {
    let by_region = |map: &&Map| map.regions.iter().any(|beginning| region.starts_with(beginning));
    if let Some(map) = MAPS.iter().find(by_region) {
        return map.name(address & map.mask);
    }
    let (first, driver) = resources.holder(address)?;
    let by_driver = |map: &&Map| !map.driver.is_empty() && driver.starts_with(map.driver);
    MAPS.iter().find(by_driver)?.name(address - first)
}

impl Map {
    fn name(&self, offset: u64) -> Option<String> {
        listed(self.table, offset).map(str::to_owned).or_else(|| self.repeated?(offset))
    }
}

/// Name at this offset in the table under this heading.
fn listed(table: &str, offset: u64) -> Option<&'static str> {
    let mut lines = TABLES.lines().skip_while(|line| *line != format!("[{table}]")).skip(1);
    lines.by_ref().take_while(|line| !line.is_empty()).find_map(|line| {
        let (at, name) = line.split_once(' ')?;
        (u64::from_str_radix(at, 16) == Ok(offset)).then_some(name)
    })
}

/// AHCI: ports from 0x100, 0x80 bytes each; `P0CI` as the specification's `PxCI`.
fn ahci_port(offset: u64) -> Option<String> {
    let port = offset.checked_sub(0x100)?;
    Some(format!("P{}{}", port / 0x80, listed("ahci port", port % 0x80)?))
}

/// `NVMe`, sections 3.1.24 and 3.1.25: doorbells from 0x1000, with the stride 4 (CAP.DSTRD 0) that QEMU's device has.
fn nvme_doorbell(offset: u64) -> Option<String> {
    let place = offset.checked_sub(0x1000).filter(|bytes| bytes % 4 == 0)? / 4;
    let queue = place / 2;
    Some(if place % 2 == 0 { format!("SQ{queue}TDBL") } else { format!("CQ{queue}HDBL") })
}

/// Virtio, section 4.1.4.4, with QEMU's multiplier of 4.
fn virtio_notify(offset: u64) -> Option<String> {
    offset.is_multiple_of(4).then(|| format!("notify queue {}", offset / 4))
}

fn virtio_device(offset: u64) -> Option<String> {
    (offset < 0x100).then(|| format!("device configuration +{offset:#x}"))
}

/// PCI 3.0, section 6.8.2: entries of 16 bytes.
fn msix_entry(offset: u64) -> Option<String> {
    offset.is_multiple_of(4).then(|| format!("MSI-X entry {}", offset / 16))
}

/// The guest's `/proc/iomem`: who holds which physical addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    ranges: Vec<(u64, u64, String)>,
}

impl Resources {
    /// Reads the text. Lines that are none are passed over: they name a register less, no more.
    pub fn parse(text: &str) -> Resources {
        let range = |line: &str| {
            let (range, name) = line.trim().split_once(" : ")?;
            let (first, last) = range.split_once('-')?;
            let number = |text| u64::from_str_radix(text, 16).ok();
            Some((number(first)?, number(last)?, name.to_owned()))
        };
        Resources { ranges: text.lines().filter_map(range).collect() }
    }

    /// The innermost holder of an address, and where its range begins.
    pub fn holder(&self, address: u64) -> Option<(u64, &str)> {
        let holding = self.ranges.iter().filter(|(first, last, _)| (*first..=*last).contains(&address));
        // Of equal ranges the last stands below the others in the file: the driver below its device.
        let (first, _, name) = holding.rev().min_by_key(|(first, last, _)| last - first)?;
        Some((*first, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IOMEM: &str = "\
00000000-00000fff : Reserved
c0000000-febfffff : PCI Bus 0000:00
  febe0000-febe3fff : 0000:00:03.0
    febe0000-febe3fff : nvme
  febe4000-febe7fff : 0000:00:04.0
    febe4000-febe7fff : mpt
  febf0000-febf0fff : 0000:00:1f.2
    febf0000-febf0fff : ahci
fee00000-fee00fff : Local APIC
";

    fn named(region: &str, address: u64) -> String {
        register(region, address, &Resources::parse(IOMEM)).unwrap_or_default()
    }

    #[test]
    fn the_region_and_the_low_bits_name_a_register() {
        assert_eq!(named("ahci", 0xfebf_0008), "IS");
        assert_eq!(named("ahci", 0xfebf_0138), "P0CI");
        assert_eq!(named("ahci", 0xfebf_01b4), "P1SACT");
        assert_eq!(named("nvme", 0xfebe_1008), "SQ1TDBL");
        assert_eq!(named("nvme", 0xfebe_100c), "CQ1HDBL");
        assert_eq!(named("mptsas-mmio", 0xfebe_4040), "RequestQueue");
        assert_eq!(named("megasas-mmio", 0xfebe_8030), "outbound_intr_status");
        assert_eq!(named("virtio-pci-notify-virtio-blk", 0xfe00_3000), "notify queue 0");
        assert_eq!(named("virtio-pci-isr-virtio-blk", 0xfe00_1000), "ISR status");
        assert_eq!(named("apic-msi", 0xfee0_00b0), "APIC EOI");
    }

    #[test]
    fn without_a_region_the_driver_that_holds_the_address_does() {
        assert_eq!(named("-", 0xfebe_1008), "SQ1TDBL");
        assert_eq!(named("-", 0xfebe_4030), "HostInterruptStatus");
        assert_eq!(named("-", 0xfebf_0110), "P0IS");
        assert_eq!(named("-", 0xfee0_00b0), "APIC EOI");
    }

    #[test]
    fn what_no_map_knows_has_no_name() {
        assert_eq!(named("-", 0x10), "");
        assert_eq!(named("ahci", 0xfebf_0050), "");
        assert_eq!(named("nvme", 0xfebe_1001), "");
        assert_eq!(Resources::parse("nonsense\n-\nzz-yy : x\n"), Resources::default());
    }
}

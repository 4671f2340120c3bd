//! Which register of which device is at this address?
//!
//! The emulator names the region of an access. A PCI region lies at a multiple of its size, so that the low bits of the
//! address are the offset in it. Where the emulator says nothing, the guest's `/proc/iomem` tells the driver that holds
//! the address. Names are the specifications'.

/// Where a device's registers are, by offset.
struct Map {
    /// How the emulator's names of the region begin.
    regions: &'static [&'static str],
    /// How the driver calls itself in `/proc/iomem`; empty when it must not be guessed from there.
    driver: &'static str,
    /// Low bits of the address that are the offset.
    mask: u64,
    registers: &'static [(u64, &'static str)],
    /// Registers that are there many times.
    repeated: Option<fn(u64) -> Option<String>>,
}

/// AHCI 1.3.1, section 3.1: generic host control. Ports follow: [`ahci_port`].
const AHCI: &[(u64, &str)] = &[
    (0x00, "CAP"),
    (0x04, "GHC"),
    (0x08, "IS"),
    (0x0c, "PI"),
    (0x10, "VS"),
    (0x14, "CCC_CTL"),
    (0x18, "CCC_PORTS"),
    (0x1c, "EM_LOC"),
    (0x20, "EM_CTL"),
    (0x24, "CAP2"),
    (0x28, "BOHC"),
];

/// AHCI 1.3.1, section 3.3: registers of a port.
const AHCI_PORT: &[(u64, &str)] = &[
    (0x00, "CLB"),
    (0x04, "CLBU"),
    (0x08, "FB"),
    (0x0c, "FBU"),
    (0x10, "IS"),
    (0x14, "IE"),
    (0x18, "CMD"),
    (0x20, "TFD"),
    (0x24, "SIG"),
    (0x28, "SSTS"),
    (0x2c, "SCTL"),
    (0x30, "SERR"),
    (0x34, "SACT"),
    (0x38, "CI"),
    (0x3c, "SNTF"),
    (0x40, "FBS"),
];

/// NVM Express Base 1.4, section 3.1. Doorbells follow: [`nvme_doorbell`].
const NVME: &[(u64, &str)] = &[
    (0x00, "CAP"),
    (0x04, "CAP+4"),
    (0x08, "VS"),
    (0x0c, "INTMS"),
    (0x10, "INTMC"),
    (0x14, "CC"),
    (0x1c, "CSTS"),
    (0x20, "NSSR"),
    (0x24, "AQA"),
    (0x28, "ASQ"),
    (0x30, "ACQ"),
];

/// Fusion-MPT 1.05, system interface registers (Linux: drivers/message/fusion/lsi/mpi.h).
const MPT: &[(u64, &str)] = &[
    (0x00, "Doorbell"),
    (0x04, "WriteSequence"),
    (0x08, "Diagnostic"),
    (0x10, "DiagRwData"),
    (0x14, "DiagRwAddress"),
    (0x30, "HostInterruptStatus"),
    (0x34, "HostInterruptMask"),
    (0x40, "RequestQueue"),
    (0x44, "ReplyQueue"),
    (0x48, "HighPriorityRequestQueue"),
];

/// `MegaRAID` SAS message unit (Linux: `struct megasas_register_set` in `drivers/scsi/megaraid/megaraid_sas.h`).
const MEGASAS: &[(u64, &str)] = &[
    (0x10, "inbound_msg_0"),
    (0x14, "inbound_msg_1"),
    (0x18, "outbound_msg_0"),
    (0x1c, "outbound_msg_1"),
    (0x20, "inbound_doorbell"),
    (0x24, "inbound_intr_status"),
    (0x28, "inbound_intr_mask"),
    (0x2c, "outbound_doorbell"),
    (0x30, "outbound_intr_status"),
    (0x34, "outbound_intr_mask"),
    (0x40, "inbound_queue_port"),
    (0x44, "outbound_queue_port"),
    (0xa0, "outbound_doorbell_clear"),
    (0xb0, "outbound_scratch_pad"),
    (0xc0, "inbound_low_queue_port"),
    (0xc4, "inbound_high_queue_port"),
];

/// LSI53C895A technical manual, chapter 4: SCSI registers.
const LSI53C8XX: &[(u64, &str)] = &[
    (0x0c, "DSTAT"),
    (0x14, "ISTAT0"),
    (0x15, "ISTAT1"),
    (0x18, "CTEST0"),
    (0x1b, "CTEST3"),
    (0x2c, "DSP"),
    (0x3b, "DCNTL"),
    (0x42, "SIST0"),
    (0x43, "SIST1"),
    (0x4f, "STEST3"),
];

/// Virtio 1.2, section 4.1.4.3: common configuration.
const VIRTIO_COMMON: &[(u64, &str)] = &[
    (0x00, "device_feature_select"),
    (0x04, "device_feature"),
    (0x08, "driver_feature_select"),
    (0x0c, "driver_feature"),
    (0x10, "config_msix_vector"),
    (0x12, "num_queues"),
    (0x14, "device_status"),
    (0x15, "config_generation"),
    (0x16, "queue_select"),
    (0x18, "queue_size"),
    (0x1a, "queue_msix_vector"),
    (0x1c, "queue_enable"),
    (0x1e, "queue_notify_off"),
    (0x20, "queue_desc"),
    (0x28, "queue_driver"),
    (0x30, "queue_device"),
];

/// Intel SDM volume 3A, table "Local APIC Register Address Map".
const LOCAL_APIC: &[(u64, &str)] = &[
    (0x020, "APIC ID"),
    (0x080, "APIC TPR"),
    (0x0b0, "APIC EOI"),
    (0x0f0, "APIC SVR"),
    (0x300, "APIC ICR"),
    (0x310, "APIC ICR2"),
    (0x320, "APIC LVT timer"),
    (0x380, "APIC timer initial count"),
    (0x390, "APIC timer current count"),
    (0x3e0, "APIC timer divide"),
];

/// 82093AA I/O APIC datasheet, section 3.1.
const IO_APIC: &[(u64, &str)] = &[(0x00, "IOREGSEL"), (0x10, "IOWIN"), (0x40, "IOAPIC EOI")];

const MAPS: &[Map] = &[
    map(&["ahci"], "ahci", 0xfff, AHCI, Some(ahci_port)),
    map(&["nvme"], "nvme", 0x3fff, NVME, Some(nvme_doorbell)),
    map(&["mptsas-mmio", "mptsas-io"], "mpt", 0xff, MPT, None),
    map(&["megasas-mmio", "megasas-io"], "megasas", 0xff, MEGASAS, None),
    map(&["lsi-mmio", "lsi-io"], "sym53c8xx", 0xff, LSI53C8XX, None),
    map(&["virtio-pci-common"], "", 0xfff, VIRTIO_COMMON, None),
    map(&["virtio-pci-isr"], "", 0xfff, &[(0x00, "ISR status")], None),
    map(&["virtio-pci-notify"], "", 0xfff, &[], Some(virtio_notify)),
    map(&["virtio-pci-device"], "", 0xfff, &[], Some(virtio_device)),
    map(&["apic-msi", "apic"], "Local APIC", 0xfff, LOCAL_APIC, None),
    map(&["ioapic"], "IOAPIC", 0xff, IO_APIC, None),
    map(&["msix-table"], "", 0xfff, &[], Some(msix_entry)),
];

const fn map(
    regions: &'static [&'static str],
    driver: &'static str,
    mask: u64,
    registers: &'static [(u64, &'static str)],
    repeated: Option<fn(u64) -> Option<String>>,
) -> Map {
    Map { regions, driver, mask, registers, repeated }
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
        let known = self.registers.iter().find(|&&(at, _)| at == offset);
        known.map(|&(_, name)| name.to_owned()).or_else(|| self.repeated?(offset))
    }
}

/// AHCI: ports from 0x100, 0x80 bytes each; `P0CI` as the specification's `PxCI`.
fn ahci_port(offset: u64) -> Option<String> {
    let port = offset.checked_sub(0x100)?;
    let known = AHCI_PORT.iter().find(|&&(at, _)| at == port % 0x80)?;
    Some(format!("P{}{}", port / 0x80, known.1))
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
    /// From its text. Lines that are none are passed over: they name a register less, no more.
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

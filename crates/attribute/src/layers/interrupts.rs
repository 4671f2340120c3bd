//! Which interrupts belong to the devices?
//!
//! `/proc/interrupts` names the handlers of each: `virtio1-req.0`, `nvme0q3`, `ahci[0000:00:1f.2]`, `megasas0-msix4`.
//! sysfs tells which interrupts a device and those above it were given, and what they are called.

use std::collections::BTreeSet;
use std::path::Path;

/// Numbers of the interrupts that serve these block devices. Empty for devices without any, such as zram.
pub(crate) fn of_devices(names: &[&str]) -> Vec<u32> {
    let listed = std::fs::read_to_string("/proc/interrupts").unwrap_or_default();
    let mut numbers = BTreeSet::new();
    for name in names {
        let traits = traits_of(&Path::new("/sys/class/block").join(name));
        numbers.extend(matching(&listed, &traits));
    }
    numbers.into_iter().collect()
}

/// Traits that tell a device's interrupts from others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Traits {
    /// Names of the device and of those it hangs on: `nvme0`, `virtio1`, `0000:00:1f.2`.
    names: Vec<String>,
    /// Drivers of those: `ahci`, `nvme`, `virtio_blk`.
    drivers: Vec<String>,
    /// Numbers that the nearest PCI function was given for messages.
    given: Vec<u32>,
}

/// Follows a device up to its PCI function.
fn traits_of(block: &Path) -> Traits {
    let mut traits = Traits::default();
    let Ok(mut path) =
        block.join("device").canonicalize().or_else(|_| block.join("../device").canonicalize())
    else {
        return traits;
    };
    while path.starts_with("/sys/devices") && path.parent().is_some() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("pci") || name == "devices" || name == "platform" {
            break;
        }
        if let Ok(driver) = path.join("driver").canonicalize() {
            let driver = driver.file_name().unwrap_or_default().to_string_lossy().into_owned();
            traits.drivers.push(driver);
        }
        traits.names.push(name);
        let messages = std::fs::read_dir(path.join("msi_irqs"));
        traits.given = messages
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .collect();
        if !traits.given.is_empty() || path.join("irq").exists() && path.join("vendor").exists() {
            break;
        }
        path.pop();
    }
    traits
}

/// An interrupt is the device's when its number was given to the device's PCI function, or when a handler is named
/// after the device or one it hangs on. virtio's `config` interrupt is not about I/O.
fn matching(listed: &str, traits: &Traits) -> Vec<u32> {
    let numbered = listed.lines().filter_map(|line| {
        let (number, rest) = line.split_once(':')?;
        Some((number.trim().parse::<u32>().ok()?, rest))
    });
    let ours = numbered.filter(|(number, rest)| {
        let handlers = rest.split([' ', ',', '\t']).filter(|word| !word.is_empty());
        traits.given.contains(number)
            || handlers.clone().any(|handler| traits.names.iter().any(|name| is_named(handler, name)))
            || handlers.clone().any(|handler| is_driver(handler, traits))
    });
    ours.filter(|(_, rest)| !rest.trim_end().ends_with("-config")).map(|(number, _)| number).collect()
}

/// `virtio1-req.0` is named after `virtio1`, `virtio11-req.0` is not.
fn is_named(handler: &str, name: &str) -> bool {
    let rest = handler.strip_prefix(name);
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()) && name.len() > 2)
}

/// `ahci[0000:00:1f.2]`: driver, then device.
fn is_driver(handler: &str, traits: &Traits) -> bool {
    let Some((driver, device)) = handler.split_once('[') else { return false };
    traits.drivers.iter().any(|known| known == driver)
        && traits.names.iter().any(|name| device.trim_end_matches(']') == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &str = "           CPU0       CPU1
  8:          0          1  IO-APIC   8-edge      rtc0
 16:          5          0  IO-APIC  16-fasteoi   ehci_hcd:usb1, ahci[0000:00:1f.2]
 35:          0          1 PCI-MSIX-0000:00:02.0   0-edge      virtio1-config
 36:          0   26774230 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 37:          0         30 PCI-MSIX-0000:00:12.0   1-edge      virtio11-req.0
 40:         10          3 PCI-MSIX-0000:01:00.0   3-edge      nvme0q3
 41:         10          3 PCI-MSIX-0000:02:00.0   3-edge      nvme1q3
NMI:          0          0   Non-maskable interrupts
";

    fn named(names: &[&str], drivers: &[&str]) -> Traits {
        let own = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Traits { names: own(names), drivers: own(drivers), given: Vec::new() }
    }

    #[test]
    fn handlers_named_after_the_device_are_its_own() {
        assert_eq!(matching(LISTED, &named(&["virtio1", "0000:00:02.0"], &["virtio_blk"])), [36]);
        assert_eq!(matching(LISTED, &named(&["nvme0", "0000:01:00.0"], &["nvme"])), [40]);
        assert_eq!(matching(LISTED, &named(&["2:0:0:0", "ata3", "0000:00:1f.2"], &["sd", "ahci"])), [16]);
    }

    #[test]
    fn numbers_given_to_the_function_are_its_own_whatever_their_name() {
        let traits = Traits { given: vec![35, 36], ..Traits::default() };
        assert_eq!(matching(LISTED, &traits), [36]);
    }

    #[test]
    fn a_device_without_interrupts_has_none() {
        assert!(matching(LISTED, &Traits::default()).is_empty());
        assert!(of_devices(&["no-such-device"]).is_empty());
    }
}

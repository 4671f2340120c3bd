//! What stands between us and the hardware: a hypervisor, a container?

use iostack_model::Virtualisation;

use crate::cgroup;
use crate::roots::Root;
use crate::sys;

/// Signature of CPUID leaf `4000_0000h` (EBX, ECX, EDX) and the hypervisor it stands for.
const VENDORS: [(&[u8; 12], &str); 11] = [
    (b"KVMKVMKVM\0\0\0", "kvm"),
    (b"Linux KVM Hv", "kvm"),
    (b"VMwareVMware", "vmware"),
    (b"Microsoft Hv", "hyper-v"),
    (b"XenVMMXenVMM", "xen"),
    (b"TCGTCGTCGTCG", "qemu"),
    (b"VBoxVBoxVBox", "virtualbox"),
    (b"bhyve bhyve ", "bhyve"),
    (b" lrpepyh  vr", "parallels"),
    (b"ACRNACRNACRN", "acrn"),
    (b"QNXQVMBSQG\0\0", "qnx"),
];

/// Words in a group's path, and the container runtime that uses them. The more particular ones first.
const GROUP_WORDS: [(&str, &str); 6] = [
    ("kubepods", "kubernetes"),
    ("libpod", "podman"),
    ("docker", "docker"),
    ("lxc", "lxc"),
    ("containerd", "containerd"),
    ("machine.slice", "systemd-nspawn"),
];

/// Vendors that sell machines of their own, and words of those that sell virtual ones (DMI `sys_vendor`).
const VIRTUAL_MAKERS: [(&str, &str); 9] = [
    ("QEMU", "qemu"),
    ("Amazon EC2", "amazon ec2"),
    ("Google", "google compute engine"),
    ("Microsoft Corporation", "hyper-v"),
    ("VMware", "vmware"),
    ("Xen", "xen"),
    ("innotek", "virtualbox"),
    ("Parallels", "parallels"),
    ("DigitalOcean", "digitalocean"),
];

/// The container and the I/O limit; the hypervisor is asked of the processor, see [`hypervisor`].
pub(crate) fn describe(root: &Root) -> Virtualisation {
    Virtualisation {
        hypervisor: maker(root),
        container: container(root),
        io_limit: cgroup::limit_in(root),
        io_limits: Vec::new(),
    }
}

/// The hypervisor this processor names, with who runs it where DMI tells: `kvm (Amazon EC2 m7i.large)`.
pub(crate) fn hypervisor(root: &Root) -> Option<String> {
    // CPUID 1 ECX bit 31 is reserved for hypervisors to set (Intel SDM vol. 2A: "always returns 0").
    let present = sys::cpuid(1)[2] & (1 << 31) != 0;
    let [_, first, second, third] = sys::cpuid(0x4000_0000);
    let vendor = present.then(|| vendor_name([first, second, third]));
    let sold_as: Vec<String> =
        ["sys_vendor", "product_name"].iter().filter_map(|file| dmi(root, file)).collect();
    match vendor {
        Some(vendor) if sold_as.is_empty() => Some(vendor),
        Some(vendor) => Some(format!("{vendor} ({})", sold_as.join(" "))),
        // On x86_64 the processor's word is final: cloud providers rent whole machines under the same DMI names.
        None if cfg!(target_arch = "x86_64") => None,
        None => maker(root),
    }
}

fn vendor_name(registers: [u32; 3]) -> String {
    let signature: Vec<u8> = registers.iter().flat_map(|register| register.to_le_bytes()).collect();
    let known = VENDORS.iter().find(|(bytes, _)| signature == *bytes).map(|(_, name)| (*name).to_owned());
    known.unwrap_or_else(|| {
        let text = String::from_utf8_lossy(&signature).trim_matches(['\0', ' ']).to_owned();
        if text.is_empty() { "unknown hypervisor".to_owned() } else { text }
    })
}

fn dmi(root: &Root, file: &str) -> Option<String> {
    root.text(format!("sys/class/dmi/id/{file}")).filter(|text| !text.is_empty())
}

/// The hypervisor as DMI or Xen's own file names it.
fn maker(root: &Root) -> Option<String> {
    if let Some(kind) = root.text("sys/hypervisor/type") {
        return Some(kind);
    }
    let vendor = dmi(root, "sys_vendor")?;
    let virtual_product = |name: &str| {
        // Microsoft and Google sell laptops and phones as well.
        name != "hyper-v" || dmi(root, "product_name").is_some_and(|product| product.contains("Virtual"))
    };
    let known = VIRTUAL_MAKERS.iter().find(|(word, name)| vendor.contains(word) && virtual_product(name));
    known.map(|(_, name)| (*name).to_owned())
}

/// The container runtime, where it leaves a trace.
fn container(root: &Root) -> Option<String> {
    if let Some(kind) = root.text("run/systemd/container").filter(|kind| !kind.is_empty()) {
        return Some(kind);
    }
    let files = [("run/.containerenv", "podman"), (".dockerenv", "docker")];
    if let Some((_, name)) = files.iter().find(|(file, _)| root.at(file).exists()) {
        return Some((*name).to_owned());
    }
    let groups = root.text("proc/self/cgroup")?;
    GROUP_WORDS.iter().find(|(word, _)| groups.contains(word)).map(|(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Tree;

    fn described(files: &[(&str, &str)]) -> Virtualisation {
        describe(&Tree::new(files).root())
    }

    #[test]
    fn signatures_are_known_and_unknown_ones_are_shown() {
        let registers = |text: &[u8; 12]| {
            [0, 4, 8].map(|at| u32::from_le_bytes(text[at..at + 4].try_into().expect("four bytes")))
        };
        assert_eq!(vendor_name(registers(b"KVMKVMKVM\0\0\0")), "kvm");
        assert_eq!(vendor_name(registers(b"Microsoft Hv")), "hyper-v");
        assert_eq!(vendor_name(registers(b"NEWHYPER\0\0\0\0")), "NEWHYPER");
        assert_eq!(vendor_name([0; 3]), "unknown hypervisor");
    }

    #[test]
    fn containers_are_known_by_their_traces() {
        let container = |file: (&str, &str)| described(&[file]).container;
        assert_eq!(container(("run/.containerenv", "")).as_deref(), Some("podman"));
        assert_eq!(container((".dockerenv", "")).as_deref(), Some("docker"));
        assert_eq!(container(("run/systemd/container", "lxc\n")).as_deref(), Some("lxc"));
        assert_eq!(container(("proc/self/cgroup", "0::/kubepods/pod1/x")).as_deref(), Some("kubernetes"));
        assert_eq!(container(("proc/self/cgroup", "0::/user.slice")), None);
    }

    #[test]
    fn a_laptop_of_a_cloud_provider_is_not_virtual() {
        let vendor = ("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n");
        let product = |name| ("sys/class/dmi/id/product_name", name);
        assert_eq!(described(&[vendor, product("Surface Laptop 5")]).hypervisor, None);
        assert_eq!(described(&[vendor, product("Virtual Machine")]).hypervisor.as_deref(), Some("hyper-v"));
    }
}

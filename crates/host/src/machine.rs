//! What machine is this? The conditions every figure carries.
//!
//! Start reading at [`machine`].

use std::path::Path;

use iostack_model::{Bytes, Cpu, Kernel, Machine, Memory};

use crate::clock::{self, Clock};
use crate::roots::{Root, head, list_len, names, number, text};
use crate::{sys, virtualisation};

/// Describes this machine. Takes a millisecond, and some six more when the clock is not yet calibrated.
pub fn machine() -> Machine {
    let root = Root::live();
    let clock = Clock::calibrated();
    let mut machine = machine_in(&root);
    machine.cpu.tsc_hz = clock.tsc_hz();
    machine.cpu.tsc_invariant = clock::tsc_invariant();
    machine.cpu.cores_usable = sys::usable_cpus().unwrap_or(machine.cpu.cores_online);
    machine.virtualisation.hypervisor = virtualisation::hypervisor(&root);
    machine
}

/// Machine as the kernel's files alone tell; the clock, the CPU mask and CPUID are the running machine's.
pub(crate) fn machine_in(root: &Root) -> Machine {
    Machine {
        cpu: cpu(root),
        memory: memory(root),
        kernel: kernel(root),
        virtualisation: virtualisation::describe(root),
    }
}

fn cpu(root: &Root) -> Cpu {
    let online = root.text("sys/devices/system/cpu/online").unwrap_or_default();
    let nodes = root.text("sys/devices/system/node/online").unwrap_or_default();
    Cpu {
        model: model(root),
        cores_online: list_len(&online).max(1),
        nodes: list_len(&nodes).max(1),
        governor: root.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        smt: number(&root.at("sys/devices/system/cpu/smt/active")) == Some(1),
        ..Cpu::default()
    }
}

/// The first processor's name. The kernel makes `/proc/cpuinfo` as it is read, and each further CPU of a large machine
/// costs an interrupt to it, so only the head is read. Other architectures have other words for it.
fn model(root: &Root) -> String {
    let text = head(&root.at("proc/cpuinfo"), 4096).unwrap_or_default();
    let value = |key: &str| {
        let line = text.lines().find(|line| line.split(':').next().is_some_and(|name| name.trim() == key))?;
        Some(line.split_once(':')?.1.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let named = ["model name", "cpu", "uarch", "CPU part"].iter().find_map(|key| value(key));
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

fn memory(root: &Root) -> Memory {
    let text = root.text("proc/meminfo").unwrap_or_default();
    let field = |key: &str| {
        let line = text.lines().find(|line| line.starts_with(key))?;
        line.split_whitespace().nth(1)?.parse().ok().map(Bytes::kib)
    };
    Memory {
        total: field("MemTotal:").unwrap_or_default(),
        available: field("MemAvailable:").unwrap_or_default(),
    }
}

fn kernel(root: &Root) -> Kernel {
    let vulnerabilities = root.at("sys/devices/system/cpu/vulnerabilities");
    let mitigations = names(&vulnerabilities).into_iter().filter_map(|name| {
        let state = text(&vulnerabilities.join(&name))?;
        Some((name, state))
    });
    Kernel {
        release: root.text("proc/sys/kernel/osrelease").unwrap_or_default(),
        version: root.text("proc/sys/kernel/version").unwrap_or_default(),
        distribution: distribution(root),
        clock_source: clock::clock_source(root).unwrap_or_else(|| "unknown".to_owned()),
        mitigations: mitigations.collect(),
        io_uring_disabled: number(&root.at("proc/sys/kernel/io_uring_disabled")).map(|value| value as u32),
    }
}

/// `PRETTY_NAME` of os-release(5), which has a second place for systems without `/etc`.
fn distribution(root: &Root) -> String {
    let places = [Path::new("etc/os-release"), Path::new("usr/lib/os-release")];
    let text = places.iter().find_map(|place| root.text(place)).unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.unwrap_or("unknown").trim_matches(['"', '\'']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Tree;

    #[test]
    fn a_stored_machine_is_described() {
        let tree = Tree::new(&[
            ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Intel(R)  Xeon(R) @ 2.50GHz\n\nprocessor\t: 1\n"),
            ("proc/meminfo", "MemTotal:       24684096 kB\nMemFree: 1 kB\nMemAvailable:   20000000 kB\n"),
            ("proc/sys/kernel/osrelease", "6.18.44\n"),
            ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC\n"),
            ("proc/sys/kernel/io_uring_disabled", "1\n"),
            ("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 13\"\n"),
            ("sys/devices/system/cpu/online", "0-3,8\n"),
            ("sys/devices/system/node/online", "0-1\n"),
            ("sys/devices/system/cpu/smt/active", "1\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n"),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"),
        ]);
        let machine = machine_in(&tree.root());
        assert_eq!(machine.cpu.model, "Intel(R) Xeon(R) @ 2.50GHz");
        assert_eq!((machine.cpu.cores_online, machine.cpu.nodes, machine.cpu.smt), (5, 2, true));
        assert_eq!(machine.cpu.governor.as_deref(), Some("powersave"));
        assert_eq!(machine.memory.total, Bytes::kib(24_684_096));
        assert_eq!(machine.memory.available, Bytes::kib(20_000_000));
        assert_eq!(machine.kernel.release, "6.18.44");
        assert_eq!(machine.kernel.distribution, "Debian GNU/Linux 13");
        assert_eq!(machine.kernel.clock_source, "hpet");
        assert_eq!(machine.kernel.mitigations, [("meltdown".to_owned(), "Mitigation: PTI".to_owned())]);
        assert_eq!(machine.kernel.io_uring_disabled, Some(1));
    }

    #[test]
    fn an_empty_machine_is_described_too() {
        let machine = machine_in(&Tree::new(&[]).root());
        assert_eq!((machine.cpu.cores_online, machine.cpu.nodes), (1, 1));
        assert_eq!(machine.kernel.distribution, "unknown");
        assert_eq!(machine.kernel.io_uring_disabled, None);
    }

    #[test]
    fn this_machine_has_what_every_machine_has() {
        let machine = machine();
        assert!(machine.cpu.cores_usable >= 1 && !machine.cpu.model.is_empty(), "{machine:?}");
        assert!(machine.memory.total.0 >= machine.memory.available.0 && machine.memory.available.0 > 0);
        assert!(machine.kernel.release.contains('.') && !machine.kernel.version.is_empty());
        assert_eq!(machine.cpu.tsc_hz, Clock::calibrated().tsc_hz());
    }
}

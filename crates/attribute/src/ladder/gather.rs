//! Facts of the running machine: files read, and rungs tried.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use iostack_model::Nanos;

use super::facts::USER_NAMESPACE;
use super::{Attempt, Capabilities, Facts};
use crate::bpf::{self, KernelTypes};
use crate::sys::perf::{Event, Source, Watched};
use crate::sys::system;

/// Time of our own that an attempt at sampling takes at most: a hundred periods of its clock.
const PATIENCE: Nanos = Nanos::millis(20);
const TRIAL_RATE_HZ: u32 = 5000;
/// Data pages of the ring of an attempt.
const TRIAL_PAGES: usize = 8;

/// Bytes of the first thousand lines of the kernel's symbols, and more.
const LIST_PART: u64 = 1 << 17;

impl Facts {
    /// Those of this machine and this process.
    pub fn gather() -> Facts {
        let status = read("/proc/self/status").unwrap_or_default();
        let capabilities = |name| {
            let value = field(&status, name)?;
            u64::from_str_radix(value, 16).ok()
        };
        let effective = Capabilities(capabilities("CapEff").unwrap_or(0));
        let mut folders = [("/proc", "/proc/self"), ("/sys", "/sys/kernel")].into_iter();
        let unmounted = folders.find(|(_, within)| !Path::new(within).exists()).map(|(folder, _)| folder);
        Facts {
            unmounted,
            release: setting("osrelease").unwrap_or_default(),
            root: iostack_host::effective_user() == 0,
            effective,
            bounding: Capabilities(capabilities("CapBnd").unwrap_or(0)),
            no_new_privileges: field(&status, "NoNewPrivs") == Some("1"),
            seccomp: field(&status, "Seccomp").is_some_and(|mode| mode != "0"),
            container: container(),
            hypervisor: read("/proc/cpuinfo").is_some_and(|text| {
                text.lines().any(|line| line.starts_with("flags") && line.contains(" hypervisor"))
            }),
            paranoid: number("perf_event_paranoid"),
            kptr_restrict: number("kptr_restrict"),
            unprivileged_bpf_disabled: number("unprivileged_bpf_disabled"),
            lockdown: read("/sys/kernel/security/lockdown").and_then(|text| chosen(&text)),
            types: Path::new("/sys/kernel/btf/vmlinux").exists(),
            symbols: beginning("/proc/kallsyms").is_some_and(|text| shows_addresses(&text)),
            steal: read("/proc/stat").and_then(|text| steal_share(&text)).unwrap_or(0.0),
            own_samples: try_samples(Watched::Thread(0)),
            all_samples: try_all_samples(),
            tracing: try_tracing(),
            hardware: try_hardware(),
        }
    }
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The first part of a list that the kernel makes as it is read; all of it is some MB.
fn beginning(path: &str) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LIST_PART).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn setting(name: &str) -> Option<String> {
    read(&format!("/proc/sys/kernel/{name}")).map(|text| text.trim().to_owned())
}

fn number(name: &str) -> Option<i32> {
    setting(name)?.parse().ok()
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// The word in brackets: `none [integrity] confidentiality`.
fn chosen(text: &str) -> Option<String> {
    let rest = &text[text.find('[')? + 1..];
    Some(rest[..rest.find(']')?].to_owned())
}

/// True unless every address is 0, as with `kptr_restrict`.
fn shows_addresses(symbols: &str) -> bool {
    symbols.lines().take(1000).any(|line| {
        line.split_whitespace().next().is_some_and(|address| address.bytes().any(|digit| digit != b'0'))
    })
}

/// The share of stolen time in `/proc/stat`: user nice system idle iowait irq softirq steal (proc(5)).
pub(crate) fn steal_share(stat: &str) -> Option<f64> {
    let ticks = cpu_ticks(stat)?;
    let total: u64 = ticks.iter().sum();
    Some(if total == 0 { 0.0 } else { ticks[7] as f64 / total as f64 })
}

/// The first eight counts of the line of all CPUs.
pub(crate) fn cpu_ticks(stat: &str) -> Option<[u64; 8]> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let mut counts = line.split_whitespace().map_while(|word| word.parse().ok());
    let mut ticks = [0; 8];
    for tick in &mut ticks {
        *tick = counts.next()?;
    }
    Some(ticks)
}

fn container() -> Option<String> {
    if let Some(name) = read("/run/systemd/container") {
        return Some(name.trim().to_owned());
    }
    let marks = [("/run/.containerenv", "podman"), ("/.dockerenv", "docker")];
    if let Some((_, name)) = marks.iter().find(|(path, _)| Path::new(path).exists()) {
        return Some((*name).to_owned());
    }
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        return Some("kubernetes".to_owned());
    }
    // The first user namespace maps every user to itself.
    let map = read("/proc/self/uid_map")?;
    let words: Vec<&str> = map.split_whitespace().collect();
    (words != ["0", "0", "4294967295"]).then(|| USER_NAMESPACE.to_owned())
}

fn refused(act: &str, error: &std::io::Error) -> Attempt {
    Attempt::Refused { act: act.to_owned(), number: error.raw_os_error().unwrap_or(0) }
}

/// Samples ourselves while we call the kernel, until one sample of the kernel has come.
fn try_samples(watched: Watched) -> Attempt {
    let event = match Event::sampling(Source::CpuClock, watched, TRIAL_RATE_HZ, 0) {
        Ok(event) => event,
        Err(error) => return refused("open a sampling event that sees the kernel", &error),
    };
    let mut ring = match event.ring(TRIAL_PAGES) {
        Ok(ring) => ring,
        Err(error) => return refused("map the buffer of samples", &error),
    };
    let begun = system::thread_time();
    let mut kernel = 0_u32;
    while kernel == 0 && system::thread_time() - begun < PATIENCE {
        for _ in 0..1000 {
            system::call_the_kernel();
        }
        ring.drain(|kind, flags, _| kernel += u32::from(is_kernel_sample(kind, flags)));
    }
    match kernel {
        0 => Attempt::Nothing("the event opened and no sample of the kernel came".to_owned()),
        _ => Attempt::Works("samples of the kernel came, with call chains".to_owned()),
    }
}

/// `PERF_RECORD_SAMPLE` whose mode is the kernel's.
fn is_kernel_sample(kind: u32, flags: u16) -> bool {
    kind == 9 && flags & 7 == 1
}

/// An event on every CPU that we are on in turn would need affinity; one that opens on each CPU is what counts.
fn try_all_samples() -> Attempt {
    let Some(cpus) = read("/sys/devices/system/cpu/online").and_then(|text| parse_cpus(&text)) else {
        return Attempt::Nothing("the list of CPUs cannot be read".to_owned());
    };
    for &cpu in &cpus {
        let event = Event::sampling(Source::CpuClock, Watched::Cpu(cpu), TRIAL_RATE_HZ, 0);
        match event.and_then(|event| event.ring(TRIAL_PAGES)) {
            Ok(_) => {}
            Err(error) => return refused(&format!("sample all that runs on CPU {cpu}"), &error),
        }
    }
    Attempt::Works(format!("opened on {} CPU{}", cpus.len(), if cpus.len() == 1 { "" } else { "s" }))
}

/// `0-3,8` as numbers.
pub(crate) fn parse_cpus(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        cpus.extend(first.parse::<u32>().ok()?..=last.parse().ok()?);
    }
    Some(cpus)
}

fn try_tracing() -> Attempt {
    let types = match KernelTypes::running() {
        Ok(types) => types,
        Err(error) => return Attempt::Nothing(error.to_string()),
    };
    let Some(number) = types.tracepoint_number("sched_switch") else {
        return Attempt::Nothing("the kernel does not describe its tracepoints".to_owned());
    };
    match system::try_tracing(number) {
        Ok(link) => {
            bpf::keep_trial(link);
            Attempt::Works("a BPF program was loaded, attached and taken out".to_owned())
        }
        Err((act, error)) => refused(act, &error),
    }
}

fn try_hardware() -> Attempt {
    let mut counts = Vec::new();
    for (source, name) in [(Source::Cycles, "cycles"), (Source::Instructions, "instructions")] {
        let event = match Event::counting(source, Watched::Thread(0)) {
            Ok(event) => event,
            Err(error) => return refused(&format!("count {name}"), &error),
        };
        for _ in 0..1000 {
            system::call_the_kernel();
        }
        match event.count() {
            Ok(0) | Err(_) => return Attempt::Nothing(format!("the unit opened and counted no {name}")),
            Ok(count) => counts.push(format!("{count} {name}")),
        }
    }
    Attempt::Works(format!("counted {} in 1000 system calls", counts.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_in_brackets_is_the_one_chosen() {
        assert_eq!(chosen("none [integrity] confidentiality\n").as_deref(), Some("integrity"));
        assert_eq!(chosen("none"), None);
    }

    #[test]
    fn addresses_that_are_all_zero_are_none() {
        assert!(!shows_addresses("0000000000000000 T startup_64\n0000000000000000 t x\n"));
        assert!(shows_addresses("0000000000000000 A fixed\nffffffff81000000 T _text\n"));
        assert!(!shows_addresses(""));
    }

    #[test]
    fn stolen_time_is_a_share_of_all_time() {
        assert_eq!(steal_share("cpu  10 0 10 70 0 0 0 10 5 5\ncpu0 1 1\n"), Some(0.1));
        assert_eq!(steal_share("cpu  0 0 0 0 0 0 0 0\n"), Some(0.0));
        assert_eq!(steal_share("cpu  1 2 3\n"), None);
    }

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(parse_cpus("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse_cpus("0"), Some(vec![0]));
        assert_eq!(parse_cpus("x"), None);
    }
}

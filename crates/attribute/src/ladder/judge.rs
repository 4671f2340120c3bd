//! From facts to rungs: what was found, why, and which command lifts it. Pure.

use iostack_model::{Ladder, Rung, RungState};

use super::facts::USER_NAMESPACE;
use super::{Attempt, Capabilities, Facts};

/// Rights that some rung needs, by their names for the program's file.
const RIGHTS: [(u32, &str); 3] = [
    (Capabilities::PERFMON, "cap_perfmon"),
    (Capabilities::BPF, "cap_bpf"),
    (Capabilities::SYSLOG, "cap_syslog"),
];
/// Samples, and names for them.
const FOR_SAMPLES: &[u32] = &[Capabilities::PERFMON, Capabilities::SYSLOG];
const FOR_TRACING: &[u32] = &[Capabilities::PERFMON, Capabilities::BPF, Capabilities::SYSLOG];
const FOR_HARDWARE: &[u32] = &[Capabilities::PERFMON];
/// Remedy on kernels that do not have these capabilities yet.
const RUN_AS_ROOT: &str = "sudo iostack ..";
/// Remedy in a container, whose rights only its start can extend.
const START_CONTAINER: &str = "start the container with --cap-add PERFMON --cap-add BPF --cap-add SYSLOG \
                               --security-opt seccomp=unconfined";
const ALLOW_OWN: &str = "sudo sysctl kernel.perf_event_paranoid=1";

/// The ladder that these facts make.
pub fn judge(facts: &Facts) -> Ladder {
    let rungs =
        vec![counters(facts), own_samples(facts), all_samples(facts), tracing(facts), hardware(facts)];
    Ladder { rungs, facts: told(facts) }
}

fn state(rung: Rung, reached: bool, reason: String, remedy: Option<String>) -> RungState {
    RungState { rung, reached, reason, remedy }
}

fn counters(facts: &Facts) -> RungState {
    let Some(folder) = facts.unmounted else {
        return state(Rung::Counters, true, "/proc and /sys".to_owned(), None);
    };
    let kind = if folder == "/sys" { "sysfs" } else { "proc" };
    missing(
        Rung::Counters,
        (format!("{folder} is not mounted"), Some(format!("mount -t {kind} {kind} {folder}"))),
    )
}

fn missing(rung: Rung, (reason, remedy): (String, Option<String>)) -> RungState {
    state(rung, false, reason, remedy)
}

/// Samples are addresses; without names they say nothing of layers.
fn own_samples(facts: &Facts) -> RungState {
    sampled(Rung::OwnSamples, facts, &facts.own_samples)
}

fn all_samples(facts: &Facts) -> RungState {
    sampled(Rung::AllSamples, facts, &facts.all_samples)
}

fn sampled(rung: Rung, facts: &Facts, attempt: &Attempt) -> RungState {
    match attempt {
        Attempt::Works(_) if !facts.symbols => missing(rung, no_symbols(facts)),
        Attempt::Works(seen) => state(rung, true, seen.clone(), None),
        Attempt::Nothing(why) => missing(rung, (why.clone(), None)),
        Attempt::Refused { act, number } => {
            let (reason, remedy) = perf_refusal(facts, act, *number, FOR_SAMPLES);
            let own = (rung == Rung::OwnSamples).then(|| setting(facts, *number)).flatten();
            missing(rung, (reason, own.or(remedy)))
        }
    }
}

fn is_forbidden(number: i32) -> bool {
    matches!(number, libc::EPERM | libc::EACCES)
}

/// The setting that lets ordinary users look at their own: only where no right of the program's file would do.
fn setting(facts: &Facts, number: i32) -> Option<String> {
    let helps = facts.paranoid > Some(2) || (facts.paranoid > Some(1) && is_before(&facts.release, (5, 8)));
    let refused = is_forbidden(number) && !facts.effective.allows(Capabilities::PERFMON);
    (helps && refused && may_not_set(facts).is_none()).then(|| ALLOW_OWN.to_owned())
}

/// Reason why the kernel does not open a perf event, and the remedy: rights, where these help.
fn perf_refusal(facts: &Facts, act: &str, number: i32, rights: &[u32]) -> (String, Option<String>) {
    if facts.paranoid.is_none() || number == libc::ENOSYS {
        return ("the kernel has no perf events (CONFIG_PERF_EVENTS)".to_owned(), None);
    }
    if !is_forbidden(number) {
        return (format!("the kernel cannot {act}: {}", words(number)), None);
    }
    let level = facts.paranoid.map_or(String::new(), |level| level.to_string());
    if facts.effective.allows(Capabilities::PERFMON) {
        return despite_rights(facts, act, "CAP_PERFMON");
    }
    let mut reason = format!("may not {act}: kernel.perf_event_paranoid is {level}");
    if facts.paranoid > Some(2) {
        reason.push_str(" (this distribution's way to refuse every event to ordinary users)");
    }
    reason.push_str(" and CAP_PERFMON is not held");
    (reason, Some(rights_remedy(facts, rights, "sudo sysctl kernel.perf_event_paranoid=0")))
}

/// The right is held and does not help: something else forbids.
fn despite_rights(facts: &Facts, act: &str, right: &str) -> (String, Option<String>) {
    if let Some(container) = &facts.container {
        let reason = format!("may not {act} although {right} is held: {container} keeps it from the kernel");
        return (reason, Some(START_CONTAINER.to_owned()));
    }
    if facts.seccomp {
        return (format!("may not {act}: a seccomp filter forbids it"), None);
    }
    if let Some(mode) = facts.lockdown.as_deref().filter(|&mode| mode != "none") {
        let reason = format!("may not {act} although {right} is held: the kernel is locked down ({mode})");
        return (reason, Some("boot with lockdown=integrity or without it".to_owned()));
    }
    if facts.paranoid > Some(2) && !facts.effective.has(Capabilities::SYS_ADMIN) {
        let reason = format!("may not {act} although {right} is held: kernel.perf_event_paranoid is above 2");
        return (reason, Some("sudo sysctl kernel.perf_event_paranoid=2".to_owned()));
    }
    (format!("may not {act} although {right} is held: a security module forbids it"), None)
}

/// Remedy for missing rights: no more than these, and those that are held. `before_5_8` where they have no capabilities of
/// their own yet.
fn rights_remedy(facts: &Facts, rights: &[u32], before_5_8: &str) -> String {
    if let Some(remedy) = may_not_set(facts) {
        return remedy.to_owned();
    }
    if rights.iter().any(|right| !facts.bounding.allows(*right)) && !is_before(&facts.release, (5, 8)) {
        return "ask for CAP_PERFMON and CAP_BPF where this session is started: its bounding set lacks them"
            .to_owned();
    }
    if is_before(&facts.release, (5, 8)) {
        return before_5_8.to_owned();
    }
    let named = RIGHTS.iter().filter(|(right, _)| rights.contains(right) || facts.effective.has(*right));
    let named: Vec<&str> = named.map(|(_, name)| *name).collect();
    format!("sudo setcap {}+ep $(command -v iostack)", named.join(","))
}

/// Reason why nothing that this process starts can win rights.
fn may_not_set(facts: &Facts) -> Option<&'static str> {
    if confines(facts) {
        return Some(START_CONTAINER);
    }
    facts
        .no_new_privileges
        .then_some("start iostack outside of what set no_new_privs; below it, sudo and setcap do nothing")
}

/// A container that keeps rights back. One that was given all of them is no hindrance, and neither is a virtual machine
/// made from a container's image; a user namespace always is one.
fn confines(facts: &Facts) -> bool {
    let namespace = facts.container.as_deref() == Some(USER_NAMESPACE);
    facts.container.is_some() && (namespace || !facts.bounding.has(Capabilities::SYS_ADMIN))
}

/// `5.4.0-150-generic` is before 5.8. An unknown spelling is not.
fn is_before(release: &str, version: (u32, u32)) -> bool {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    let mut next = || numbers.next().and_then(|word| word.parse::<u32>().ok());
    match (next(), next()) {
        (Some(major), Some(minor)) => (major, minor) < version,
        _ => false,
    }
}

/// `kallsyms_show_value` in `kernel/ksyms_common.c` decides.
fn no_symbols(facts: &Facts) -> (String, Option<String>) {
    let told = "samples come, but /proc/kallsyms hides the addresses of the kernel's functions";
    let restrict = facts.kptr_restrict.unwrap_or(0);
    let reason = format!("{told} (kernel.kptr_restrict is {restrict})");
    let remedy = match restrict {
        0 => rights_remedy(facts, FOR_SAMPLES, ALLOW_OWN),
        1 => rights_remedy(facts, FOR_SAMPLES, "sudo sysctl kernel.kptr_restrict=0"),
        _ => match may_not_set(facts).filter(|_| facts.container.is_none()) {
            Some(remedy) => remedy.to_owned(),
            None => "sudo sysctl kernel.kptr_restrict=0".to_owned(),
        },
    };
    (reason, Some(remedy))
}

fn tracing(facts: &Facts) -> RungState {
    let rung = Rung::Tracing;
    match &facts.tracing {
        Attempt::Works(seen) => state(rung, true, seen.clone(), None),
        Attempt::Nothing(_) if !facts.types && facts.unmounted.is_none() => missing(
            rung,
            (
                "the kernel does not describe its types: /sys/kernel/btf/vmlinux is missing".to_owned(),
                Some("boot a kernel built with CONFIG_DEBUG_INFO_BTF=y".to_owned()),
            ),
        ),
        Attempt::Nothing(why) => missing(rung, (why.clone(), None)),
        Attempt::Refused { act, number } => missing(rung, tracing_refusal(facts, act, *number)),
    }
}

fn tracing_refusal(facts: &Facts, act: &str, number: i32) -> (String, Option<String>) {
    if number == libc::ENOSYS {
        return ("the kernel has no BPF system call (CONFIG_BPF_SYSCALL)".to_owned(), None);
    }
    if !is_forbidden(number) {
        let mut reason = format!("the kernel cannot {act}: {}", words(number));
        if is_before(&facts.release, (5, 11)) {
            reason.push_str("; what ours ask of the kernel (bpf_get_current_task_btf) came with Linux 5.11");
        }
        return (reason, None);
    }
    let needed = [(Capabilities::BPF, "CAP_BPF"), (Capabilities::PERFMON, "CAP_PERFMON")];
    let lacking: Vec<&str> =
        needed.iter().filter(|(right, _)| !facts.effective.allows(*right)).map(|(_, name)| *name).collect();
    if lacking.is_empty() {
        if facts.lockdown.as_deref() == Some("confidentiality") && facts.container.is_none() {
            let reason = format!("may not {act}: lockdown=confidentiality forbids BPF to read the kernel");
            return (reason, Some("boot with lockdown=integrity or without it".to_owned()));
        }
        return despite_rights(facts, act, "CAP_BPF");
    }
    let mut reason = format!("may not {act}: {} not held", lacking.join(" and "));
    if facts.unprivileged_bpf_disabled.is_some_and(|value| value != 0) {
        reason.push_str(", kernel.unprivileged_bpf_disabled is set");
    }
    (reason, Some(rights_remedy(facts, FOR_TRACING, RUN_AS_ROOT)))
}

fn hardware(facts: &Facts) -> RungState {
    let rung = Rung::Hardware;
    let none = if facts.hypervisor {
        "no counting unit: the hypervisor does not show it to this guest"
    } else {
        "no counting unit that the kernel knows"
    };
    match &facts.hardware {
        Attempt::Works(seen) => state(rung, true, seen.clone(), None),
        Attempt::Nothing(why) => missing(rung, (why.clone(), None)),
        Attempt::Refused { number, .. }
            if matches!(*number, libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::ENXIO) =>
        {
            missing(rung, (none.to_owned(), None))
        }
        Attempt::Refused { act, number: libc::EBUSY } => missing(
            rung,
            (format!("cannot {act}: the unit is busy"), Some("stop the other profiler".to_owned())),
        ),
        Attempt::Refused { act, number } => {
            let (reason, remedy) = perf_refusal(facts, act, *number, FOR_HARDWARE);
            missing(rung, (reason, setting(facts, *number).or(remedy)))
        }
    }
}

fn words(number: i32) -> String {
    std::io::Error::from_raw_os_error(number).to_string()
}

/// Further facts for the reader.
fn told(facts: &Facts) -> Vec<(String, String)> {
    let number = |value: Option<i32>| value.map_or_else(|| "not there".to_owned(), |value| value.to_string());
    let names = [
        (Capabilities::SYS_ADMIN, "sys_admin"),
        (Capabilities::PERFMON, "perfmon"),
        (Capabilities::BPF, "bpf"),
        (Capabilities::SYSLOG, "syslog"),
    ];
    let held: Vec<&str> =
        names.iter().filter(|(right, _)| facts.effective.has(*right)).map(|(_, name)| *name).collect();
    let mut told = vec![
        ("kernel", facts.release.clone()),
        ("user", if facts.root { "root" } else { "ordinary" }.to_owned()),
        ("capabilities", if held.is_empty() { "none that matter".to_owned() } else { held.join(" ") }),
        ("kernel.perf_event_paranoid", number(facts.paranoid)),
        ("kernel.kptr_restrict", number(facts.kptr_restrict)),
        ("kernel.unprivileged_bpf_disabled", number(facts.unprivileged_bpf_disabled)),
        ("kernel symbols", if facts.symbols { "shown" } else { "hidden" }.to_owned()),
        ("type description (BTF)", if facts.types { "there" } else { "missing" }.to_owned()),
        ("lockdown", facts.lockdown.clone().unwrap_or_else(|| "not told".to_owned())),
        ("container", facts.container.clone().unwrap_or_else(|| "none".to_owned())),
        ("steal since boot", format!("{:.1} %", 100.0 * facts.steal)),
    ];
    if facts.no_new_privileges {
        told.push(("no_new_privs", "set: sudo and setcap do nothing here".to_owned()));
    }
    if facts.seccomp {
        told.push(("seccomp", "a filter watches the system calls".to_owned()));
    }
    told.into_iter().map(|(name, found)| (name.to_owned(), found)).collect()
}

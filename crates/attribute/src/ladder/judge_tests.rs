//! Made-up machines and their ladders.

use iostack_model::Rung::{AllSamples, Counters, Hardware, OwnSamples, Tracing};
use iostack_model::{Ladder, Rung};

use super::facts::USER_NAMESPACE;
use super::{Attempt, Capabilities, Facts, judge};

fn works() -> Attempt {
    Attempt::Works("seen".to_owned())
}

fn refused(number: i32) -> Attempt {
    Attempt::Refused { act: "do it".to_owned(), number }
}

const ALL: Capabilities = Capabilities(u64::MAX);

/// Root on a machine that gives all.
fn free() -> Facts {
    Facts {
        unmounted: None,
        release: "6.12.1".to_owned(),
        root: true,
        effective: ALL,
        bounding: ALL,
        no_new_privileges: false,
        seccomp: false,
        container: None,
        hypervisor: false,
        paranoid: Some(2),
        kptr_restrict: Some(0),
        unprivileged_bpf_disabled: Some(2),
        lockdown: Some("none".to_owned()),
        types: true,
        symbols: true,
        steal: 0.0,
        own_samples: works(),
        all_samples: works(),
        tracing: works(),
        hardware: works(),
    }
}

/// An ordinary user on the same machine.
fn ordinary(paranoid: i32) -> Facts {
    let own = if paranoid > 1 { refused(libc::EACCES) } else { works() };
    Facts {
        root: false,
        effective: Capabilities(0),
        paranoid: Some(paranoid),
        symbols: paranoid <= 1,
        own_samples: own.clone(),
        all_samples: if paranoid > 0 { refused(libc::EACCES) } else { works() },
        tracing: refused(libc::EPERM),
        hardware: own,
        ..free()
    }
}

fn number(ladder: &Ladder) -> u8 {
    ladder.reached().map_or(0, |state| state.rung.number())
}

#[test]
fn who_may_do_all_reaches_all() {
    let ladder = judge(&free());
    assert_eq!(number(&ladder), 4);
    assert!(ladder.missing().is_none());
    assert!(ladder.rungs.iter().all(|state| state.remedy.is_none()));
}

#[test]
fn an_ordinary_user_climbs_with_the_paranoid_setting() {
    assert_eq!([-1, 0, 1, 2, 3, 4].map(|level| number(&judge(&ordinary(level)))), [2, 2, 1, 0, 0, 0]);
}

type Refusal = (Facts, Rung, &'static str, Option<&'static str>);

/// Each of these facts leaves the rung unreached, for this reason and with this remedy.
fn check(table: impl IntoIterator<Item = Refusal>) {
    for (facts, rung, reason, remedy) in table {
        let ladder = judge(&facts);
        let state = ladder.rungs.iter().find(|state| state.rung == rung).expect("every rung is told");
        assert!(!state.reached && state.reason.contains(reason), "{rung:?} should say `{reason}`: {state:?}");
        let said = remedy.map_or(state.remedy.is_none(), |part| {
            state.remedy.as_ref().is_some_and(|remedy| remedy.contains(part))
        });
        assert!(said, "{rung:?}: {:?} should say {remedy:?}", state.remedy);
    }
}

fn of_release(release: &str, facts: Facts) -> Facts {
    Facts { release: release.to_owned(), ..facts }
}

const SETTING_1: Option<&str> = Some("sysctl kernel.perf_event_paranoid=1");
const SAMPLES: Option<&str> = Some("setcap cap_perfmon,cap_syslog+ep");

#[test]
fn settings_are_explained_and_capabilities_where_they_alone_help() {
    let held = Facts { effective: Capabilities(1 << Capabilities::PERFMON), ..ordinary(4) };
    let hidden = |kptr_restrict| Facts { symbols: false, kptr_restrict: Some(kptr_restrict), ..ordinary(1) };
    let old = of_release("5.4.0-150-generic", ordinary(1));
    // With capabilities for samples and programs, and without the one for names: those that are held stay.
    let held_all = Capabilities(1 << Capabilities::PERFMON | 1 << Capabilities::BPF);
    let samples_only = Facts { paranoid: Some(2), effective: held_all, ..hidden(0) };
    let old_own = of_release("5.4.1", ordinary(2));
    check([
        (ordinary(2), OwnSamples, "paranoid is 2", SAMPLES),
        (old_own.clone(), OwnSamples, "paranoid is 2", SETTING_1),
        (old_own, Hardware, "paranoid is 2", SETTING_1),
        (ordinary(2), AllSamples, "CAP_PERFMON", SAMPLES),
        (ordinary(2), Hardware, "paranoid is 2", Some("setcap cap_perfmon+ep")),
        (ordinary(2), Tracing, "CAP_BPF", Some("setcap cap_perfmon,cap_bpf,cap_syslog+ep")),
        (ordinary(3), Hardware, "distribution", SETTING_1),
        (ordinary(3), OwnSamples, "distribution", SETTING_1),
        (ordinary(4), OwnSamples, "distribution", SETTING_1),
        (ordinary(1), AllSamples, "paranoid is 1", Some("setcap")),
        (old.clone(), AllSamples, "CAP_PERFMON", Some("perf_event_paranoid=0")),
        (old, Tracing, "CAP_BPF", Some("sudo iostack")),
        (held, AllSamples, "above 2", Some("perf_event_paranoid=2")),
        (hidden(1), OwnSamples, "hides the addresses", Some("cap_syslog")),
        (hidden(2), OwnSamples, "kptr_restrict is 2", Some("kernel.kptr_restrict=0")),
        (of_release("5.4.1", hidden(1)), OwnSamples, "kptr_restrict is 1", Some("kptr_restrict=0")),
        (samples_only, OwnSamples, "hides", Some("setcap cap_perfmon,cap_bpf,cap_syslog+ep")),
    ]);
    assert_eq!(number(&judge(&hidden(1))), 0, "samples without names say nothing");
}

#[test]
fn what_confines_a_process_is_named() {
    let within = |kind: &str, facts| Facts { container: Some(kind.to_owned()), ..facts };
    let forbidden = || Facts {
        own_samples: refused(libc::EPERM),
        all_samples: refused(libc::EPERM),
        tracing: refused(libc::EPERM),
        ..free()
    };
    for rung in [OwnSamples, AllSamples, Tracing] {
        let confined = Facts { bounding: Capabilities(0xa804_25fb), ..ordinary(2) };
        let privileges = Facts { no_new_privileges: true, ..ordinary(2) };
        check([
            (within("docker", confined), rung, "", Some("--cap-add PERFMON")),
            (privileges, rung, "", Some("no_new_privs")),
        ]);
    }
    for rung in [AllSamples, Tracing] {
        let namespace =
            (within(USER_NAMESPACE, forbidden()), rung, "namespace keeps it", Some("the container"));
        let unbounded = Facts { bounding: Capabilities(0), ..ordinary(2) };
        check([namespace, (unbounded, rung, "", Some("bounding set"))]);
    }
    let given = within("docker", ordinary(2));
    check([
        (given.clone(), OwnSamples, "paranoid is 2", SAMPLES),
        (given, Tracing, "CAP_BPF", Some("setcap")),
        (Facts { seccomp: true, ..forbidden() }, OwnSamples, "seccomp", None),
    ]);
}

#[test]
fn what_the_kernel_or_the_machine_lacks_is_named() {
    let nothing = |why: &str| Attempt::Nothing(why.to_owned());
    let lockdown = Some("confidentiality".to_owned());
    let closed = Facts { lockdown, tracing: refused(libc::EPERM), ..free() };
    let untyped = Facts { types: false, tracing: nothing("no file"), ..free() };
    let unmounted = Facts { unmounted: Some("/sys"), ..untyped.clone() };
    let old = of_release("5.10.0-46-amd64", Facts { tracing: refused(libc::EINVAL), ..free() });
    let (none, absent) = (refused(libc::ENOENT), refused(libc::ENOSYS));
    let without = Facts { paranoid: None, own_samples: absent.clone(), tracing: absent, ..free() };
    let silent = Facts { own_samples: nothing("no sample came"), ..free() };
    let guest = Facts { hypervisor: true, hardware: none.clone(), ..free() };
    check([
        (closed, Tracing, "lockdown=confidentiality", Some("lockdown=integrity")),
        (untyped, Tracing, "/sys/kernel/btf/vmlinux", Some("CONFIG_DEBUG_INFO_BTF")),
        (Facts { tracing: nothing("malformed"), ..free() }, Tracing, "malformed", None),
        (unmounted.clone(), Counters, "/sys is not mounted", Some("mount")),
        (unmounted, Tracing, "no file", None),
        (old, Tracing, "Linux 5.11", None),
        (without.clone(), OwnSamples, "CONFIG_PERF_EVENTS", None),
        (without, Tracing, "CONFIG_BPF_SYSCALL", None),
        (guest, Hardware, "hypervisor", None),
        (Facts { hardware: none, ..free() }, Hardware, "no counting unit", None),
        (Facts { hardware: refused(libc::EBUSY), ..free() }, Hardware, "busy", Some("other profiler")),
        (silent, OwnSamples, "no sample came", None),
    ]);
}

#[test]
fn what_is_refused_leaves_other_rungs_reached() {
    let lockdown = |mode: &str| Some(mode.to_owned());
    let closed = Facts { lockdown: lockdown("confidentiality"), tracing: refused(libc::EPERM), ..free() };
    assert!(judge(&closed).has(AllSamples));
    assert_eq!(number(&judge(&Facts { lockdown: lockdown("integrity"), ..free() })), 4);
    let forbidden = refused(libc::EPERM);
    let ladder = judge(&Facts { own_samples: forbidden.clone(), all_samples: forbidden, ..free() });
    assert_eq!(number(&ladder), 0);
    assert!(ladder.has(Tracing), "tried on its own");
    assert_eq!(number(&judge(&Facts { hardware: refused(libc::ENOENT), ..free() })), 3);
    let old = Facts { release: "5.11.0".to_owned(), tracing: refused(libc::EINVAL), ..free() };
    let later = judge(&old).rungs.into_iter().find(|state| state.rung == Tracing);
    assert!(later.is_some_and(|state| !state.reason.contains("5.11")));
}

#[test]
fn every_rung_is_told_once_and_in_order_whatever_the_facts() {
    let attempts = [works(), refused(libc::EPERM), refused(libc::ENOENT), Attempt::Nothing("x".into())];
    for bits in 0..4_usize.pow(4) {
        let pick = |place: u32| attempts[bits / 4_usize.pow(place) % 4].clone();
        for base in [free(), ordinary(2)] {
            let facts = Facts {
                own_samples: pick(0),
                all_samples: pick(1),
                tracing: pick(2),
                hardware: pick(3),
                ..base
            };
            let ladder = judge(&facts);
            assert_eq!(ladder.rungs.iter().map(|state| state.rung).collect::<Vec<_>>(), Rung::ALL);
            assert!(ladder.rungs.iter().all(|state| !state.reason.is_empty()));
            assert!(ladder.rungs.iter().all(|state| !state.reached || state.remedy.is_none()));
            assert_eq!(ladder.has(Tracing), pick(2).works());
        }
    }
}

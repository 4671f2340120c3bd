//! Made-up machines and their ladders.

use iostack_model::{Ladder, Rung};

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

#[track_caller]
fn says(ladder: &Ladder, rung: Rung, reason: &str, remedy: Option<&str>) {
    let state = ladder.rungs.iter().find(|state| state.rung == rung).expect("every rung is told");
    assert!(!state.reached, "{rung:?} is reached");
    assert!(state.reason.contains(reason), "{rung:?}: `{}` does not say `{reason}`", state.reason);
    match (remedy, &state.remedy) {
        (None, None) => {}
        (Some(part), Some(remedy)) if remedy.contains(part) => {}
        (_, found) => panic!("{rung:?}: remedy {found:?}, should say {remedy:?}"),
    }
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

#[test]
fn paranoid_2_asks_for_1() {
    let ladder = judge(&ordinary(2));
    says(&ladder, Rung::OwnSamples, "paranoid is 2", Some("sysctl kernel.perf_event_paranoid=1"));
    says(&ladder, Rung::AllSamples, "CAP_PERFMON", Some("setcap cap_perfmon"));
    says(&ladder, Rung::Hardware, "paranoid is 2", Some("sysctl kernel.perf_event_paranoid=1"));
}

#[test]
fn paranoid_3_and_4_are_explained_as_the_distributions() {
    for level in [3, 4] {
        says(&judge(&ordinary(level)), Rung::OwnSamples, "distribution", Some("perf_event_paranoid=1"));
    }
}

#[test]
fn paranoid_1_leaves_other_processes_to_capabilities() {
    says(&judge(&ordinary(1)), Rung::AllSamples, "paranoid is 1", Some("setcap"));
}

#[test]
fn before_capabilities_of_their_own_settings_and_root_are_the_way() {
    let facts = Facts { release: "5.4.0-150-generic".to_owned(), ..ordinary(1) };
    says(&judge(&facts), Rung::AllSamples, "CAP_PERFMON", Some("perf_event_paranoid=0"));
    says(&judge(&facts), Rung::Tracing, "CAP_BPF", Some("sudo iostack"));
}

#[test]
fn a_capability_held_and_refused_above_2_asks_for_the_setting() {
    let perfmon = Capabilities(1 << Capabilities::PERFMON);
    let facts = Facts { effective: perfmon, ..ordinary(4) };
    says(&judge(&facts), Rung::AllSamples, "above 2", Some("perf_event_paranoid=2"));
}

#[test]
fn a_container_without_rights_can_only_be_started_otherwise() {
    let facts =
        Facts { container: Some("docker".to_owned()), bounding: Capabilities(0xa804_25fb), ..ordinary(2) };
    for rung in [Rung::OwnSamples, Rung::AllSamples, Rung::Tracing] {
        says(&judge(&facts), rung, "", Some("--cap-add PERFMON"));
    }
}

#[test]
fn a_container_that_was_given_all_rights_is_no_hindrance() {
    let facts = Facts { container: Some("docker".to_owned()), ..ordinary(2) };
    says(&judge(&facts), Rung::OwnSamples, "paranoid is 2", Some("perf_event_paranoid=1"));
    says(&judge(&facts), Rung::Tracing, "CAP_BPF", Some("setcap"));
}

#[test]
fn root_of_a_user_namespace_holds_rights_that_the_kernel_does_not_count() {
    let facts = Facts {
        container: Some("a user namespace".to_owned()),
        own_samples: refused(libc::EPERM),
        all_samples: refused(libc::EPERM),
        tracing: refused(libc::EPERM),
        ..free()
    };
    says(&judge(&facts), Rung::AllSamples, "a user namespace keeps it", Some("start the container"));
    says(&judge(&facts), Rung::Tracing, "a user namespace keeps it", Some("start the container"));
}

#[test]
fn a_seccomp_filter_is_named() {
    let facts = Facts { seccomp: true, own_samples: refused(libc::EPERM), ..free() };
    says(&judge(&facts), Rung::OwnSamples, "seccomp", None);
}

#[test]
fn a_container_may_have_bpf_and_no_samples() {
    let facts = Facts { own_samples: refused(libc::EPERM), all_samples: refused(libc::EPERM), ..free() };
    let ladder = judge(&facts);
    assert_eq!(number(&ladder), 0);
    assert!(ladder.has(Rung::Tracing), "tried on its own");
}

#[test]
fn no_new_privs_makes_sudo_and_setcap_useless() {
    let facts = Facts { no_new_privileges: true, ..ordinary(2) };
    for rung in [Rung::OwnSamples, Rung::AllSamples, Rung::Tracing] {
        says(&judge(&facts), rung, "", Some("no_new_privs"));
    }
}

#[test]
fn a_bounding_set_without_the_right_makes_setcap_useless() {
    let facts = Facts { bounding: Capabilities(0), ..ordinary(2) };
    says(&judge(&facts), Rung::AllSamples, "", Some("bounding set"));
    says(&judge(&facts), Rung::Tracing, "", Some("bounding set"));
}

#[test]
fn lockdown_for_confidentiality_forbids_tracing_and_no_sampling() {
    let lockdown = Some("confidentiality".to_owned());
    let ladder = judge(&Facts { lockdown, tracing: refused(libc::EPERM), ..free() });
    says(&ladder, Rung::Tracing, "lockdown=confidentiality", Some("lockdown=integrity"));
    assert!(ladder.has(Rung::AllSamples));
}

#[test]
fn lockdown_for_integrity_takes_nothing() {
    let facts = Facts { lockdown: Some("integrity".to_owned()), ..free() };
    assert_eq!(number(&judge(&facts)), 4);
}

#[test]
fn without_types_there_is_no_tracing() {
    let facts = Facts { types: false, tracing: Attempt::Nothing("no file".to_owned()), ..free() };
    says(&judge(&facts), Rung::Tracing, "/sys/kernel/btf/vmlinux", Some("CONFIG_DEBUG_INFO_BTF"));
}

#[test]
fn types_without_tracepoints_are_told_as_found() {
    let facts = Facts { tracing: Attempt::Nothing("malformed".to_owned()), ..free() };
    says(&judge(&facts), Rung::Tracing, "malformed", None);
}

#[test]
fn a_folder_of_the_kernels_that_is_not_mounted_is_named_first() {
    let types = Attempt::Nothing("no file".to_owned());
    let ladder = judge(&Facts { unmounted: Some("/sys"), types: false, tracing: types, ..free() });
    says(&ladder, Rung::Counters, "/sys is not mounted", Some("mount"));
    says(&ladder, Rung::Tracing, "no file", None);
}

#[test]
fn old_kernels_that_our_programs_ask_too_much_of_are_named() {
    let of = |release: &str| {
        judge(&Facts { release: release.to_owned(), tracing: refused(libc::EINVAL), ..free() })
    };
    says(&of("5.10.0-46-amd64"), Rung::Tracing, "Linux 5.11", None);
    let later = of("5.11.0").rungs.into_iter().find(|state| state.rung == Rung::Tracing);
    assert!(later.is_some_and(|state| !state.reason.contains("5.11")));
}

#[test]
fn a_kernel_without_bpf_or_perf_is_named() {
    let facts = Facts {
        paranoid: None,
        own_samples: refused(libc::ENOSYS),
        tracing: refused(libc::ENOSYS),
        ..free()
    };
    says(&judge(&facts), Rung::OwnSamples, "CONFIG_PERF_EVENTS", None);
    says(&judge(&facts), Rung::Tracing, "CONFIG_BPF_SYSCALL", None);
}

#[test]
fn samples_without_names_do_not_reach_the_rung() {
    let hidden = |kptr_restrict| Facts { symbols: false, kptr_restrict: Some(kptr_restrict), ..ordinary(1) };
    let ladder = judge(&hidden(1));
    assert_eq!(number(&ladder), 0);
    says(&ladder, Rung::OwnSamples, "hides the addresses", Some("cap_syslog"));
    says(&judge(&hidden(2)), Rung::OwnSamples, "kptr_restrict is 2", Some("kernel.kptr_restrict=0"));
    let old = Facts { release: "5.4.1".to_owned(), ..hidden(1) };
    says(&judge(&old), Rung::OwnSamples, "kptr_restrict is 1", Some("kptr_restrict=0"));
    // With capabilities for samples, and without the one for names.
    let samples_only = Facts { kptr_restrict: Some(0), paranoid: Some(2), ..hidden(0) };
    says(&judge(&samples_only), Rung::OwnSamples, "hides", Some("perf_event_paranoid=1"));
}

#[test]
fn a_guest_without_a_counting_unit_is_told_that_nothing_lifts_it() {
    let facts = Facts { hardware: refused(libc::ENOENT), hypervisor: true, ..free() };
    let ladder = judge(&facts);
    assert_eq!(number(&ladder), 3);
    says(&ladder, Rung::Hardware, "hypervisor", None);
    let metal = Facts { hypervisor: false, ..facts };
    says(&judge(&metal), Rung::Hardware, "no counting unit", None);
}

#[test]
fn a_busy_unit_names_the_other_user() {
    let facts = Facts { hardware: refused(libc::EBUSY), ..free() };
    says(&judge(&facts), Rung::Hardware, "busy", Some("other profiler"));
}

#[test]
fn an_event_that_opens_and_says_nothing_is_not_a_rung() {
    let facts = Facts { own_samples: Attempt::Nothing("no sample came".to_owned()), ..free() };
    let ladder = judge(&facts);
    says(&ladder, Rung::OwnSamples, "no sample came", None);
    assert_eq!(number(&ladder), 0);
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
            assert_eq!(ladder.has(Rung::Tracing), pick(2).works());
        }
    }
}

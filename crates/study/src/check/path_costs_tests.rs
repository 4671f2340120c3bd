//! Are the costs sane among each other, on a small file of our own?

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use iostack_engine::path::{PathOptions, PathTarget, named};
use iostack_target::{Target as _, Wishes};
use iostack_testkit::Folder;

use super::*;
use crate::check::fill;

fn examined<T>(name: &str, test: impl FnOnce(&Examiner<'_>) -> T) -> T {
    // Unit tests get no folder from cargo; the program's own lies below target/.
    let program = std::env::current_exe().expect("a running test has a program");
    let room = program.parent().expect("it lies in a folder").to_string_lossy();
    let folder = Folder::below(&room, name);
    let stop = AtomicBool::new(false);
    let name = named(folder.as_os_str()).expect("the folder was just made");
    let target = PathTarget::open(Some(name), &PathOptions::default());
    let wishes = Wishes { effort: Effort::Quick, size: Some(Bytes::mib(64)) };
    let mut session = target.occupy(&wishes, &stop).expect("64 MiB fit");
    let started = Instant::now();
    fill::fill(&mut *session, None, None, &stop).expect("a scratch file can be written");
    test(&Examiner { session: &*session, talk: &stop, started, deadline: None })
}

fn find<'a>(costs: &'a [PathCost], id: &PathPart) -> &'a PathCost {
    costs.iter().find(|cost| cost.id == *id).expect("every part has its row")
}

#[test]
fn a_switch_costs_more_than_a_system_call_and_both_have_intervals() {
    if iostack_host::clock::Clock::calibrated().tsc_hz() == 0 {
        return println!("SKIPPED a_switch_costs_more_than_a_system_call: no time-stamp counter");
    }
    let costs = examined("path-costs-cheap", |examiner| measure(examiner, Nanos::secs(2)));
    assert_eq!(costs.len(), PARTS.len());
    let [call, switch] = [PathPart::SystemCall, PathPart::Switch]
        .map(|id| find(&costs, &id).measured.expect("it needs nothing"));
    assert!(call.samples >= 3 && call.low <= call.mean && call.mean <= call.high, "{call:?}");
    assert!(switch.samples >= 3, "{switch:?}");
    assert!(switch.mean > call.mean, "a switch of {switch:?} contains at least the work of a call, {call:?}");
    for cost in costs.iter().filter(|cost| cost.measured.is_none()) {
        assert!(cost.note.as_ref().is_some_and(|note| note.starts_with("skipped:")), "{cost:?}");
    }
}

#[test]
fn what_was_not_measured_says_why_and_what_was_has_an_interval() {
    let costs = examined("path-costs-all", |examiner| measure(examiner, Nanos::secs(60)));
    for cost in &costs {
        println!("{} {:?} {} {:?}", cost.id, cost.measured, cost.unit, cost.note);
        match cost.measured {
            Some(interval) => {
                assert!(interval.samples >= 3 && interval.mean.is_finite(), "{cost:?}");
                assert!(!cost.how.is_empty(), "{cost:?}");
            }
            None => assert!(cost.note.is_some(), "{cost:?}"),
        }
    }
}

#[test]
fn all_parts_fit_the_time_of_a_default_check() {
    let whole: u64 =
        PARTS.iter().filter(|part| part.id != PathPart::Interrupt).map(|part| part.needs.0).sum();
    assert!(
        whole <= allowed(Effort::Default).0 - Nanos::secs(1).0,
        "file system and interrupt share their profiles: {}",
        Nanos(whole)
    );
}

#[test]
fn a_slope_is_that_of_the_line() {
    assert_eq!(slope(&[(4096.0, 9_192.0), (32_768.0, 66_536.0), (131_072.0, 263_144.0)]), Some(2.0));
    assert_eq!(slope(&[(4096.0, 1.0), (4096.0, 2.0)]), None);
    assert_eq!(slope(&[]), None);
}

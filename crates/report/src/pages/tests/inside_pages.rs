//! Pages of simulated outcomes: what must be said, and what must not.

use iostack_model::{Bins, Inside, Outcome, OutcomeFile};

use super::sound::{HOSTILE, assert_sound};
use crate::fixture;

fn insides(file: &mut OutcomeFile) -> impl Iterator<Item = &mut Inside> {
    file.outcomes.iter_mut().filter_map(|outcome| outcome.inside.as_mut())
}

#[test]
fn the_page_of_a_simulation_is_sound_and_says_why() {
    let page = crate::run(&fixture::simulated_file()).html();
    assert_sound(&page);
    for fact in [
        "SIMULATED",
        "sim:fixture",
        "flash.over_provisioning = 7%",
        "Why it is as fast as it is",
        "The 32 dies were busy 97 % of the time",
        "the free blocks were used up",
        "die *",
        "The mean write from start to end",
        "free blocks used up: -84 %",
        "Meanwhile in the device: free blocks",
        "What flash management did",
        "simulated: fixture, seed 7, virtual time",
        "Nothing was measured",
    ] {
        assert!(page.contains(fact), "`{fact}` is missing");
    }
}

#[test]
fn nothing_is_said_of_a_machine_that_does_not_exist() {
    let page = crate::run(&fixture::simulated_file()).html();
    let data = page.find("id=\"data\"").expect("a page has its data");
    let style = page.find("</style>").expect("a page has its style");
    for absent in [
        "CPU time per I/O",
        "busiest thread",
        "Linux",
        "Whole machine",
        "Processor",
        "1970-01-01",
        "io_uring",
        "syscalls",
    ] {
        let place = page[style..data].find(absent);
        assert_eq!(place, None, "{absent}: {:?}", place.map(|at| &page[style + at..][..200]));
    }
}

#[test]
fn text_of_a_device_file_stays_text() {
    let mut file = fixture::simulated_file();
    let hostile = HOSTILE.to_owned();
    for inside in insides(&mut file) {
        for field in [&mut inside.device, &mut inside.title, &mut inside.origin, &mut inside.state] {
            field.clone_from(&hostile);
        }
        inside.changed.push((hostile.clone(), hostile.clone()));
        inside.resources[0].name.clone_from(&hostile);
        for gauge in &mut inside.gauges {
            gauge.name.clone_from(&hostile);
        }
        let limit = inside.limit.as_mut().expect("the fixture has a limit");
        limit.name.clone_from(&hostile);
        limit.why.clone_from(&hostile);
    }
    let page = crate::run(&file).html();
    assert_sound(&page);
    assert!(!page.contains("<img") && page.matches("<script").count() == 2);
}

#[test]
fn a_simulation_that_saw_little_is_still_a_page() {
    let mut file = fixture::simulated_file();
    insides(&mut file).for_each(|inside| *inside = Inside::default());
    let page = crate::run(&file).html();
    assert_sound(&page);
    assert!(!page.contains("Which part was busy") && !page.contains("flash management did"));
    let none = |outcome: &mut Outcome| {
        outcome.series.clear();
        outcome.read.latency = Bins::default();
        outcome.write.latency = Bins::default();
    };
    file.outcomes.iter_mut().for_each(none);
    assert_sound(&crate::run(&file).html());
    for broken in [f64::NAN, f64::INFINITY, -1.0] {
        let mut file = fixture::simulated_file();
        for inside in insides(&mut file) {
            for resource in &mut inside.resources {
                (resource.busy, resource.service_ns, resource.waiting) = (broken, broken, broken);
            }
            for gauge in &mut inside.gauges {
                gauge.values.fill(broken);
            }
        }
        assert_sound(&crate::run(&file).html());
    }
}

#[test]
fn a_long_simulation_is_thinned_with_its_gauges() {
    let mut file = fixture::simulated_file();
    let outcome = &mut file.outcomes[0];
    let inside = outcome.inside.as_mut().expect("the fixture is simulated");
    let last = *outcome.series.last().expect("the fixture has a series");
    for index in outcome.series.len()..2_000 {
        let start = iostack_model::Nanos::secs(index as u64);
        outcome.series.push(iostack_model::IntervalFlow { start, ..last });
        for gauge in &mut inside.gauges {
            gauge.values.push(130.0);
        }
    }
    let page = crate::run(&file).html();
    assert_sound(&page);
    assert!(page.contains("each point covers 5 s") && page.contains("free blocks used up"));
}

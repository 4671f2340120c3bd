//! Simulated outcomes on the screen: what must be said, and what must not.

use super::screens::{assert_fits, assert_says};
use crate::fixture;
use crate::text::ascii;

fn outcome(file: &iostack_model::OutcomeFile) -> String {
    crate::run(file).text()
}

#[test]
fn the_screen_of_a_simulation_fits_with_and_without_unicode() {
    let screen = outcome(&fixture::simulated_file());
    assert_fits(&screen);
    assert_fits(&ascii(&screen));
    assert!(!ascii(&screen).contains('?'), "{}", ascii(&screen));
}

#[test]
fn a_simulation_says_what_it_is_and_why_it_is_as_fast_as_it_is() {
    assert_says(
        &outcome(&fixture::simulated_file()),
        &[
            "SIMULATED fixture: Fixture TLC drive, 1 TB class; 954 GiB; its numbers are built in",
            "state filled: every page was written once, in order",
            "changed flash.over_provisioning = 7%",
            "seed 7; it gives every figure again",
            "simulated 60 s",
            "random writes of 4 KiB, depth 32, on sim:fixture",
            "free blocks ██",
            "128 to 21,695",
            "WHERE A WRITE'S TIME WENT",
            "collect waiting for garbage collection",
            "die * 32 96.8",
            "limit * The 32 dies were busy 97 %",
            "cliff At 21 s the free blocks were used up",
            "Write amplification 3.42: for each page of 4 KiB that was written for",
            "29 % of what the flash can write was left",
            "11,080 erases",
            "next: iostack sim show fixture",
        ],
    );
}

#[test]
fn nothing_is_said_of_a_host_that_does_not_exist() {
    let screen = outcome(&fixture::simulated_file());
    for absent in
        ["host  ", "device  ", "clock", "CPU", "io_uring", "counters", "measured", "system calls, 0"]
    {
        assert!(!screen.contains(absent), "`{absent}` in\n{screen}");
    }
    assert!(!screen.contains("cost  "), "{screen}");
}

#[test]
fn a_simulation_that_saw_nothing_is_still_a_screen() {
    let mut file = fixture::simulated_file();
    for each in &mut file.outcomes {
        each.series.clear();
        for flow in [&mut each.read, &mut each.write] {
            flow.latency = iostack_model::Bins::default();
        }
        let inside = each.inside.as_mut().expect("the fixture is simulated");
        *inside = iostack_model::Inside { device: inside.device.clone(), ..Default::default() };
    }
    let screen = outcome(&file);
    assert_fits(&screen);
    assert_says(&screen, &["no I/O completed", "No resource of the device was busy"]);
}

#[test]
fn names_from_a_device_file_reach_no_terminal_and_keep_the_width() {
    let mut file = fixture::simulated_file();
    let inside = file.outcomes[0].inside.as_mut().expect("the fixture is simulated");
    "\u{1b}]2;owned\u{7}".clone_into(&mut inside.title);
    inside.resources[0].name = "a very long name of a resource".to_owned();
    inside.resources[1].visits = u64::MAX;
    inside.resources[1].waiting = 1e9;
    inside.resources[1].wait_ns = 1e18;
    inside.gauges[0].name = "a very long name of a gauge".to_owned();
    let screen = outcome(&file);
    assert!(screen.chars().all(|c| c == '\n' || !c.is_control()));
    assert_fits(&screen);
}

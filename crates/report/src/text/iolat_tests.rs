//! Does the screen of iolat fit, and does it say what it must?

use super::{WIDTH, iolat};
use crate::fixture;
use iostack_model::{Caveat, Interval, Moved, Nanos};

fn lines_fit(text: &str) {
    for line in text.lines().filter(|line| !line.starts_with("next:") && !line.trim_start().starts_with("$ "))
    {
        assert!(line.chars().count() <= WIDTH, "{} columns: {line}\n{text}", line.chars().count());
        assert_eq!(line, line.trim_end(), "trailing blanks");
    }
}

/// The text with every run of white space as one blank.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_screen_fits_80_columns() {
    for made in
        [fixture::iolat(), fixture::iolat_slower(), fixture::iolat_published(), fixture::iolat_interrupted()]
    {
        lines_fit(&iolat(&made));
    }
}

#[test]
fn absurd_figures_fit_too() {
    let mut made = fixture::iolat_slower();
    for test in &mut made.tests {
        for figure in [&mut test.iops, &mut test.request, &mut test.clocks] {
            *figure = Interval { mean: 9e9, low: 0.0, high: 5e12, samples: 5 };
        }
        test.rounds[0].iops = 1e13;
        test.caveats = vec![
            Caveat::Steal { share: 0.5 },
            Caveat::ForeignCpu { share: 0.5 },
            Caveat::RateStep { at: Nanos(1), before: 1.0, after: 2.0 },
            Caveat::IoLimit { line: String::new() },
            Caveat::Failed { count: 1, message: String::new() },
        ];
        for cost in &mut test.layer_costs {
            "a_layer_with_a_very_long_name".clone_into(&mut cost.layer);
            cost.clocks.mean = 1e15;
        }
    }
    made.tests[0].caveats.clear();
    for layer in &mut made.comparison.as_mut().expect("the fixture compares").layers {
        layer.clocks_change = Some(Interval { mean: -1e12, low: -1e15, high: 1e15, samples: 5 });
        layer.moved = Moved::Better;
    }
    lines_fit(&iolat(&made));
}

#[test]
fn the_tests_have_rate_interval_spread_and_request_time() {
    let text = iolat(&fixture::iolat());
    assert!(words(&text).contains("Small_direct_read 4096 12.47k ±1.1% 2 % 0.07456 11,870"), "{text}");
    assert!(text.contains("fdatasync") && text.contains("310 us after 10 writes of 4 KiB"), "{text}");
    assert!(words(&text).contains("SAMPLES FUNCTION, direct tests LAYER direct % cached %"), "{text}");
    assert!(text.contains("--save-reference before.json"), "{text}");
}

#[test]
fn another_machine_has_its_mark_and_one_line_that_says_so() {
    let text = iolat(&fixture::iolat_published());
    assert_eq!(words(&text).matches("ANOTHER MACHINE").count(), 1, "{text}");
    assert!(words(&text).contains("fixture_driver 28.00 31.00 ±0.93 nvme virtio"), "{text}");
    assert!(words(&text).contains("(not printed) - 2.00 ±0.06 user"), "{text}");
    assert!(!text.contains("SLOWER"), "two machines are not a change: {text}");
}

#[test]
fn a_slower_run_names_the_layers_that_moved_and_no_others() {
    let text = iolat(&fixture::iolat_slower());
    assert!(text.contains("SLOWER"), "{text}");
    let table = text.split("CLOCKS PER I/O      layer").nth(1).expect("the table of changed layers");
    let table = table.split("\n\n").next().expect("up to the next part");
    assert!(table.contains("scheduler") && table.contains("block"), "{table}");
    assert!(!table.contains("virtio") && !table.contains(" mm "), "{table}");
    assert!(!text.contains("ANOTHER MACHINE"), "{text}");
}

#[test]
fn without_layers_the_reason_and_the_command_are_shown() {
    let text = iolat(&fixture::iolat_interrupted());
    assert!(
        text.contains("INTERRUPTED") && text.contains("no layers  kernel.perf_event_paranoid is 4"),
        "{text}"
    );
    assert!(!text.contains("±"), "one round has no interval: {text}");
    assert!(words(&text).contains("Small_direct_read 4096 12.47k - - 0.07456"), "nor a spread: {text}");
    assert!(!text.contains("CLOCKS PER I/O"), "{text}");
}

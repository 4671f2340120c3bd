//! Do screen and page of iolat fit, and do they say what they must?

use iostack_model::answers::{Iolat, Moved};
use iostack_model::{Caveat, Interval, Nanos};

use super::iolat;
use crate::document::tests::{fits, sound};
use crate::fixture;
use crate::pages::tests::screens::assert_says;

fn told(made: &Iolat) -> (String, String) {
    let (text, page) = (iolat(made).text(), iolat(made).html());
    fits(&text);
    sound(&page);
    (text, page)
}

#[test]
fn every_screen_fits_and_every_page_holds_every_test() {
    let mut none = fixture::iolat_interrupted();
    none.tests.clear();
    for made in [
        fixture::iolat(),
        fixture::iolat_slower(),
        fixture::iolat_published(),
        fixture::iolat_interrupted(),
        none,
    ] {
        let (text, page) = told(&made);
        for test in &made.tests {
            assert!(page.contains(&test.name) && text.contains(&test.name), "{}", test.name);
        }
        assert!(!made.tests.is_empty() || text.contains("No test was made."), "{text}");
    }
}

#[test]
fn absurd_figures_fit_too() {
    let mut made = fixture::iolat_slower();
    for test in &mut made.tests {
        for figure in [&mut test.iops, &mut test.request, &mut test.clocks] {
            *figure = Interval { mean: 9e9, low: 0.0, high: 5e12, samples: 5 };
        }
        (test.rounds[0].iops, test.ios, test.bytes.0) = (1e13, u64::MAX, u64::MAX);
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
    told(&made);
    for broken in [f64::NAN, f64::INFINITY, -1.0] {
        for test in &mut made.tests {
            (test.iops.mean, test.request.mean, test.clocks.mean) = (broken, broken, broken);
            test.layer_costs[0].share.mean = broken;
        }
        told(&made);
    }
}

#[test]
fn the_tests_have_rate_interval_spread_and_request_time() {
    let (text, page) = told(&fixture::iolat());
    let facts = [
        "Small_direct_read [1] 4096 12.47k ±1.1% 2 % 0.07456 11,870",
        "310 us after 10 writes of 4 KiB",
        "LAYER direct % cached %",
        "FUNCTION, DIRECT TESTS samples layer kind",
        "DIRECT 4 KiB read 4 KiB write 128 KiB read 128 KiB write",
        "ANSWER Small direct read: 12.47k IOPS; most clocks go into",
        "--save-reference before.json # then change something",
    ];
    assert_says(&text, &facts);
    for fact in [
        "12.47k <small>±1.1%</small>",
        "counted in IOPS, not in the request",
        "<figure class=\"wide flame\">",
    ] {
        assert!(page.contains(fact), "{fact} is missing");
    }
}

#[test]
fn a_doubt_that_every_test_has_is_told_once_and_others_in_their_rows() {
    let mut made = fixture::iolat();
    made.tests.iter_mut().for_each(|test| test.caveats = vec![Caveat::Steal { share: 0.02 }]);
    made.tests[2].caveats.push(Caveat::ForeignCpu { share: 0.5 });
    let (text, page) = told(&made);
    assert!(text.contains("doubts     [1] concern every figure below"), "{text}");
    let rows: Vec<&str> =
        text.lines().filter(|line| line.contains("_direct_") && line.contains('[')).collect();
    assert!(rows.len() == 1 && rows[0].starts_with("Medium_direct_read [2] "), "{text}");
    assert!(page.contains("Of every figure"), "the page says it too");
    for test in &made.tests {
        assert!(page.contains(&format!("<b>{}</b>", test.name)), "the list says where: {}", test.name);
    }
}

#[test]
fn another_machine_has_one_line_that_says_so() {
    let (text, page) = told(&fixture::iolat_published());
    assert_eq!(text.matches("ANOTHER").count(), 1, "{text}");
    assert_says(&text, &["fixture_driver 28.00 31.00 ±0.93 nvme virtio", "(not printed) - 2.00 ±0.06 user"]);
    assert!(!text.contains("SLOWER"), "two machines are not a change: {text}");
    assert!(page.contains("Another machine.") && page.contains("ANOTHER MACHINE"));
    assert!(
        page.contains("nvme virtio") && page.contains("The driver that answers."),
        "the mapping is shown"
    );
    assert!(!told(&fixture::iolat_slower()).1.contains("Another machine."));
}

#[test]
fn a_slower_run_names_the_layers_that_moved_and_a_page_also_the_others() {
    let mut made = fixture::iolat_slower();
    let (text, page) = told(&made);
    assert_says(&text, &["SLOWER", "ANSWER Slower than before.json: Small direct read -7.4 %."]);
    let table = text.split("LAYER ").nth(1).expect("the table of changed layers");
    let table = table.split("... ").next().expect("up to the rest");
    assert!(table.contains("scheduler") && table.contains("block"), "{table}");
    assert!(!table.contains("driver") && !table.contains("memory "), "{table}");
    assert!(page.contains("<th>driver</th>") && !text.contains("ANOTHER MACHINE"), "{text}");
    let against = made.comparison.as_mut().expect("it compares");
    against.layers.iter_mut().for_each(|layer| layer.moved = Moved::Same);
    let of = against.layers.len();
    assert_says(&told(&made).0, &[&format!("none of {of} moved beyond the intervals")]);
    made.comparison.as_mut().expect("it compares").layers.clear();
    assert_says(&told(&made).0, &["layers were not measured in both"]);
}

#[test]
fn without_layers_the_reason_is_shown_and_one_round_has_no_interval() {
    let (text, page) = told(&fixture::iolat_interrupted());
    assert_says(&text, &["INTERRUPTED", "no layers kernel.perf_event_paranoid is 4"]);
    assert!(!text.replace("±: ", "").contains('±'), "one round has no interval: {text}");
    let row = text.lines().find(|line| line.starts_with("Small_direct_read")).expect("a row");
    assert_says(row, &["4096 12.47k - 0.07456"]);
    assert!(!text.contains("DIRECT   "), "{text}");
    assert!(page.contains("Interrupted: the figures are of the rounds until then."));
}

#[test]
fn text_from_outside_cannot_become_markup() {
    let mut made = fixture::iolat_slower();
    made.notes.push("<script>1</script>".to_owned());
    made.layers_missing = Some("<b>".to_owned());
    for test in &mut made.tests {
        "<i>layer".clone_into(&mut test.layer_costs[0].layer);
    }
    "<u>before.json".clone_into(&mut made.comparison.as_mut().expect("it compares").name);
    let (_, page) = told(&made);
    assert!(!page.contains("<script>1") && !page.contains("<i>layer") && !page.contains("<u>before"));
}

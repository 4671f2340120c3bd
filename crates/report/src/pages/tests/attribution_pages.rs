//! Stages, layers, the ladder and path costs on a page: sound whatever was measured, and nothing is hidden.

use iostack_model::{Bins, Ladder, Layers, Nanos, StackRow, Stage, Stages, Way, WayStages};

use super::sound::{HOSTILE, assert_sound};
use crate::fixture;

fn page(stages: &Stages, layers: &Layers) -> String {
    crate::attribution(Some(stages), Some(layers)).html()
}

#[test]
fn the_pages_of_the_fixture_are_sound() {
    for (stages, layers) in
        [(fixture::stages(), fixture::layers()), (fixture::stages_of_process(), fixture::layers_of_process())]
    {
        assert_sound(&page(&stages, &layers));
        assert_sound(&crate::attribution(Some(&stages), None).html());
        assert_sound(&crate::attribution(None, Some(&layers)).html());
        assert_sound(&crate::attribution(None, None).html());
    }
    assert_sound(&crate::attribution(None, None).html());
}

#[test]
fn nothing_zero_and_huge_are_drawn_as_far_as_they_go() {
    let mut stages = fixture::stages_of_process();
    let mut layers = fixture::layers();
    stages.ways.clear();
    assert_sound(&page(&stages, &layers));
    let hollow = WayStages {
        way: Way::Device,
        whole: Bins::default(),
        stages: vec![(Stage::Device, Bins::default())],
    };
    stages.ways.push(hollow);
    stages.devices.iter_mut().for_each(|device| device.whole = Bins::default());
    layers.rows.iter_mut().for_each(|row| row.time = Nanos(0));
    (layers.samples, layers.tsc_hz, layers.ios, layers.elapsed) = (0, 0, Some(0), Nanos(0));
    assert_sound(&page(&stages, &layers));
    stages.devices.clear();
    stages.ladder = Ladder::default();
    (layers.rows, layers.functions, layers.stacks) = (Vec::new(), Vec::new(), Vec::new());
    assert_sound(&page(&stages, &layers));
    let mut huge = fixture::stages();
    for (_, bins) in &mut huge.ways[0].stages {
        (bins.sum_ns, bins.max_ns) = (u64::MAX / 16, u64::MAX);
    }
    huge.ways[0].whole.sum_ns = u64::MAX;
    huge.application_mean_ns = Some(1e-300);
    assert_sound(&page(&huge, &fixture::layers()));
}

#[test]
fn hostile_text_stays_text() {
    let hostile = || HOSTILE.to_owned();
    let mut stages = fixture::stages_of_process();
    (stages.subject, stages.tracing.how) = (hostile(), hostile());
    stages.notes.push(hostile());
    stages.devices[0].name = hostile();
    stages.devices[1].above = Some(hostile());
    for state in &mut stages.ladder.rungs {
        (state.reason, state.remedy) = (hostile(), Some(hostile()));
    }
    stages.ladder.facts.push((hostile(), hostile()));
    let mut layers = fixture::layers();
    (layers.subject, layers.ios_meaning, layers.event) = (hostile(), hostile(), hostile());
    (layers.clocks.how, layers.quality.symbols) = (hostile(), hostile());
    layers.clocks.kernel_thread_names[0].0 = hostile();
    layers.clocks.beside.kernel_thread_names[0].0 = hostile();
    (layers.rows[0].layer, layers.rows[0].meaning) = (hostile(), hostile());
    layers.rows[1].kinds[0].0 = hostile();
    let function = &mut layers.functions[0];
    (function.name, function.layer, function.kind) = (hostile(), hostile(), hostile());
    layers.stacks.push(StackRow { frames: vec![hostile()], layers: vec![hostile()], samples: 900 });
    layers.ladder = stages.ladder.clone();
    let mut check = fixture::check();
    let outcome = &mut check.steps[0].points[0].outcome;
    (outcome.stages, outcome.layers) = (Some(stages.clone()), Some(layers.clone()));
    let cost = &mut check.path_costs[0];
    (cost.name, cost.how, cost.unit) = (hostile(), hostile(), hostile());
    (cost.note, cost.published_where) = (Some(hostile()), Some(hostile()));
    let alone = crate::attribution(Some(&stages), Some(&layers)).html();
    for page in [alone, crate::check(&check).html()] {
        assert_sound(&page);
        assert!(!page.contains("<img") && !page.contains("alert(1)</script>"));
        assert_eq!(page.matches("<script").count(), 2, "the data and our own");
    }
}

/// Widths of the rectangles directly in the first drawing of a class, in percent.
fn widths(page: &str, class: &str) -> Vec<f64> {
    let start = page.find(&format!("<svg class=\"{class}\"")).expect("the page has the drawing");
    let end = start + page[start..].find("</svg></svg>").expect("the drawing ends");
    let inner = page[start..end].split("<svg ").skip(2);
    inner
        .map(|tag| tag.split("width=\"").nth(1).and_then(|rest| rest.split('%').next()).expect("a width"))
        .map(|width| width.parse().expect("a number"))
        .collect()
}

#[test]
fn the_line_of_stages_is_filled_from_start_to_end() {
    let page = page(&fixture::stages(), &fixture::layers());
    let widths = widths(&page, "timeline");
    assert_eq!(widths.len(), 9, "{widths:?}");
    let sum: f64 = widths.iter().sum();
    assert!((sum - 100.0).abs() < 0.05, "{sum}");
}

#[test]
fn the_page_says_shares_published_shares_and_the_rung() {
    let page = page(&fixture::stages_of_process(), &fixture::layers_of_process());
    for fact in [
        "The platform took 18 % of the latency",
        "26 % in the paper",
        "20 of 180 us = 11 %",
        "3 EVENTS LOST",
        "cache, waited",
        "NOT EXACT (samples times their period)",
        "rung 2 of 4 (all samples); rung 3 (tracing",
        "<code>sudo setcap",
        "<title>nvme_queue_rq (driver): ",
        "clocks a second",
    ] {
        assert!(page.contains(fact), "{fact:?} is missing");
    }
}

#[test]
fn a_device_lies_within_the_one_above_it() {
    let page = page(&fixture::stages_of_process(), &fixture::layers());
    assert!(page.contains("<th>loop0") && page.contains("<th>&#8195;vda"), "vda is moved in");
    let mut circle = fixture::stages_of_process();
    circle.devices[0].above = Some("vda".to_owned());
    assert_sound(&crate::attribution(Some(&circle), None).html());
}

#[test]
fn a_profile_of_two_thousand_stacks_stays_below_a_megabyte_and_a_half() {
    let mut layers = fixture::layers();
    layers.stacks = (0..2_000u64)
        .map(|index| StackRow {
            frames: (0..40)
                .map(|depth| format!("a_function_of_the_kernel_{}_{}", depth, index >> (depth / 4)))
                .collect(),
            layers: vec!["block".to_owned(); 40],
            samples: 3 + index % 7,
        })
        .collect();
    let page = page(&fixture::stages(), &layers);
    assert_sound(&page);
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
}

#[test]
fn a_check_and_a_run_have_the_sections_where_they_were_looked_into() {
    let check = crate::check(&fixture::check()).html();
    for anchor in ["id=\"stages\"", "id=\"layers\"", "id=\"path-costs\"", "href=\"#stages\""] {
        assert!(check.contains(anchor), "{anchor}");
    }
    assert!(check.contains("5,250") && check.contains("clocks/byte"), "published figures stand beside");
    let mut without = fixture::check();
    without.path_costs.clear();
    for point in without.steps.iter_mut().flat_map(|step| &mut step.points) {
        (point.outcome.stages, point.outcome.layers) = (None, None);
    }
    let without = crate::check(&without).html();
    assert!(!without.contains("id=\"stages\"") && !without.contains("id=\"path-costs\""));
    assert!(crate::run(&fixture::outcome_file()).html().contains("Where the clocks went"));
}

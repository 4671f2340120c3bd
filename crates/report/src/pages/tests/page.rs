//! What every drawing of a page must tell, and what its data must hold.

use super::sound::data_of;
use crate::fixture;

fn pages() -> [String; 2] {
    [crate::check(&fixture::check()).html(), crate::run(&fixture::outcome_file()).html()]
}

#[test]
fn every_axis_has_a_label_with_its_unit() {
    for page in pages() {
        let data = data_of(&page);
        let plots = data["plots"].as_object().expect("plots by id");
        assert!(plots.len() >= 6, "{}", plots.len());
        for (id, plot) in plots {
            assert!(page.contains(&format!("data-plot=\"{id}\"")), "{id} has no figure");
            for axis in ["x", "y"] {
                let label = plot[axis]["label"].as_str().expect("a label");
                let counted = ["queue depth", "threads"].contains(&label);
                assert!(counted || label.contains('('), "{id} {axis}: {label:?} has no unit");
                let drawn = ["name", "name end"].map(|class| format!("class=\"{class}\">{label}"));
                assert!(drawn.iter().any(|drawn| page.contains(drawn)), "{id} {axis}");
            }
        }
    }
}

#[test]
fn every_figure_carries_count_interval_clock_and_machine() {
    let [page, _] = pages();
    let captions: Vec<&str> = page
        .split("<figcaption>")
        .skip(1)
        .map(|rest| rest.split("</figcaption>").next().unwrap_or_default())
        .collect();
    assert!(captions.len() > 10, "{}", captions.len());
    for caption in captions {
        for part in ["I/Os", "clock tsc", "Fixture CPU F-8000 @ 3.00GHz"] {
            assert!(caption.contains(part), "{part:?} is missing in {caption:?}");
        }
    }
}

#[test]
fn the_embedded_histograms_are_the_measured_ones() {
    let check = fixture::check();
    let data = data_of(&crate::check(&check).html());
    let outcomes = check.steps.iter().flat_map(|step| &step.points).map(|point| &point.outcome);
    let ours: Vec<Vec<(u32, u64)>> =
        outcomes.map(|outcome| outcome.read.latency.counts.clone()).filter(|bins| !bins.is_empty()).collect();
    let decoded = |bins: &Vec<serde_json::Value>| {
        let mut index = 0;
        bins.chunks(2)
            .map(|pair| {
                index += pair[0].as_u64().expect("a step") as u32;
                (index, pair[1].as_u64().expect("a count"))
            })
            .collect::<Vec<_>>()
    };
    let raw = data["raw"].as_array().expect("a list of outcomes");
    let bins = raw.iter().filter_map(|outcome| outcome["read"]["bins"].as_array());
    assert_eq!(ours, bins.map(decoded).collect::<Vec<_>>());
}

#[test]
fn the_line_of_stages_is_filled_from_start_to_end() {
    let page = crate::attribution(Some(&fixture::answer("stages")), None).html();
    let drawn =
        page.split("<svg class=\"timeline\"").nth(1).and_then(|rest| rest.split("</svg></svg>").next());
    let rectangles = drawn.expect("the page has the drawing").split("<svg ").skip(1);
    let width = |tag: &str| tag.split("width=\"").nth(1)?.split('%').next()?.parse::<f64>().ok();
    let widths: Vec<f64> = rectangles.map(|tag| width(tag).expect("a width")).collect();
    assert_eq!(widths.len(), 9, "{widths:?}");
    assert!((widths.iter().sum::<f64>() - 100.0).abs() < 0.05, "{widths:?}");
}

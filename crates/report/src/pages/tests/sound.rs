//! What must hold for every page, whatever was measured.

use iostack_model::answers::{Check, Step, StepKind};
use iostack_model::{Bins, Caveat, Interval, Nanos, Outcome};

use crate::fixture;

fn told(check: &Check) -> String {
    crate::check(check).html()
}

fn outcomes(file: &iostack_model::OutcomeFile) -> String {
    crate::run(file).html()
}

/// Text that would break out of text, of an attribute, of the data block.
pub(crate) const HOSTILE: &str =
    "</script><script>alert(1)</script><img src=x onerror='a\"b'>&amp;\u{202e}\u{0}";

/// Elements that have no end tag in HTML; the pages write them with a slash.
const VOID: [&str; 2] = ["meta", "br"];

/// Complains about tags that do not match and attributes without quotes. Scripts and styles are left out.
fn assert_well_formed(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page.strip_prefix("<!doctype html>").expect("a page begins with its doctype");
    while let Some(start) = rest.find('<') {
        assert!(
            !rest[..start].contains('>'),
            "a stray > before {:?}",
            &rest[start..].chars().take(80).collect::<String>()
        );
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "</{name}> closes another element; {:?}", rest.get(..80));
            continue;
        }
        let name = tag.split([' ', '/']).next().expect("split yields one");
        assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == 'P'), "<{tag}>");
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes in <{tag}>");
        assert!(!tag.contains('\''), "only a policy has single quotes: <{tag}>");
        if tag.ends_with('/') {
            continue;
        }
        assert!(!VOID.contains(&name), "<{tag}> needs its slash");
        if matches!(name, "script" | "style") {
            rest = &rest[rest.find(&format!("</{name}>")).expect("a script ends")..];
        }
        open.push(name);
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

/// The policy alone holds single quotes.
fn without_policy(page: &str) -> String {
    let start = page.find("<meta http-equiv").expect("a page has a policy");
    let end = start + page[start..].find("/>").expect("a tag ends") + 2;
    format!("{}{}", &page[..start], &page[end..])
}

pub(crate) fn assert_sound(page: &str) {
    assert_well_formed(&without_policy(page));
    // In the data block and in the script the same characters mean nothing.
    let outside = without_scripts(page).replace("http://www.w3.org/2000/svg", "");
    for forbidden in ["http:", "https:", "@import"] {
        assert!(!outside.contains(forbidden), "{forbidden:?}");
    }
    for tag in outside.split('<').filter_map(|rest| rest.split('>').next()) {
        let names: String = tag.split('"').step_by(2).collect();
        for forbidden in [" src=", " style=", " on"] {
            assert!(!names.contains(forbidden), "{forbidden:?} in <{tag}>");
        }
        let drawn = ["path ", "rect ", "line ", "circle ", "text "].iter().any(|name| tag.starts_with(name));
        assert!(!drawn || !(tag.contains("NaN") || tag.contains("inf")), "<{tag}>");
    }
    data_of(page);
}

fn without_scripts(page: &str) -> String {
    let mut kept = String::new();
    for (index, part) in page.split("<script").enumerate() {
        kept.push_str(if index == 0 { part } else { part.split("</script>").nth(1).unwrap_or_default() });
    }
    kept
}

/// The data block, parsed.
fn data_of(page: &str) -> serde_json::Value {
    let start = page.find("id=\"data\">").expect("a page has its data") + "id=\"data\">".len();
    let end = start + page[start..].find("</script>").expect("the data block ends");
    serde_json::from_str(&page[start..end]).expect("the data block is JSON")
}

fn point_free(check: &mut Check) {
    for step in &mut check.steps {
        step.points.clear();
        step.note = Some("no permission".to_owned());
    }
}

/// Nothing was counted: every figure that divides by it is at risk.
fn nothing(outcome: &mut Outcome) {
    for flow in [&mut outcome.read, &mut outcome.write, &mut outcome.trim] {
        flow.latency = Bins::default();
        flow.bytes.0 = 0;
    }
    outcome.iops = Interval::default();
    outcome.elapsed = Nanos(0);
    outcome.sync = Bins::default();
    for element in &mut outcome.series {
        *element = iostack_model::IntervalFlow::default();
    }
}

fn each_outcome(check: &mut Check, change: impl Fn(&mut Outcome)) {
    check.steps.iter_mut().flat_map(|step| &mut step.points).for_each(|point| change(&mut point.outcome));
}

#[test]
fn every_page_of_the_fixture_is_sound() {
    for check in [fixture::check(), fixture::check_quick(), fixture::check_interrupted()] {
        assert_sound(&told(&check));
    }
    assert_sound(&outcomes(&fixture::outcome_file()));
}

#[test]
fn a_full_check_stays_below_500_kilobytes() {
    let length = told(&fixture::check()).len();
    assert!(length < 500_000, "{length} bytes");
}

#[test]
fn hostile_text_stays_text_wherever_it_comes_from() {
    let mut check = fixture::check();
    let hostile = HOSTILE.to_owned();
    check.target.path = HOSTILE.into();
    check.iostack.clone_from(&hostile);
    check.machine.cpu.model.clone_from(&hostile);
    check.machine.kernel.mitigations.push((hostile.clone(), hostile.clone()));
    check.storage.devices[0].name.clone_from(&hostile);
    check.storage.devices[0].model = Some(hostile.clone());
    check.verdict.answer.clone_from(&hostile);
    check.verdict.evidence.push(hostile.clone());
    check.verdict.advice[0].command = Some(hostile.clone());
    check.caveats.push(Caveat::IoLimit { line: hostile.clone() });
    check.summary.cells[0].name = hostile.clone().into();
    for step in &mut check.steps {
        step.title.clone_from(&hostile);
        step.note = Some(hostile.clone());
        step.axis.label = hostile.clone().into();
        for point in &mut step.points {
            point.series = hostile.clone().into();
            point.label.clone_from(&hostile);
        }
    }
    let page = told(&check);
    assert_sound(&page);
    assert!(!page.contains("<img") && !page.contains("alert(1)</script>"));
    assert_eq!(page.matches("<script").count(), 2, "the data and our own");
    let mut file = fixture::outcome_file();
    file.outcomes[0].job.name.clone_from(&hostile);
    file.outcomes[0].target.path = HOSTILE.into();
    let page = outcomes(&file);
    assert!(!page.contains("<img") && page.matches("<script").count() == 2);
}

#[test]
fn a_check_without_any_measurement_says_why() {
    let mut check = fixture::check();
    point_free(&mut check);
    check.summary = iostack_model::answers::Summary::default();
    check.storage.devices.clear();
    let page = told(&check);
    assert_sound(&page);
    assert_eq!(page.matches("Skipped: no permission").count(), check.steps.len());
    assert!(!page.contains("class=\"line\" d=\"M"), "nothing to draw");
    check.steps.clear();
    assert_sound(&told(&check));
}

#[test]
fn outcomes_without_ios_are_not_drawn_as_zero_latency() {
    let mut check = fixture::check();
    each_outcome(&mut check, nothing);
    assert_sound(&told(&check));
    let mut file = fixture::outcome_file();
    file.outcomes.iter_mut().for_each(nothing);
    assert_sound(&outcomes(&file));
    file.outcomes.clear();
    assert_sound(&outcomes(&file));
}

#[test]
fn one_point_and_broken_numbers_are_drawn_as_far_as_they_go() {
    let mut check = fixture::check();
    for step in &mut check.steps {
        step.points.truncate(1);
    }
    assert_sound(&told(&check));
    for broken in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0] {
        let mut check = fixture::check();
        each_outcome(&mut check, |outcome| {
            outcome.iops = Interval { mean: broken, low: broken, high: broken, samples: 5 };
            outcome.depth_achieved = broken;
            outcome.cpu.clocks_per_io = broken;
        });
        check.steps.iter_mut().flat_map(|step| &mut step.points).for_each(|point| point.x = broken);
        check.summary.cells[0].iops.mean = broken;
        check.verdict.advice[0].gain_percent = Some(broken);
        check.summary.costs.iter_mut().for_each(|cost| cost.cpu_ns_per_io = broken);
        assert_sound(&told(&check));
    }
}

#[test]
fn an_unknown_step_is_drawn_by_its_axis() {
    let mut check = fixture::check();
    let depth = check.step(StepKind::Depth).expect("the fixture has the step").clone();
    let bars = iostack_model::answers::Axis { categories: true, ..depth.axis.clone() };
    for (axis, has_bars) in [(depth.axis.clone(), false), (bars, true)] {
        check.steps = vec![Step { id: StepKind::Other, axis, ..depth.clone() }];
        // As a file of a later version says it.
        let stored =
            serde_json::to_string(&check).expect("plain data").replace("\"other\"", "\"later_step\"");
        let page = told(&serde_json::from_str(&stored).expect("a step that is not known is no error"));
        assert_sound(&page);
        assert!(page.contains("id=\"step-other\""));
        assert_eq!(page.contains("figure class=\"bars\""), has_bars);
    }
}

#[test]
fn every_axis_has_a_label_with_its_unit() {
    for page in [told(&fixture::check()), outcomes(&fixture::outcome_file())] {
        let data = data_of(&page);
        let plots = data["plots"].as_object().expect("plots by id");
        assert!(plots.len() >= 6, "{}", plots.len());
        for (id, plot) in plots {
            assert!(page.contains(&format!("data-plot=\"{id}\"")), "{id} has no figure");
            for axis in ["x", "y"] {
                let label = plot[axis]["label"].as_str().expect("a label");
                let counted = ["queue depth", "threads"].contains(&label);
                assert!(counted || label.contains('('), "{id} {axis}: {label:?} has no unit");
                assert!(
                    page.contains(&format!("class=\"name\">{label}"))
                        || page.contains(&format!("class=\"name end\">{label}")),
                    "{id} {axis}"
                );
            }
        }
    }
}

#[test]
fn each_run_that_took_some_time_has_a_heat_map_with_its_numbers() {
    let mut file = fixture::outcome_file();
    file.outcomes.truncate(1);
    let said = |file: &iostack_model::OutcomeFile| {
        let told = crate::run(file);
        [told.html(), told.text(), told.markdown()]
    };
    let map = ["data-heat=\"heat-1\"", "up is slow, dark is many", "up is slow, dark is many"];
    for (told, map) in said(&file).iter().zip(map) {
        assert_eq!(told.matches(map).count(), 1, "{map} in\n{told}");
    }
    let [page, ..] = said(&file);
    let all = format!(
        "<td class=\"number\">{}</td></tr></tbody>",
        crate::text::format::count(file.outcomes[0].ios())
    );
    assert!(page.contains("Latency over time in numbers") && page.contains(&all), "{all}");
    let caption = page.split("data-heat").nth(1).and_then(|rest| rest.split("<figcaption>").nth(1));
    let caption = caption.and_then(|rest| rest.split("</figcaption>").next()).expect("it has a caption");
    for part in [" I/Os in ", "exact counts", "clock tsc", "Fixture CPU"] {
        assert!(caption.contains(part), "{part} is not in {caption}");
    }
    // As an older version wrote it.
    file.outcomes[0].heat = iostack_model::Heat::default();
    assert!(said(&file).iter().zip(map).all(|(told, map)| !told.contains(map)));
}

#[test]
fn a_check_has_a_heat_map_of_each_load_that_it_kept_up() {
    let check = fixture::check();
    let points = &check.step(StepKind::Sustained).expect("the fixture has the step").points;
    let page = told(&check);
    assert_eq!(page.matches("data-heat=").count(), points.len());
    assert!(page.contains("latency over time: how many I/Os took how long") && !points.is_empty());
}

#[test]
fn every_figure_carries_count_interval_clock_and_machine() {
    let check = fixture::check();
    let page = told(&check);
    let captions: Vec<&str> = page
        .split("<figcaption>")
        .skip(1)
        .map(|rest| rest.split("</figcaption>").next().unwrap_or_default())
        .collect();
    assert!(captions.len() > 10, "{}", captions.len());
    for caption in captions {
        for part in ["I/Os", "clock tsc", check.machine.cpu.model.as_str()] {
            assert!(caption.contains(part), "{part:?} is missing in {caption:?}");
        }
    }
}

#[test]
fn every_link_within_the_page_arrives() {
    for page in [told(&fixture::check()), outcomes(&fixture::outcome_file())] {
        for rest in page.split("href=\"#").skip(1) {
            let anchor = rest.split('"').next().unwrap_or_default();
            assert!(
                anchor.is_empty() || page.contains(&format!("id=\"{anchor}\"")),
                "#{anchor} leads nowhere"
            );
        }
    }
}

#[test]
fn the_embedded_histograms_are_the_measured_ones() {
    let check = fixture::check();
    let data = data_of(&told(&check));
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
    let embedded: Vec<Vec<(u32, u64)>> = data["raw"]
        .as_array()
        .expect("a list of outcomes")
        .iter()
        .filter_map(|outcome| outcome["read"]["bins"].as_array())
        .map(decoded)
        .collect();
    assert_eq!(ours, embedded);
}

#[test]
fn bandwidth_over_time_is_drawn_where_it_is_not_the_rate_again() {
    let mut file = fixture::outcome_file();
    assert!(!outcomes(&file).contains("Bandwidth over time"));
    file.outcomes[0].job.block_sizes.read.push((iostack_model::Bytes::kib(64), 50));
    let page = outcomes(&file);
    assert_sound(&page);
    assert_eq!(page.matches("<h4>Bandwidth over time</h4>").count(), 1);
}

//! Every stored answer in every form: as `tests/data/drawn` says, and sound whatever is missing in it.
//!
//! `IOSTACK_PAGES=overwrite cargo test --package iostack-report stored` writes what is drawn of them anew.

use std::collections::BTreeSet;

use iostack_model::answers::{
    Answer, Calibration, Check, CostDiff, DevicePicture, History, IoCost, Iolat, Labelled, MergeReport,
    Probe, Repro, Served, Sweep, Watch, WhatIf, WhatIfList, Why,
};
use iostack_model::{Direction, Ladder, Layers, OutcomeFile, Stages};
use iostack_stats::AbReport;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::sound::{HOSTILE, assert_all, assert_fits, assert_sound};
use crate::text::{ascii, live_stages};
use crate::{CostDetail, Document, Told, fixture};

/// Reader and schema of one kind of answer.
struct AnswerKind {
    name: &'static str,
    read: fn(&Value) -> serde_json::Result<Box<dyn Told>>,
    schema: fn() -> Value,
}

const KINDS: [AnswerKind; 21] = [
    kind::<OutcomeFile>(),
    kind::<Check>(),
    kind::<Calibration>(),
    kind::<Iolat>(),
    kind::<History>(),
    kind::<MergeReport>(),
    kind::<Probe>(),
    kind::<AbReport>(),
    kind::<Served>(),
    kind::<Sweep>(),
    kind::<WhatIf>(),
    kind::<WhatIfList>(),
    kind::<Repro>(),
    kind::<IoCost>(),
    kind::<CostDiff>(),
    kind::<DevicePicture>(),
    kind::<Stages>(),
    kind::<Layers>(),
    kind::<Ladder>(),
    kind::<Watch>(),
    kind::<Why>(),
];

const fn kind<A: Answer + DeserializeOwned + JsonSchema + Told + 'static>() -> AnswerKind {
    AnswerKind {
        name: A::KIND,
        read: |json| Ok(Box::new(A::deserialize(json)?)),
        schema: || {
            let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
            serde_json::to_value(generator.into_root_schema_for::<Labelled<'_, A>>()).expect("plain data")
        },
    }
}

fn kind_of(answer: &Value) -> &'static AnswerKind {
    KINDS.iter().find(|kind| answer["kind"] == kind.name).expect("a kind of answer")
}

/// Reads an answer of any kind.
pub(crate) fn told(answer: &Value) -> serde_json::Result<Box<dyn Told>> {
    (kind_of(answer).read)(answer)
}

/// All stored answers by their names.
pub(crate) fn answers() -> Vec<(String, Value)> {
    let files = std::fs::read_dir(fixture::path("")).expect("a folder of answers");
    let paths = files.map(|file| file.expect("a file").path());
    let names = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let names: BTreeSet<String> =
        names.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.into_iter().map(|name| (name.clone(), fixture::answer(&name))).collect()
}

/// A check that Ctrl-C ended after the third step.
fn interrupted() -> Check {
    let mut check = fixture::check();
    check.steps.truncate(3);
    check.interrupted = true;
    (check.summary.cells, check.summary.costs) = (Vec::new(), Vec::new());
    check.verdict = fixture::answer("parts/verdict-unknown");
    check
}

/// A quick check of a block device: reads only, steps skipped with their reason.
fn quick() -> Check {
    let mut check = fixture::check();
    check.effort = iostack_model::Effort::Quick;
    check.target = fixture::answer("parts/block-target");
    (check.storage.file_system, check.scratch) = (None, None);
    check.summary.cells.retain(|cell| cell.direction == Direction::Read);
    check.summary.depth_one.retain(|one| one.direction == Direction::Read);
    for step in &mut check.steps {
        step.points.retain(|point| !point.outcome.job.mix.destroys());
        if step.points.is_empty() {
            step.note = Some("it would write to a block device".to_owned());
        }
    }
    check
}

/// Documents of the stored answers, and of several together.
fn documents() -> Vec<(String, Document)> {
    let mut all: Vec<(String, Document)> = answers()
        .into_iter()
        .map(|(name, answer)| (name, told(&answer).expect("a stored answer").document()))
        .collect();
    let (measured, simulated) = (fixture::outcome_file(), fixture::simulated_file());
    let compare = |a, b| {
        let machines = (&simulated.machine, &measured.machine);
        iostack_stats::compare(a, b, machines, iostack_doubt::says)
    };
    let other_job = compare(&measured.outcomes[0], &measured.outcomes[1]);
    let simulated_first = compare(&simulated.outcomes[1], &measured.outcomes[0]);
    let (costs, diff) = (fixture::iocosts(), fixture::answer("costdiff"));
    let full = CostDetail { full: true, tree: true };
    let drive: DevicePicture = fixture::answer("show-drive");
    let several = [
        ("check-interrupted", crate::check(&interrupted())),
        ("check-quick", crate::check(&quick())),
        ("check-against", crate::check(&Check { against: Some(fixture::against()), ..fixture::check() })),
        ("comparison", crate::comparison(&other_job, "reads", ["before.json", "after.json"])),
        (
            "comparison-simulated",
            crate::comparison(&simulated_first, "<i>", ["sim.json", "x".repeat(60).as_str()]),
        ),
        ("iocost-survey", crate::iocost(&costs, None, CostDetail::default())),
        ("iocost-full", crate::iocost(&costs[4..], None, full)),
        ("iocost-all", crate::iocost(&costs, Some(&diff), full)),
        ("iocost-none", crate::iocost(&[], None, full)),
        ("budgets", crate::budgets(&fixture::answer::<Vec<_>>("parts/budgets"))),
        ("budgets-none", crate::budgets(&[])),
        ("claims", crate::claims(&drive.card)),
        ("attribution-none", crate::attribution(None, None)),
        ("attribution", crate::attribution(Some(&fixture::stages_of_process()), Some(&fixture::layers()))),
    ];
    all.extend(several.map(|(name, document)| (name.to_owned(), document)));
    all
}

/// A page without its style, script and data, and with the words alone of what is drawn.
fn body(page: &str) -> String {
    let start = page.find("<header>").expect("a page has a head");
    let end = page.find("<script").expect("a page has its data");
    let mut parts = page[start..end].split("<svg");
    let mut said = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (drawn, rest) = part.split_at(part.find("</svg>").unwrap_or(0));
        said += "<svg>";
        said.extend(
            drawn
                .split('>')
                .filter_map(|piece| piece.split('<').next())
                .filter(|words| !words.trim().is_empty()),
        );
        said += rest;
    }
    said.replace("><", ">\n<")
}

/// Screen, page and Markdown of a document, each with the name of its file.
pub(crate) fn drawn(name: &str, document: &Document) -> [(String, String); 3] {
    let (screen, page) = (document.text(), document.html());
    assert_fits(&screen);
    assert_eq!(ascii(&screen).matches('?').count(), screen.matches('?').count(), "{}", ascii(&screen));
    assert_sound(&page);
    assert!(!page.contains(">NaN") && !page.contains(">inf"), "{page}");
    [("txt", screen), ("html", body(&page)), ("md", document.markdown())]
        .map(|(form, text)| (format!("{name}.{form}"), text))
}

/// Compares texts with the files of `tests/data/drawn`; with `IOSTACK_PAGES=overwrite`, writes these.
pub(crate) fn assert_stored(texts: impl IntoIterator<Item = (String, String)>) {
    let overwrite = std::env::var_os("IOSTACK_PAGES").is_some_and(|what| what == "overwrite");
    let mut differ = Vec::new();
    for (name, text) in texts {
        let path = fixture::path(&format!("drawn/{name}"));
        if overwrite {
            std::fs::write(&path, &text).expect("written");
        }
        let stored = std::fs::read_to_string(path).unwrap_or_default();
        if stored != text {
            let line = stored.lines().zip(text.lines()).find(|(stored, drawn)| stored != drawn);
            differ.push(format!("{name}: {line:#?}"));
        }
    }
    let count = differ.len();
    assert!(differ.is_empty(), "{count} differ; IOSTACK_PAGES=overwrite takes them\n{}", differ.join("\n"));
}

#[test]
fn stored_answers_are_drawn_as_their_stored_texts_say() {
    // Of several answers together the page has no more than the Markdown.
    let alone = |(name, _): &(String, String)| {
        let name = name.strip_suffix(".html");
        name.is_none_or(|name| fixture::path(&format!("{name}.json")).exists())
    };
    let documents = documents();
    let drawings = documents.iter().flat_map(|(name, document)| drawn(name, document)).filter(alone);
    let tables = answers().into_iter().filter_map(|(name, answer)| {
        let table = told(&answer).expect("a stored answer").table()?;
        Some((format!("{name}.csv"), crate::table::csv(&table)))
    });
    let manuals = ["repro", "repro-lab", "repro-digest"]
        .map(|name| (format!("manual-{name}.md"), crate::manual(&fixture::answer(name)).markdown()));
    let live = ["stages", "stages-process"]
        .map(|name| (format!("live-{name}.txt"), live_stages(&fixture::answer(name))));
    let what_ifs = crate::what_ifs_markdown(&["what-if", "what-if-chain"].map(fixture::answer));
    let others = manuals.into_iter().chain(live).chain([("what-ifs.md".to_owned(), what_ifs)]);
    assert_stored(drawings.chain(tables).chain(others));
}

#[test]
fn stored_answers_hold_with_their_schemas_and_survive_json() {
    for (name, answer) in answers() {
        let read = told(&answer).expect("a stored answer");
        let json: Value = serde_json::from_str(&read.json().expect("plain data")).expect("what it wrote");
        let schema = (kind_of(&answer).schema)();
        assert_eq!(iostack_testkit::schema::faults(&schema, &json), Vec::<String>::new(), "{name}");
        assert_eq!(told(&json).expect("what it wrote").document().text(), read.document().text(), "{name}");
    }
}

/// Calls `act` with each value below `value` and its path, in which every element of a list is `*`.
fn each(value: &mut Value, path: &str, act: &mut impl FnMut(&str, &mut Value)) {
    act(path, value);
    match value {
        Value::Array(all) => all.iter_mut().for_each(|one| each(one, &format!("{path}/*"), act)),
        Value::Object(all) => {
            all.iter_mut().for_each(|(key, one)| each(one, &format!("{path}/{key}"), act));
        }
        _ => {}
    }
}

/// One stored answer of each kind and form, with few points.
fn short_answers() -> impl Iterator<Item = (String, Value)> {
    let names = [
        "ab",
        "calibrate",
        "check",
        "costdiff",
        "history",
        "iocost-ahci",
        "iolat-slower",
        "ladder",
        "layers-process",
        "merge",
        "probe",
        "repro",
        "run",
        "served",
        "show-drive",
        "show-platform",
        "simulated",
        "stages-process",
        "sweep",
        "watch",
        "what-if-chain",
        "why",
    ];
    let short = |name: &str| {
        let mut answer: Value = fixture::answer(name);
        each(&mut answer, "", &mut |path, value| match value {
            // Bins are as many as their sum says, and steps of a history name their runs.
            Value::Array(all) if all.len() > 12 && !path.ends_with("/counts") && !path.ends_with("/runs") => {
                all.truncate(3);
            }
            // A heat map must count what its histograms count.
            Value::Object(fields) => drop(fields.remove("heat")),
            _ => {}
        });
        (name.to_owned(), answer)
    };
    names.into_iter().map(short)
}

/// Paths in an answer to values of one sort, without those that its reader needs.
fn paths(answer: &Value, is_wanted: fn(&Value) -> bool) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    each(&mut answer.clone(), "", &mut |path, value| {
        // Whoever cuts the runs or settings off in a file breaks the numbers that name them.
        let needed = ["", "/kind", "/series/*/runs", "/points/*/settings"].contains(&path);
        if is_wanted(value) && !needed {
            paths.insert(path.to_owned());
        }
    });
    paths
}

/// The answer in which `act` has changed what stands at a path; none where that is no answer.
fn changed(answer: &Value, path: &str, act: impl Fn(&mut Value)) -> Option<Value> {
    let mut made = answer.clone();
    each(&mut made, "", &mut |found, value| {
        if found == path {
            act(value);
        }
    });
    told(&made).is_ok().then_some(made)
}

/// The answer in which `act` has changed every value of one sort that may be changed.
fn changed_all(answer: &Value, is_wanted: fn(&Value) -> bool, act: impl Fn(&mut Value)) -> Value {
    let one = |made: Value, path: &String| changed(&made, path, &act).unwrap_or(made);
    paths(answer, is_wanted).iter().fold(answer.clone(), one)
}

#[test]
fn stored_answers_with_hostile_text_in_every_field_reach_no_terminal_and_no_markup() {
    assert_all(short_answers(), |answer| {
        let answer = changed_all(&answer, Value::is_string, |value| *value = HOSTILE.into());
        let document = told(&answer).expect("it was read before").document();
        let (screen, page) = (document.text(), document.html());
        assert!(screen.chars().all(|c| c == '\n' || !c.is_control()), "{screen}");
        assert_sound(&page);
        assert!(!page.contains("<img") && !page.contains("alert(1)</script>"), "{page}");
        assert_eq!(page.matches("<script").count(), 2, "the data and our own");
    });
}

/// Refuses an answer whose screen does not fit or whose page is not sound.
fn assert_drawn(answer: &Value) {
    let document = told(answer).expect("it was read before").document();
    assert_fits(&document.text());
    assert_sound(&document.html());
}

#[test]
fn stored_answers_without_any_one_list_or_figure_are_drawn_as_far_as_they_go() {
    assert_all(short_answers(), |answer| {
        for path in paths(&answer, Value::is_array) {
            changed(&answer, &path, |value| *value = Value::Array(Vec::new())).iter().for_each(assert_drawn);
        }
        assert_drawn(&changed_all(&answer, |value| !value.is_null(), |value| *value = Value::Null));
    });
}

#[test]
fn stored_answers_of_far_larger_numbers_are_drawn() {
    // Calls of calls multiply, steps of a history name their runs, and a busy share is at most one.
    let fixed = ["costdiff", "iocost-ahci", "history", "show-platform"];
    let scaled = |(name, _): &(String, Value)| !fixed.contains(&name.as_str());
    assert_all(short_answers().filter(scaled), |answer| {
        for factor in [100, 10_000] {
            let scale = |value: &mut Value| match (value.as_u64(), value.as_f64()) {
                (Some(whole), _) => *value = whole.saturating_mul(factor).into(),
                (None, Some(number)) => *value = (number * factor as f64).into(),
                (None, None) => {}
            };
            assert_drawn(&changed_all(&answer, Value::is_number, scale));
        }
    });
}

//! What a CI server would read: held to readers of their own, which know the formats and not the writer.

use super::*;
use crate::cmd::lab::trial::TrialName;
use iostack_lab::guest::Findings;

fn tried(device: &str, trial: TrialName, wrong: &[&str], not_tried: Option<&str>) -> Tried {
    let wrong = wrong.iter().map(|&text| text.to_owned()).collect();
    let findings = Findings { wrong, not_tried: not_tried.map(str::to_owned), ..Findings::default() };
    let (device, kernel, clean) = (device.to_owned(), "6.1.0-56-amd64".to_owned(), findings.is_clean());
    Tried { device, kernel, processors: 1, seed: 1, trial, clean, findings }
}

/// Words that each format has a meaning of its own for.
const NASTY: &str = "a <b> & \"c\" # SKIP \\ d\u{1b}[1m\n  ...\nlast: 'e' ]]>";

fn three() -> [Tried; 3] {
    [
        tried("brd", TrialName::Integrity, &[], None),
        tried("brd#1", TrialName::Faults, &[NASTY, "second"], None),
        tried("brd#1", TrialName::Reload, &[], Some(NASTY)),
    ]
}

/// Status and directive of each line of a TAP file, and the strings of its YAML blocks.
fn read_tap(text: &str) -> (Vec<(bool, bool)>, Vec<String>) {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("TAP version 13"));
    let plan = lines.next().and_then(|line| line.strip_prefix("1..")).expect("a plan");
    let (mut verdicts, mut strings) = (Vec::new(), Vec::new());
    while let Some(line) = lines.next() {
        if line == "  ---" {
            for inside in lines.by_ref().take_while(|line| *line != "  ...") {
                strings.extend(
                    inside
                        .strip_prefix("    - ")
                        .map(|text| serde_json::from_str::<String>(text).expect("a string in quotes")),
                );
            }
            continue;
        }
        let (is_ok, rest) = match line.strip_prefix("not ok ") {
            Some(rest) => (false, rest),
            None => (true, line.strip_prefix("ok ").expect("a test line")),
        };
        let (number, title) = rest.split_once(" - ").expect("a description");
        assert_eq!(number.parse(), Ok(verdicts.len() + 1), "{line}");
        let unescaped = title.replace("\\\\", "").replace("\\#", "");
        let directive = unescaped.split_once('#').map(|(_, words)| words.trim_start());
        verdicts.push((is_ok, directive.is_some_and(|words| words.starts_with("SKIP"))));
    }
    assert_eq!(plan.parse(), Ok(verdicts.len()), "the plan");
    (verdicts, strings)
}

/// Name, attributes, and the text behind it.
type Tag = (String, Vec<(String, String)>, String);

/// Tags of an XML file in their order, `/` before one that ends, each with its text behind it; entities are resolved.
fn read_xml(text: &str) -> Vec<Tag> {
    let plain = |text: &str| {
        assert!(!text.contains('<') && text.split('&').skip(1).all(|rest| rest.contains(';')), "{text}");
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
        text.replace("&amp;", "&")
    };
    let (mut tags, mut open) = (Vec::new(), Vec::new());
    let body = text.split_once("?>").expect("a declaration").1;
    for part in body.split('<').skip(1) {
        let (tag, behind) = part.split_once('>').expect("a tag ends");
        let (name, mut rest) = tag.trim_end_matches('/').split_once(' ').unwrap_or((tag, ""));
        match name.strip_prefix('/') {
            Some(ended) => assert_eq!(open.pop().as_deref(), Some(ended)),
            None if tag.ends_with('/') => {}
            None => open.push(name.to_owned()),
        }
        let mut attributes = Vec::new();
        while let Some((key, value)) = rest.split_once("=\"") {
            let (value, next) = value.split_once('"').expect("a value ends");
            attributes.push((key.trim().to_owned(), plain(value)));
            rest = next;
        }
        tags.push((name.to_owned(), attributes, plain(behind)));
    }
    assert!(open.is_empty(), "left open: {open:?}");
    tags
}

#[test]
fn a_tap_reader_gets_each_verdict_and_what_is_wrong() {
    let (tests, strings) = read_tap(&tap(&three()));
    assert_eq!(tests, [(true, false), (false, false), (true, true)]);
    assert_eq!(strings, [NASTY, "second"]);
}

#[test]
fn an_xml_reader_gets_suites_cases_counts_and_what_is_wrong() {
    let text = junit(&three());
    assert!(!text.contains('\u{1b}'), "no XML has such a character");
    let tags = read_xml(&text);
    let names: Vec<&str> =
        tags.iter().map(|tag| tag.0.as_str()).filter(|name| !name.starts_with('/')).collect();
    let expected =
        ["testsuites", "testsuite", "testcase", "testsuite", "testcase", "failure", "testcase", "skipped"];
    assert_eq!(names, expected);
    let of = |tag: usize, key: &str| {
        let tag = tags.iter().filter(|tag| !tag.0.starts_with('/')).nth(tag).expect("it is there");
        let value = tag.1.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
        (value.unwrap_or_default(), tag.2.clone())
    };
    assert_eq!([of(0, "tests").0, of(0, "failures").0, of(0, "skipped").0], ["3", "1", "1"]);
    assert_eq!([of(3, "tests").0, of(3, "failures").0, of(3, "skipped").0], ["2", "1", "1"]);
    assert_eq!(of(4, "classname").0, "brd#1 on Linux 6.1.0-56-amd64, 1 processor");
    assert_eq!(of(5, "").1, format!("{NASTY}\nsecond").replace('\u{1b}', ""));
}

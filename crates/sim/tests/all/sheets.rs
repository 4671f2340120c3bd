//! Is a device's file read as its writer meant it, and is nonsense refused with its line?

use std::collections::BTreeMap;
use std::path::Path;

use iostack_model::{Bytes, Nanos};
use iostack_sim::sheet::{Expected, Figure, Sheet, SheetErrors, Source, Unit};
use iostack_workload::Rng;

use crate::load::changes;

const GOOD: &str = include_str!("../data/mine.toml");

fn parse(text: &str) -> Result<Sheet, SheetErrors> {
    Sheet::parse(text, Path::new("mine.toml"), &[])
}

#[test]
fn a_file_gives_numbers_sources_and_claims() {
    let sheet = parse(GOOD).expect("sound");
    assert_eq!((sheet.name.as_str(), sheet.title.as_str(), sheet.year), ("mine", "My drive", Some(2026)));
    assert_eq!(sheet.origin, "mine.toml");
    assert_eq!(sheet.bytes("zero.capacity"), Ok(Bytes(80_000_000_000)));
    assert_eq!(sheet.time("zero.latency"), Ok(Nanos::micros(25)));
    let entries = sheet.entries();
    assert_eq!(entries[0].source, Source::Cited("sheet: page 1".to_owned()));
    assert_eq!(entries[1].source, Source::Fitted("read".to_owned()));
    let tally = sheet.tally();
    assert_eq!((tally.sourced, tally.fitted, tally.assumed), (1, 1, 0));
    let [read, deep] = &sheet.claims[..] else { panic!("two claims") };
    assert_eq!(read.expected, Expected::About { value: 40_000.0, tolerance: 0.01 });
    assert_eq!((read.figure, read.job.queue_depth, read.job.io_count), (Figure::Iops, 1, Some(1000)));
    assert_eq!(read.set, changes(&[("zero.capacity", "1GiB")]));
    assert_eq!((deep.over.as_deref(), deep.expected), (Some("read"), Expected::AtLeast(8.0)));
}

#[test]
fn what_is_typed_goes_before_what_the_file_says() {
    let typed = changes(&[("zero.latency", "1ms")]);
    let sheet = Sheet::parse(GOOD, Path::new("mine.toml"), &typed).expect("sound");
    assert_eq!(sheet.time("zero.latency"), Ok(Nanos::millis(1)));
    assert_eq!(sheet.entries()[1].source, Source::Changed);
    assert_eq!(sheet.changed, typed);
}

#[test]
fn a_wrong_change_is_named_as_it_was_typed() {
    let typed = changes(&[("zero.latency", "25"), ("zero.latncy", "25us")]);
    let error = Sheet::load("zero", &typed).expect_err("two problems").to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines.len(), 2, "{error}");
    assert!(
        lines[0].starts_with("--set zero.latency=25: its unit is missing; write it with its unit"),
        "{error}"
    );
    assert!(lines[1].contains("a zero device has no `zero.latncy`; did you mean `zero.latency`?"), "{error}");
}

#[test]
fn an_unknown_device_is_refused_with_one_that_sounds_like_it() {
    let error = Sheet::load("zeros", &[]).expect_err("no such device").to_string();
    assert!(error.starts_with("sim:zeros: no device of this name; did you mean `zero`?"), "{error}");
    let error = Sheet::load("nowhere/mine.toml", &[]).expect_err("no such file").to_string();
    assert!(error.starts_with("nowhere/mine.toml: it cannot be read"), "{error}");
}

#[test]
fn each_fault_of_a_file_is_named_with_its_line_and_a_remedy() {
    let faults = include_str!("../data/faults.toml");
    let faults: BTreeMap<String, Vec<[String; 3]>> = toml::from_str(faults).expect("rows of three");
    for [from, to, expected] in &faults["faults"] {
        assert!(GOOD.contains(from), "{from}");
        let error = parse(&GOOD.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(error.lines().any(|line| line.starts_with(expected)), "{to}:\n{error}");
    }
}

#[test]
fn all_faults_are_said_at_once_in_the_order_of_their_lines() {
    let text = GOOD.replace("\"80GB\"", "\"80\"").replace("\"25us\"", "\"25\"").replace("\"1%\"", "\"1\"");
    let errors = parse(&text).expect_err("three faults");
    let lines: Vec<&str> = errors.problems.iter().map(|problem| problem.place.as_str()).collect();
    assert_eq!(lines, ["mine.toml:11", "mine.toml:12", "mine.toml:14", "mine.toml:20"], "{errors}");
}

#[test]
fn a_file_that_says_nothing_is_refused() {
    for text in ["", "# nothing\n", "name = \"a\"\ntitle = \"a\"\n"] {
        let error = parse(text).expect_err(text).to_string();
        assert!(error.contains("it does not say its kind; add kind"), "{error}");
    }
}

/// A platform of which one member is exchanged.
fn with_member(key: &str, name: &str) -> Result<Sheet, SheetErrors> {
    Sheet::load("x5570", &changes(&[(key, name)]))
}

#[test]
fn a_member_of_the_wrong_kind_is_refused_wherever_it_is_named() {
    let faults = [
        ("platform.os", "x25e", "flash", "name a sheet of kind os"),
        ("platform.adapter", "x5570", "platform", "name a sheet of kind adapter"),
        ("platform.drive", "x5570", "platform", "name a drive"),
        ("platform.drive", "ahci", "adapter", "name a drive"),
        ("platform.scheduler", "ext4", "fs", "name a sheet of kind scheduler"),
        ("platform.fs", "noop", "scheduler", "name a sheet of kind fs"),
    ];
    for (key, name, kind, remedy) in faults {
        let error = with_member(key, name).expect_err(name).to_string();
        assert!(error.contains(&format!("`{key} = {name}`: it is of kind {kind}; {remedy}")), "{error}");
    }
    let error = Sheet::from_values("raid0", &[("raid0.members", "2"), ("raid0.member", "x5570")])
        .expect_err("a platform");
    assert!(error.to_string().contains("it is of kind platform; name a drive"), "{error}");
    with_member("platform.drive", "raid0-p55").expect("a controller with its drives may stand there");
}

/// Each number of each shipped sheet, in turn, as absurd as its unit can be written: shown, or refused in one sentence.
#[test]
fn absurd_numbers_are_shown_or_refused_and_never_make_it_panic() {
    let mut shown = 0;
    for name in iostack_sim::sheet::catalogue::names() {
        let kind = Sheet::load(name, &[]).expect("it is shipped").kind;
        for parameter in kind.parameters {
            for text in absurd(parameter.unit) {
                match Sheet::load(name, &changes(&[(parameter.key, text)])) {
                    Ok(sheet) => shown += iostack_sim::sheet::card::card(&sheet).numbers.len(),
                    Err(errors) => assert!(!errors.problems.is_empty(), "{name} {} = {text}", parameter.key),
                }
            }
        }
    }
    assert!(shown > 1000, "{shown} numbers");
}

fn absurd(unit: Unit) -> &'static [&'static str] {
    match unit {
        Unit::Time => &["0", "0ns", "-1ns", "18446744073709551615ns", "1e300s", "inf"],
        Unit::Bytes => &["0B", "1B", "18446744073709551615B", "16777216TiB"],
        Unit::Rate => &["0B/s", "1e300MB/s", "18446744073709551615B/s"],
        Unit::Share => &["0%", "-1%", "1e300%", "nan%"],
        Unit::Count => &["0", "1", "18446744073709551615"],
        Unit::PerSecond => &["0/s", "1e300/s"],
        Unit::Number => &["0", "-1", "nan", "inf", "1e300"],
        Unit::Points => &["", "0:0", "1:1ns 2:18446744073709551615", "5:none"],
        Unit::Word(_) => &["", "none", "all"],
        Unit::Device(_) => &["", "none", "x5570", "zero", "ahci", "/dev/null"],
    }
}

/// Ten thousand damaged files: none may make the reader panic, and whatever is refused is refused with a place.
#[test]
fn damaged_files_are_refused_and_never_make_it_panic() {
    let seed = 4;
    let mut rng = Rng::from_seed(seed);
    let pieces =
        ["{", "}", "[", "]", "\"", "=", ".", "\n", "none", "inf", "-1", "99999999999999999999", "é", ","];
    let (mut refused, rounds) = (0, 10_000);
    for _ in 0..rounds {
        let mut text: Vec<char> = GOOD.chars().collect();
        for _ in 0..=rng.below(3) {
            let at = rng.below(text.len() as u64) as usize;
            let to = (at + rng.below(20) as usize).min(text.len());
            match rng.below(4) {
                0 => drop(text.drain(at..to)),
                1 => {
                    let last = text.len() - 1;
                    text.swap(at.min(last), to.min(last));
                }
                2 => drop(text.splice(at..at, pieces[rng.below(pieces.len() as u64) as usize].chars())),
                _ => text.extend_from_within(at..to),
            }
        }
        let text: String = text.into_iter().collect();
        if let Err(errors) = parse(&text) {
            refused += 1;
            let named = errors.problems.iter().all(|problem| problem.place.starts_with("mine.toml"));
            assert!(named && !errors.problems.is_empty(), "seed {seed}:\n{text}\n{errors}");
        }
    }
    assert!(refused > rounds / 2, "seed {seed}: {refused} of {rounds} refused");
}

#[test]
fn changes_reach_the_devices_inside_a_device() {
    let typed = changes(&[("raid0.member.flash.read", "99us"), ("raid0.members", "2")]);
    let sheet = Sheet::load("raid0-p55", &typed).expect("sound");
    assert_eq!(sheet.count("raid0.members"), Ok(2));
    assert_eq!(sheet.device("raid0.member").expect("a drive").time("flash.read"), Ok(Nanos::micros(99)));
    let typed = changes(&[("raid0.member", "x25e"), ("raid0.member.flash.state", "fresh")]);
    let sheet = Sheet::load("raid0-p55", &typed).expect("sound");
    let member = sheet.device("raid0.member").expect("a drive");
    assert_eq!((member.name.as_str(), member.word("flash.state")), ("x25e", Ok("fresh")));
    let error =
        Sheet::load("raid0-p55", &changes(&[("raid0.member.flash.reads", "1us")])).expect_err("a typo");
    assert!(error.to_string().contains("did you mean `flash.read`?"), "{error}");
}

#[test]
fn a_file_that_contains_itself_is_refused() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sheets-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder of our own");
    let text = "name = \"a\"\ntitle = \"a\"\nkind = \"raid0\"\n\n[raid0]\n\
                member = { value = \"a.toml\", assumed = \"no\" }\nmembers = { value = \"2\", assumed = \"no\" }\n";
    let path = folder.join("a.toml");
    std::fs::write(&path, text).expect("it is empty");
    let error = Sheet::load(&path.display().to_string(), &[]).expect_err("no end").to_string();
    std::fs::remove_dir_all(&folder).expect("ours");
    assert!(
        error.contains("devices in devices, 4 deep; name a device that does not contain this one"),
        "{error}"
    );
}

/// A platform whose members have no files of their own.
const WHOLE: &str = r#"
name = "whole"
title = "A platform in one file"
kind = "platform"

[sources]
measured = "a measurement"

[platform]
cores = { value = "2", source = "measured: a" }
ghz = { value = "2.5", source = "measured: a" }
os = { value = "linux-6.1", assumed = "near" }
adapter = { value = "nvme", assumed = "usual" }
drive = { value = "zero", assumed = "its numbers stand below" }

[os]
vfs = { value = "2000", source = "measured: a" }

[zero]
latency = { value = "10us", source = "measured: a" }
"#;

#[test]
fn the_file_of_a_platform_may_say_numbers_of_its_members() {
    let sheet = parse(WHOLE).expect("sound");
    let os = sheet.device("platform.os").expect("it has one");
    assert_eq!((os.number("os.vfs"), os.number("os.block")), (Ok(2000.0), Ok(1218.5)));
    let vfs = os.entries().into_iter().find(|entry| entry.key == "os.vfs").expect("a number");
    assert_eq!(vfs.source, Source::Cited("measured: a".to_owned()));
    assert!(
        os.sources.iter().any(|(key, _)| key == "measured") && os.sources.iter().any(|(key, _)| key == "lab")
    );
    assert_eq!(
        sheet.device("platform.drive").expect("it has one").time("zero.latency"),
        Ok(Nanos::micros(10))
    );
}

#[test]
fn a_member_that_is_named_by_its_kind_has_all_its_numbers_in_the_file() {
    let with = |from: &str, to: &str| parse(&WHOLE.replace(from, to));
    let dram = "[dram]\ncapacity = { value = \"1GiB\", assumed = \"a\" }\ncommand = { value = \"1us\", assumed = \"a\" }\n";
    let of_kind = with("\"zero\"", "\"dram\"").expect_err("numbers are missing").to_string();
    assert!(of_kind.contains("a platform device has no `zero.latency`"), "{of_kind}");
    let text = WHOLE
        .replace("\"zero\"", "\"dram\"")
        .replace("[zero]\nlatency = { value = \"10us\", source = \"measured: a\" }", dram);
    let missing = parse(&text).expect_err("a number is missing").to_string();
    assert!(missing.contains("`dram.rate` is missing") && !missing.contains("dram.capacity"), "{missing}");
    let whole = text + "rate = { value = \"1GB/s\", assumed = \"a\" }\n";
    assert_eq!(parse(&whole).expect("sound").device("platform.drive").expect("it has one").name, "dram");
    let wrong = with("value = \"2000\"", "value = \"fast\"").expect_err("no number").to_string();
    assert!(wrong.contains("mine.toml:17") && wrong.contains("os.vfs = fast"), "{wrong}");
}

#[test]
fn another_drive_takes_the_place_of_one_whose_numbers_the_file_says() {
    let with = |change: (&str, &str)| {
        Sheet::parse(WHOLE, Path::new("mine.toml"), &[(change.0.to_owned(), change.1.to_owned())])
    };
    let exchanged = with(("platform.drive", "x25e")).expect("its own file says all of it");
    assert_eq!(exchanged.device("platform.drive").expect("it has one").name, "x25e");
    assert_eq!(exchanged.device("platform.os").expect("it has one").number("os.vfs"), Ok(2000.0));
    assert!(with(("platform.cores", "4")).is_ok());
}

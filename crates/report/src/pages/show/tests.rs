//! A drive and a platform, shown.

use iostack_model::answers::{Basis, DeviceCard, DeviceClaim, DeviceLevel, DeviceNumber, DevicePicture};
use iostack_model::{HostLayer, HostUse, ResourceUse};

use super::{claims, show};
use crate::document::tests::{fits, sound};
use crate::fixture;

fn card(title: &str) -> DeviceCard {
    let level = |name: &str, count, is_way| DeviceLevel {
        name: name.to_owned().into(),
        count,
        is_way,
        facts: vec!["800 MB/s".to_owned(), "as long as it is known and not much longer".to_owned()],
    };
    let number = |key: &str, basis| DeviceNumber {
        key: key.to_owned(),
        value: "25us".to_owned(),
        meaning: "what it means in a line that is somewhat long".to_owned(),
        basis,
        source: "sheet: page 4".to_owned(),
    };
    DeviceCard {
        name: "mine".to_owned(),
        title: title.to_owned(),
        kind: "flash".to_owned(),
        about: "A drive. ".repeat(20),
        year: Some(2026),
        origin: "mine.toml".to_owned(),
        changed: vec![("flash.read".to_owned(), "30us".to_owned())],
        levels: vec![
            level("link", 1, true),
            level("controller", 1, false),
            level("channel", 16, true),
            level("die", 64, false),
        ],
        numbers: vec![number("flash.read", Basis::Cited), number("flash.program", Basis::Usual)],
        claims: vec![DeviceClaim {
            name: "read".to_owned(),
            what: "4 KiB random reads".to_owned(),
            figure: "latency_mean".to_owned(),
            expected: "85 us within 2 %".to_owned(),
            source: "sheet: page 5".to_owned(),
            found: Some("90 us".to_owned()),
            difference: Some("+5.9 %".to_owned()),
            holds: Some(false),
        }],
        sources: vec![("sheet".to_owned(), "Data sheet".to_owned())],
        sourced: 1,
        fitted: 0,
        assumed: 1,
        members: Vec::new(),
    }
}

fn host() -> HostUse {
    let layer = |name: &str, clocks| HostLayer { name: name.to_owned(), clocks };
    HostUse {
        clock_hz: 2.93e9,
        cores: 8,
        clocks_per_io: 4324.0,
        layers: vec![layer("system call", 924.0), layer("block", 3400.0)],
        interrupts: 1000,
        completions_per_interrupt: 2.5,
        switches: 3,
    }
}

fn example() -> DevicePicture {
    let level = |name: &str, count| DeviceLevel {
        name: name.to_owned().into(),
        count,
        is_way: false,
        facts: vec![
            "2.93 GHz".to_owned(),
            "what there is to know of it, in a few words more than one line has".to_owned(),
        ],
    };
    let mut run = fixture::simulated_file().outcomes.swap_remove(1);
    let inside = run.inside.as_mut().expect("simulated");
    let model = inside.resources[0].clone();
    let used = |name: &str, count, busy| ResourceUse {
        name: name.to_owned(),
        count,
        busy,
        busiest: busy,
        ..model.clone()
    };
    inside.resources =
        vec![used("core", 8, 0.5), used("adapter", 4, 1.0), used("link", 12, 0.2), used("die", 240, 0.3)];
    inside.host = Some(host());
    inside.limit = Some(iostack_model::Limiting {
        name: "adapter".into(),
        busy: 1.0,
        why: "adapter: all are busy.".into(),
    });
    let card = DeviceCard {
        name: "x".into(),
        title: "A machine".into(),
        kind: "platform".into(),
        about: "A machine of a desk.".into(),
        year: None,
        origin: "built in".into(),
        changed: Vec::new(),
        levels: vec![level("core", 8), level("adapter", 4), level("drive", 12)],
        numbers: Vec::new(),
        claims: Vec::new(),
        sources: Vec::new(),
        sourced: 3,
        fitted: 1,
        assumed: 2,
        members: Vec::new(),
    };
    let member = DeviceCard { name: "os".into(), title: "A system".into(), ..card.clone() };
    DevicePicture {
        card: DeviceCard { members: vec![member], ..card },
        roles: vec!["platform.os".into()],
        run: Some(run),
        command: "iostack run --on sim:x".into(),
    }
}

fn alone(card: DeviceCard) -> DevicePicture {
    DevicePicture { card, roles: Vec::new(), run: None, command: String::new() }
}

#[test]
fn a_drawing_fits_the_screen_and_shows_what_works_side_by_side() {
    let text = show(&alone(card("My drive"))).text();
    fits(&text);
    assert!(text.matches("| x 4 |").count() == 8, "{text}");
    for fact in [
        "16 channels (8 drawn), each: 800 MB/s",
        "changed    flash.read=30us",
        "source: sheet: page 4",
        "usual      flash.program=25us",
    ] {
        assert!(text.contains(fact), "{fact}\n{text}");
    }
}

#[test]
fn a_claim_that_fails_is_said_aloud() {
    let text = claims(&card("My drive")).text();
    fits(&text);
    assert!(text.contains("90 us (+5.9 %)") && text.contains("FAILS"), "{text}");
    assert!(text.contains("0 of 1 claims hold."), "{text}");
}

#[test]
fn one_look_says_what_is_full() {
    let text = show(&example()).text();
    fits(&text);
    let full: Vec<&str> = text.lines().filter(|line| line.contains("<== FULL")).collect();
    assert!(full.len() == 1 && full[0].contains("adapter x4") && full[0].contains("100.0 %"), "{text}");
    for fact in ["8 cores: 2.93 GHz", "12 drives (8 drawn)", "4,324", "78.6", "FULL       All are busy."] {
        assert!(text.contains(fact), "{fact}\n{text}");
    }
    let page = show(&example()).html();
    sound(&page);
    assert!(page.contains("var(--k1)") && page.contains("FULL") && page.contains("Numbers of the os"));
    assert_eq!(page.matches("height=\"54\" rx=\"6\"").count(), 8 + 4 + 12, "each core and drive is a box");
}

#[test]
fn without_a_run_the_path_is_drawn_alone() {
    let mut bare = example();
    bare.run = None;
    let text = show(&bare).text();
    assert!(!text.contains('%') && text.contains("4 adapters"), "{text}");
}

#[test]
fn what_a_file_says_becomes_no_markup_and_no_command() {
    let evil = "\u{1b}[31m</script><script>alert(1)</script>";
    let mut card = card(evil);
    (card.name, card.about, card.origin) = (evil.to_owned(), evil.to_owned(), evil.to_owned());
    card.levels[1].name = evil.to_owned().into();
    card.levels[1].facts.push(evil.to_owned());
    card.numbers[0].meaning = evil.to_owned();
    let picture = alone(card);
    assert!(!show(&picture).text().contains('\u{1b}'));
    let page = show(&picture).html();
    sound(&page);
    assert!(!page.contains("<script>alert") && page.contains("&lt;script&gt;alert(1)"));
}

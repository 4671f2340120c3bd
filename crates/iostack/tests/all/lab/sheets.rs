//! Is each shipped number of a kernel what the lab counts?

use super::answered;
use crate::shared::{Room, iostack, refused, root};
use crate::turn::turn_or_skip;

/// Folders of the built-in sheets by their kind.
const FOLDERS: [(&str, &str); 3] = [("os", "systems"), ("fs", "filesystems"), ("scheduler", "schedulers")];

/// Counts of two boots differ by some instructions: a boot draws where the search for a tag begins.
const HINTS: f64 = 16.0;
/// A difference of several counts is off by some of them.
const SHARE: f64 = 0.015;

/// Value of a key in the text of a sheet.
fn value<'a>(sheet: &'a str, key: &str) -> &'a str {
    let line = sheet.lines().find(|line| line.starts_with(&format!("{key} = "))).expect(key);
    line.split('"').nth(1).expect("a value")
}

#[test]
#[ignore = "slow: a dozen boots"]
fn the_shipped_sheets_come_out_again() {
    let test = "the_shipped_sheets_come_out_again";
    let _turn = turn_or_skip!("the_shipped_sheets_come_out_again", "6.1");
    let room = Room::new("sheet");
    let path = room.path("made.toml");
    let made = answered("lab sheet", &["lab", "sheet", "6.1", "-o", &path, "--quiet", "--json"], 0);
    let release = made["kernel"].as_str().expect("a name");
    let written = std::fs::read_to_string(&path).expect("it was written");
    assert_eq!(written, made["sheets"][0]["text"].as_str().expect("text"));
    for sheet in made["sheets"].as_array().expect("a list") {
        let [kind, base] = ["kind", "base"].map(|key| sheet[key].as_str().expect("a name"));
        let folder = FOLDERS.iter().find(|(known, _)| *known == kind).expect(kind).1;
        let shipped = root().join("platforms").join(folder).join(format!("{base}.toml"));
        let shipped = std::fs::read_to_string(shipped).expect("ours");
        if !shipped.contains(&format!("counted, Linux {release};")) {
            return println!(
                "SKIPPED {test}: the shipped sheets are of another release than Linux {release}"
            );
        }
        let numbers = sheet["numbers"].as_array().expect("a list");
        let of_sheet = numbers.iter().filter(|number| number["what"].is_null());
        for number in of_sheet {
            let key = number["key"].as_str().expect("a name").rsplit('.').next().expect("a piece");
            let [made, known] = [number["clocks"].as_str().expect("text"), value(&shipped, key)]
                .map(|text| text.parse::<f64>().expect("a number"));
            assert!(
                (made - known).abs() <= HINTS.max(SHARE * known),
                "{base}: {key}: {made}, shipped {known}"
            );
        }
    }
    refused(&iostack(&["lab", "sheet", "6.1", "--part", "libaio", "-o", &path]), &["made.toml", "exists"]);
}

//! Is a shipped number of a kernel what the lab counts?

use super::answered;
use crate::shared::{Room, iostack, refused, root};
use crate::turn::turn_or_skip;

/// Value of a key in the text of a sheet.
fn value<'a>(sheet: &'a str, key: &str) -> &'a str {
    let line = sheet.lines().find(|line| line.starts_with(&format!("{key} = "))).expect(key);
    line.split('"').nth(1).expect("a value")
}

#[test]
#[ignore = "slow: a boot"]
fn a_part_of_the_shipped_sheet_comes_out_again() {
    let test = "a_part_of_the_shipped_sheet_comes_out_again";
    let _turn = turn_or_skip!("a_part_of_the_shipped_sheet_comes_out_again", "6.1");
    let shipped = std::fs::read_to_string(root().join("platforms/systems/linux-6.1.toml")).expect("ours");
    let room = Room::new("sheet");
    let path = room.path("libaio.toml");
    let made = answered(
        "lab sheet",
        &["lab", "sheet", "6.1", "--part", "libaio", "-o", &path, "--quiet", "--json"],
        0,
    );
    let release = made["kernel"].as_str().expect("a name");
    let written = std::fs::read_to_string(&path).expect("it was written");
    assert_eq!(written, made["sheets"][0]["text"].as_str().expect("text"));
    if !shipped.contains(&format!("counted, Linux {release};")) {
        return println!("SKIPPED {test}: the shipped sheet is of another release than Linux {release}");
    }
    for key in ["aio_submit", "aio_reap"] {
        assert_eq!(value(&written, key), value(&shipped, key), "{key}");
    }
    refused(&iostack(&["lab", "sheet", "6.1", "--part", "libaio", "-o", &path]), &["libaio.toml", "exists"]);
}

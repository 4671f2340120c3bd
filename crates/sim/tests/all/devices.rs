//! Can every device that is built in be made, and does it reach what is claimed of it?

use std::path::Path;

use crate::load::{built_in_sheet, changed_sheet};
use iostack_sim::claims;
use iostack_sim::engine::World;
use iostack_sim::run::RunOptions;
use iostack_sim::sheet::{Sheet, catalogue};

#[test]
fn every_device_reaches_what_is_claimed_of_it() {
    let mut failed = Vec::new();
    for name in catalogue::names() {
        let sheet = built_in_sheet(name);
        for claim in &sheet.claims {
            let tried = claims::try_one(&sheet, claim, &RunOptions::seeded(1));
            let tried = tried.unwrap_or_else(|error| panic!("{name}, {}: {error}", claim.name));
            if tried.holds != Some(true) {
                let found = tried.found.expect("it was tried");
                failed.push(format!("{name}, {}: {} expected, {found} found", tried.name, tried.expected));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// The drive of the guide is what a reader copies first.
#[test]
fn the_drive_of_the_guide_reaches_what_it_claims() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/devices.md");
    let guide = std::fs::read_to_string(path).expect("the guide is there");
    let text =
        guide.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a file in it");
    let sheet =
        Sheet::parse(text, Path::new("my-drive.toml"), &[]).unwrap_or_else(|errors| panic!("{errors}"));
    for claim in &sheet.claims {
        let tried = claims::try_one(&sheet, claim, &RunOptions::seeded(1)).expect("it runs");
        assert_eq!(tried.holds, Some(true), "{}: {} found", tried.name, tried.found.expect("it was tried"));
    }
}

#[test]
fn a_size_that_does_not_fit_is_told_one_that_does() {
    let sizes = [
        ("0B", "it is nothing; write one that is, such as 8192B"),
        ("4KiB", "it is not a multiple of 8192 bytes"),
    ];
    for (page, expected) in sizes {
        let sheet = changed_sheet("x25e", &[("flash.mapping", "8KiB"), ("flash.page", page)]);
        let error = iostack_sim::build(&sheet, &mut World::new(), 1).expect_err(page).to_string();
        assert!(error.contains(&format!("`flash.page = {page}`: {expected}")), "{error}");
    }
}

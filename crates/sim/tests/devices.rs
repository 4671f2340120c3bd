//! Is every device that is built in sound, and does it reach what is claimed of it?

use std::path::Path;

use iostack_sim::catalogue;
use iostack_sim::devices::KINDS;
use iostack_sim::sheet::{Sheet, Source};

fn load(name: &str) -> Sheet {
    Sheet::load(name, &[]).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn every_file_of_the_folder_is_built_in_under_its_own_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../platforms/devices");
    let files = std::fs::read_dir(folder).expect("the folder is there");
    let mut names: Vec<String> = files
        .filter_map(|file| file.expect("a file").file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".toml").map(str::to_owned))
        .collect();
    names.sort();
    let mut built_in: Vec<String> = catalogue::names().map(str::to_owned).collect();
    built_in.sort();
    assert_eq!(names, built_in);
    for name in catalogue::names() {
        assert_eq!(load(name).name, name);
    }
}

#[test]
fn every_usual_value_of_a_kind_is_written_as_its_unit_asks() {
    for kind in KINDS {
        for parameter in kind.parameters {
            let Some(default) = parameter.default else { continue };
            let sheet = Sheet::of(kind.name, &[(parameter.key, default)]);
            assert!(sheet.is_ok(), "{}: {}", kind.name, sheet.expect_err("refused"));
            assert!(parameter.meaning.len() <= 110, "{} is explained at length", parameter.key);
        }
    }
}

#[test]
fn every_source_is_used_and_every_claim_cites_one_or_shows_its_sum() {
    for name in catalogue::names() {
        let sheet = load(name);
        let cited: Vec<String> = sheet
            .entries()
            .into_iter()
            .filter_map(|entry| match entry.source {
                Source::Cited(place) => Some(place),
                _ => None,
            })
            .chain(sheet.claims.iter().map(|claim| claim.source.clone()))
            .collect();
        for (short, _) in &sheet.sources {
            let used = cited.iter().any(|place| place.starts_with(&format!("{short}:")));
            assert!(used, "{name}: {short} is unused");
        }
        assert!(!sheet.about.is_empty(), "{name}");
        assert!(name == "zero" || !sheet.claims.is_empty(), "{name} claims nothing");
    }
}

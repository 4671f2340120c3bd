//! Is every file that is built in sound?

use std::path::{Path, PathBuf};

use crate::load::built_in_sheet;
use iostack_sim::sheet::{KINDS, Sheet, Source, catalogue};

#[test]
fn every_file_of_the_folder_is_built_in_under_its_own_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../platforms");
    let list = |folder: &Path| -> Vec<PathBuf> {
        let files = std::fs::read_dir(folder).expect("the folder is there");
        files.map(|file| file.expect("a file").path()).collect()
    };
    let (folders, mut files): (Vec<PathBuf>, Vec<PathBuf>) =
        list(&folder).into_iter().partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| list(folder)));
    let mut names: Vec<String> = files
        .iter()
        .filter_map(|path| path.file_name()?.to_str()?.strip_suffix(".toml").map(str::to_owned))
        .collect();
    names.sort();
    let mut built_in: Vec<String> = catalogue::names().map(str::to_owned).collect();
    built_in.sort();
    assert_eq!(names, built_in);
    for name in catalogue::names() {
        assert_eq!(built_in_sheet(name).name, name);
    }
}

#[test]
fn every_usual_value_of_a_kind_is_written_as_its_unit_asks() {
    for kind in KINDS.iter() {
        for parameter in kind.parameters {
            let Some(default) = parameter.default else { continue };
            let sheet = Sheet::from_values(kind.name, &[(parameter.key, default)]);
            assert!(sheet.is_ok(), "{}: {}", kind.name, sheet.expect_err("refused"));
            assert!(parameter.meaning.len() <= 110, "{} is explained at length", parameter.key);
        }
    }
}

#[test]
fn every_source_is_used_and_every_claim_cites_one_or_shows_its_sum() {
    for name in catalogue::names() {
        let sheet = built_in_sheet(name);
        let cited: Vec<String> = sheet
            .entries()
            .into_iter()
            .filter_map(|entry| match entry.source {
                Source::Cited(text) | Source::Fitted(text) | Source::Assumed(text) => Some(text),
                Source::Changed | Source::Default => None,
            })
            .chain(sheet.claims.iter().map(|claim| claim.source.clone()))
            .collect();
        for (short, _) in &sheet.sources {
            // A published claim begins with its document: `claim intel10.clocks.syscall`.
            let means = |place: &String| {
                place == short || [':', '.'].iter().any(|end| place.contains(&format!("{short}{end}")))
            };
            let used = cited.iter().any(means);
            assert!(used, "{name}: {short} is unused");
        }
        assert!(!sheet.about.is_empty(), "{name}");
        // What is made for a published figure is held against in its experiment.
        let published =
            |text: &String| text.contains('.') && !text.contains(' ') || text.starts_with("claim ");
        let held = !sheet.claims.is_empty() || cited.iter().any(published);
        let is_drive = !sheet.kind.is_part() && sheet.kind.name != "platform";
        assert!(name == "zero" || !is_drive || held, "{name} claims nothing");
    }
}

#[test]
fn no_claim_is_fitted_twice() {
    for name in catalogue::names() {
        let sheet = built_in_sheet(name);
        for claim in &sheet.claims {
            let fitted = Source::Fitted(claim.name.clone());
            let times = sheet.entries().iter().filter(|entry| entry.source == fitted).count();
            assert!(times <= 1, "{name}: {times} numbers are fitted to {}", claim.name);
        }
    }
}

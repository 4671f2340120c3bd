//! Where does a reference come from? A run that was saved, or a table that was printed in 2008 and is shipped as data.

use std::path::Path;

use anyhow::{Context, bail};
use iostack_model::answers::{Iolat, PublishedTable};

/// The shipped tables by name.
const BUILT_IN: [(&str, &str); 2] = [
    ("scsi_ram", include_str!("../../references/scsi_ram.toml")),
    ("ata_ram", include_str!("../../references/ata_ram.toml")),
];

/// Reference that a run is held against.
#[derive(Debug)]
pub(crate) enum Reference {
    /// A table of the 2008 tool.
    Published(PublishedTable),
    /// A run that was saved.
    Saved(Box<Iolat>),
}

/// The shipped table called `name`.
pub(crate) fn built_in(name: &str) -> Option<PublishedTable> {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    Some(toml::from_str(text).expect("the shipped tables are parsed by a test"))
}

/// Finds the reference that the user named: one of the shipped tables, or a file.
pub(crate) fn load(name: &str) -> anyhow::Result<Reference> {
    if let Some(table) = built_in(name) {
        return Ok(Reference::Published(table));
    }
    let path = Path::new(name);
    if !path.exists() {
        let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        bail!(
            "there is no reference `{name}`: name a file of `iostack iolat --save-reference FILE`, or one of {}",
            known.join(", ")
        );
    }
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the reference `{}`", path.display()))?;
    if path.extension().is_some_and(|extension| extension == "toml") {
        let table = toml::from_str(&text)
            .with_context(|| format!("`{}` is not a table like those that are shipped", path.display()))?;
        return Ok(Reference::Published(table));
    }
    saved(&text).with_context(|| format!("cannot compare with `{}`", path.display()))
}

fn saved(text: &str) -> anyhow::Result<Reference> {
    let run: Iolat = match iostack_target::read_json(text) {
        Ok(run) => run,
        Err(error) => {
            bail!("it is not a run of iolat ({error}); make one with `iostack iolat --save-reference FILE`")
        }
    };
    if run.tests.is_empty() {
        bail!("it holds no test: the run that wrote it was ended before the first round");
    }
    Ok(Reference::Saved(Box::new(run)))
}

/// The part of a run that a reference needs: all but the stacks, by which nothing is compared.
pub fn to_save(run: &Iolat) -> Iolat {
    let mut kept = run.clone();
    for layers in kept.tests.iter_mut().filter_map(|test| test.layers.as_mut()) {
        layers.stacks.clear();
    }
    kept.comparison = None;
    kept
}

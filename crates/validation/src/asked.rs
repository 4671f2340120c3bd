//! Which experiments are meant? By name, by document, by claim, or a file.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use iostack_model::answers::ReproMissing;
use iostack_study::prediction::Draws;
use iostack_target::Targets;

use super::experiment::Experiment;
use super::published::{Claim, Published};
use super::{builtin, gather};

/// Wish to reproduce experiments.
#[derive(Clone, Copy)]
pub struct ReproRequest<'a> {
    /// Names of experiments, documents, claims or files. None: all that are simulated.
    pub names: &'a [String],
    /// True for those that the lab counts.
    pub lab: bool,
    /// True when experiments are only listed.
    pub list: bool,
    /// Files with costs that were counted earlier: these cases are not counted again.
    pub costs: &'a [PathBuf],
    /// Draws of what the sheets do not know exactly, in which verdicts are judged again.
    pub draws: Draws,
    /// Runs simulated at once; `None`: one per CPU.
    pub at_once: Option<usize>,
    /// Targets that can be named.
    pub targets: &'a dyn Targets,
}

impl ReproRequest<'_> {
    /// Experiments, each once, in the order they were asked for. What the lab counts boots machines, and is never meant by
    /// saying nothing.
    pub(crate) fn experiments(&self, claims: &[Claim]) -> anyhow::Result<Vec<Experiment>> {
        let built_in = |id| builtin::experiment(id, claims);
        let mut all: Vec<Experiment> = match self.names {
            [] if self.lab => builtin::counted().filter_map(built_in).collect(),
            [] if self.list => builtin::ids().chain(builtin::counted()).filter_map(built_in).collect(),
            [] => builtin::ids().filter_map(built_in).collect(),
            _ => Vec::new(),
        };
        for name in self.names {
            for one in named(name, claims)? {
                if all.iter().all(|known| known.id != one.id) {
                    all.push(one);
                }
            }
        }
        Ok(all)
    }

    /// Figures that no experiment judges, of the documents that were asked for as a whole.
    pub(crate) fn missing(&self, published: &Published) -> Vec<ReproMissing> {
        let whole = |document: &str| self.names.is_empty() || self.names.iter().any(|name| name == document);
        let documents = published.document.iter().filter(|known| known.published && whole(&known.id));
        let simulated: Vec<&str> = builtin::ids().collect();
        let counted: Vec<&str> = builtin::counted().collect();
        let mut missing = Vec::new();
        for document in documents {
            for claim in published.claim.iter().filter(|claim| claim.document() == document.id) {
                let not_counted = gather::not_judged(claim, &counted, &published.claim);
                for field in gather::not_judged(claim, &simulated, &published.claim) {
                    let mut reason = claim.unreproduced.clone().unwrap_or_default();
                    if !not_counted.contains(&field) {
                        reason += "; counted in the lab (iostack repro --lab)";
                    }
                    let field = field.unwrap_or_default();
                    missing.push(ReproMissing { claim: claim.id.clone(), field, reason });
                }
            }
        }
        missing
    }
}

/// Experiments that a name means.
fn named(name: &str, claims: &[Claim]) -> anyhow::Result<Vec<Experiment>> {
    if let Some(experiment) = builtin::experiment(name, claims) {
        return Ok(vec![experiment]);
    }
    let path = Path::new(name);
    if path.is_dir() {
        return in_folder(path, claims);
    }
    if path.extension().is_some_and(|extension| extension == "toml") {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read the experiment `{name}`"))?;
        let id = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        return Experiment::parse(&id, &text, name, claims).map(|one| vec![one]).map_err(anyhow::Error::msg);
    }
    let meant: Vec<&Claim> =
        claims.iter().filter(|claim| claim.id == name || claim.document() == name).collect();
    let Some(first) = meant.first() else {
        let names: Vec<&str> = builtin::ids().chain(builtin::counted()).collect();
        bail!(
            "there is no experiment, document or claim `{name}`; there are: {}; or name a .toml file, or a folder of such",
            names.join(", ")
        );
    };
    let judges = |ids: &mut dyn Iterator<Item = &'static str>| -> Vec<Experiment> {
        let experiments = ids.filter_map(|id| builtin::experiment(id, claims));
        let on_it = |one: &Experiment| {
            one.verdicts.iter().any(|verdict| meant.iter().any(|claim| claim.id == verdict.claim.id))
        };
        experiments.filter(on_it).collect()
    };
    let found = judges(&mut builtin::ids());
    if !found.is_empty() {
        return Ok(found);
    }
    let counted = judges(&mut builtin::counted());
    if !counted.is_empty() {
        return Ok(counted);
    }
    bail!("no experiment judges `{name}`: {}", first.unreproduced.as_deref().unwrap_or("nobody says why"))
}

/// Experiments of the files of a folder, by name.
fn in_folder(folder: &Path, claims: &[Claim]) -> anyhow::Result<Vec<Experiment>> {
    let shown = folder.display();
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read the folder `{shown}`"))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> = paths.collect::<Result<_, _>>().context("cannot list the folder")?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    ensure!(!paths.is_empty(), "the folder `{shown}` has no experiment: no .toml file");
    let each = paths.iter().map(|path| named(&path.to_string_lossy(), claims));
    Ok(each.collect::<anyhow::Result<Vec<_>>>()?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked<T>(names: &[&str], look: impl Fn(&ReproRequest<'_>) -> T) -> T {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let targets = &iostack_sim::targets::Simulations;
        let draws = Draws { count: 0, seed: 1 };
        look(&ReproRequest {
            names: &names,
            lab: false,
            list: false,
            costs: &[],
            draws,
            at_once: None,
            targets,
        })
    }

    fn ids(names: &[&str]) -> Vec<String> {
        let found = asked(names, |asked| asked.experiments(&builtin::claims()).expect("they are there"));
        found.into_iter().map(|one| one.id).collect()
    }

    #[test]
    fn a_document_or_a_claim_means_the_experiments_that_judge_it() {
        assert_eq!(ids(&["cmu.queue_depth.writes_flat"]), ["queue-depth-a", "queue-depth-b"]);
        assert_eq!(ids(&["raid-caps", "samsung.iops.perc_6i"]), ["raid-caps"]);
        assert!(ids(&["cmu"]).contains(&"sustained-writes".to_owned()));
        assert!(ids(&[]).len() >= ids(&["cmu"]).len() && !ids(&[]).contains(&"lab-layers".to_owned()));
        assert_eq!(ids(&["prototype.ways"]), ["lab-ways"]);
    }

    #[test]
    fn what_nothing_judges_is_missing_only_when_its_document_was_asked_for() {
        let published = builtin::published();
        let missing = |names: &[&str]| asked(names, |asked| asked.missing(&published));
        assert!(missing(&["raid-caps"]).is_empty());
        assert!(missing(&["cmu"]).iter().all(|one| one.claim.starts_with("cmu.")));
        assert!(missing(&[]).iter().all(|one| !one.reason.is_empty() && !one.claim.starts_with("prototype")));
    }
}

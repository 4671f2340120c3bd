//! Which experiments are built in? The files of `experiments/`, compiled in.

use super::experiment::Experiment;
use super::published::{self, Claim, Published};

/// Folder of the files in the repository, which commands name.
pub(crate) const FOLDER: &str = "experiments";

/// Ids and texts of experiments: `experiments/ID.toml`.
macro_rules! experiments {
    ($($id:literal),* $(,)?) => {
        &[$(($id, include_str!(concat!("../experiments/", $id, ".toml")))),*]
    };
}

const PUBLISHED: &str = include_str!("../experiments/published.toml");

/// Simulated experiments in the order of the page. A new experiment is a file and a line here.
const EXPERIMENTS: &[(&str, &str)] = experiments![
    "intel10-latency",
    "intel10-clocks",
    "intel10-file-system",
    "intel10-scaling",
    "intel10-drives",
    "samsung-fis",
    "samsung-hosts",
    "iometer-raid0",
    "raid-caps",
    "queue-depth-a",
    "queue-depth-b",
    "request-size",
    "cmu-modes",
    "cmu-random-modes",
    "cmu-file-systems",
    "cmu-schedulers",
    "sustained-writes",
    "ten-percent",
    "intel08-ram-drivers",
    "taejin-iozone",
    "schedulers-nvme",
    "io-ways",
    "drives",
];

/// Those that the lab counts: they boot machines, and are made again when asked for only.
const COUNTED: &[(&str, &str)] = experiments![
    "lab-layers",
    "lab-adapters",
    "lab-ways",
    "lab-merge",
    "lab-modes",
    "lab-random-modes",
    "lab-file-systems",
    "lab-schedulers",
    "lab-ten-percent",
];

/// Name and text of job files that experiments name.
const JOBS: &[(&str, &str)] = &[
    ("jobs/trim.toml", include_str!("../experiments/jobs/trim.toml")),
    ("jobs/trim-small.toml", include_str!("../experiments/jobs/trim-small.toml")),
];

/// Published figures that experiments are held against.
pub(crate) fn published() -> Published {
    published::parse(PUBLISHED, "experiments/published.toml").expect("a test reads what is built in")
}

/// Claims that were published.
#[cfg(test)]
pub(crate) fn claims() -> Vec<Claim> {
    published().claim
}

/// Names of the simulated experiments.
pub(crate) fn ids() -> impl Iterator<Item = &'static str> {
    EXPERIMENTS.iter().map(|(id, _)| *id)
}

/// Names of those that the lab counts.
pub(crate) fn counted() -> impl Iterator<Item = &'static str> {
    COUNTED.iter().map(|(id, _)| *id)
}

/// An experiment that is built in.
pub(crate) fn experiment(id: &str, claims: &[Claim]) -> Option<Experiment> {
    let (id, text) = EXPERIMENTS.iter().chain(COUNTED).find(|(known, _)| *known == id)?;
    let path = format!("{FOLDER}/{id}.toml");
    Some(Experiment::parse(id, text, &path, claims).expect("a test reads what is built in"))
}

/// The text of a job file that is built in.
pub(crate) fn job_file(name: &str) -> Option<&'static str> {
    JOBS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use iostack_sim::targets::Simulations;

    use super::*;
    use crate::gather;

    #[test]
    fn every_experiment_is_sound_and_every_run_has_its_jobs() {
        let claims = claims();
        for &(id, text) in EXPERIMENTS {
            let path = format!("{FOLDER}/{id}.toml");
            let experiment =
                Experiment::parse(id, text, &path, &claims).unwrap_or_else(|error| panic!("{error}"));
            for point in experiment.curves.iter().flat_map(|curve| gather::plan(curve, &Simulations)) {
                assert!(point.task.jobs.is_ok(), "{id}: {}: {:?}", point.command, point.task.jobs);
            }
        }
    }

    #[test]
    fn every_published_figure_is_judged_or_says_why_not() {
        let published = published();
        for claim in &published.claim {
            let document = published.document.iter().find(|known| known.id == claim.document());
            let document = document.unwrap_or_else(|| panic!("{}: no such document", claim.id));
            let ids: Vec<&str> =
                if document.published || document.own { ids().collect() } else { counted().collect() };
            let left = gather::not_judged(claim, &ids, &published.claim);
            match &claim.unreproduced {
                None => assert!(left.is_empty(), "{}: {left:?}: a verdict, or `unreproduced`", claim.id),
                Some(_) => assert!(!left.is_empty(), "{} is judged: delete `unreproduced`", claim.id),
            }
        }
    }

    #[test]
    fn the_page_counts_every_statement_of_each_document() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/repro.md");
        let page = std::fs::read_to_string(page).expect("the page is there");
        let published = published();
        for document in published.document.iter().filter(|document| document.published) {
            let claims = published.claim.iter().filter(|claim| claim.document() == document.id);
            let statements: usize = claims.map(|claim| claim.fields().len()).sum();
            let row =
                page.lines().find(|line| line.starts_with(&format!("| {} | {statements} |", document.id)));
            assert!(row.is_some(), "docs/repro.md does not count {statements} statements of {}", document.id);
        }
    }
}

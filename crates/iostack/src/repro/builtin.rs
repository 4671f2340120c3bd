//! Which experiments are built in? The files of `experiments/`, compiled in.

use super::experiment::Experiment;
use super::published::{self, Claim};

/// Where the files lie in the repository: what commands name.
pub(crate) const FOLDER: &str = "experiments";

/// The text of a file of `experiments/`.
macro_rules! file {
    ($name:literal) => {
        include_str!(concat!("../../../../experiments/", $name))
    };
}

const PUBLISHED: &str = file!("published.toml");

/// Id and text, in the order of the page.
const EXPERIMENTS: [(&str, &str); 7] = [
    ("queue-depth-a", file!("queue-depth-a.toml")),
    ("queue-depth-b", file!("queue-depth-b.toml")),
    ("request-size", file!("request-size.toml")),
    ("sustained-writes", file!("sustained-writes.toml")),
    ("ten-percent", file!("ten-percent.toml")),
    ("iometer-raid0", file!("iometer-raid0.toml")),
    ("raid-caps", file!("raid-caps.toml")),
];

/// Those that the lab counts: they boot machines, and are made again when asked for only.
const COUNTED: [(&str, &str); 3] = [
    ("lab-layers", file!("lab-layers.toml")),
    ("lab-adapters", file!("lab-adapters.toml")),
    ("lab-ways", file!("lab-ways.toml")),
];

/// Name and text of job files that experiments name.
const JOBS: [(&str, &str); 1] = [("jobs/trim.toml", file!("jobs/trim.toml"))];

/// What they are held against.
pub(crate) fn claims() -> Vec<Claim> {
    published::parse(PUBLISHED, "experiments/published.toml").expect("a test reads what is built in")
}

/// Their names.
pub(crate) fn ids() -> impl Iterator<Item = &'static str> {
    EXPERIMENTS.iter().map(|(id, _)| *id)
}

/// Names of those that the lab counts.
pub(crate) fn counted() -> impl Iterator<Item = &'static str> {
    COUNTED.iter().map(|(id, _)| *id)
}

/// An experiment that is built in.
pub(crate) fn experiment(id: &str, claims: &[Claim]) -> Option<Experiment> {
    let (id, text) = EXPERIMENTS.iter().chain(&COUNTED).find(|(known, _)| *known == id)?;
    let path = format!("{FOLDER}/{id}.toml");
    Some(Experiment::parse(id, text, &path, claims).expect("a test reads what is built in"))
}

/// The text of a job file that is built in.
pub(crate) fn job_file(name: &str) -> Option<&'static str> {
    JOBS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::super::gather;
    use super::*;

    #[test]
    fn every_experiment_is_sound_and_every_run_has_its_jobs() {
        let claims = claims();
        for (id, text) in EXPERIMENTS {
            let path = format!("{FOLDER}/{id}.toml");
            let experiment =
                Experiment::parse(id, text, &path, &claims).unwrap_or_else(|error| panic!("{error}"));
            for point in experiment.curves.iter().flat_map(gather::plan) {
                assert!(point.task.jobs.is_ok(), "{id}: {}: {:?}", point.command, point.task.jobs);
            }
        }
    }

    #[test]
    fn every_claim_that_was_copied_is_used() {
        let claims = claims();
        let used: Vec<String> = ids()
            .chain(counted())
            .flat_map(|id| experiment(id, &claims).expect("one of them").verdicts)
            .map(|verdict| verdict.claim.id)
            .collect();
        for claim in &claims {
            assert!(used.contains(&claim.id), "{} is copied for nothing", claim.id);
        }
    }
}

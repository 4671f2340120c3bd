//! All simulated targets, and no others: for studies in virtual time, and for the table of a program that has more.

use std::fs::File;

use anyhow::bail;
use iostack_model::{Cpu, Job, Machine};
use iostack_target::{AnyTarget, Description, Kind, Rating, Ratings, Targets};

use super::{SimulatedOptions, SimulatedTarget};
use crate::sheet::{Claim, Sheet};

/// Prefix of the word of a simulated target.
pub const PREFIX: &str = "sim:";

/// Properties of simulated targets that studies must know.
pub const SIMULATED: Kind = Kind {
    name: "simulated",
    has_numbers: true,
    has_options: true,
    switches_schedulers: false,
    is_alone: false,
};

/// Every simulated target, by its name with or without `sim:`.
pub struct Simulations;

impl Targets for Simulations {
    fn kind(&self, _: &str) -> Kind {
        SIMULATED
    }

    fn word(&self, typed: &str) -> String {
        format!("{PREFIX}{}", self.bare(typed))
    }

    fn bare<'a>(&self, typed: &'a str) -> &'a str {
        typed.strip_prefix(PREFIX).unwrap_or(typed)
    }

    fn open(&self, on: Option<&str>, changes: &[(String, String)]) -> anyhow::Result<AnyTarget> {
        let Some(on) = on else { bail!("name a simulated target (`iostack sim list`)") };
        let options = SimulatedOptions { timeline: None, fifo: |path| Ok(Box::new(File::open(path)?)) };
        Ok(Box::new(SimulatedTarget::open(self.bare(on), changes, options)?))
    }

    fn flag(&self, (key, value): &(String, String)) -> [String; 2] {
        ["--set".to_owned(), format!("{key}={value}")]
    }

    /// One CPU, so that jobs which ask for the number of CPUs are the same everywhere.
    fn machine(&self) -> Machine {
        Machine { cpu: Cpu { cores_online: 1, ..Cpu::default() }, ..Machine::default() }
    }

    fn give_end(&self, _: &mut Job, _: &Description) -> anyhow::Result<Option<String>> {
        Ok(None)
    }

    fn ratings(&self, name: &str) -> anyhow::Result<Ratings> {
        let sheet = Sheet::load(self.bare(name), &[])?;
        let figures = sheet.claims.iter().map(rating).collect();
        Ok(Ratings { name: sheet.name.clone(), title: sheet.title.clone(), figures })
    }
}

fn rating(claim: &Claim) -> Rating {
    Rating {
        what: claim.what.clone(),
        job: claim.job.clone(),
        set: claim.set.clone(),
        figure: claim.figure,
        is_ratio: claim.over.is_some(),
        value: claim.expected.figure(),
        source: claim.source.clone(),
    }
}

//! Does a device reach what is claimed of it? Each claim's job is run, and its figure read off.

use crate::sheet::{Claim, Sheet, SheetErrors, card};

use crate::run::{self, RunOptions, SimError};
use iostack_model::answers::DeviceClaim;

/// Tries one claim of a sheet.
pub fn try_one(sheet: &Sheet, claim: &Claim, options: &RunOptions<'_>) -> Result<DeviceClaim, SimError> {
    let mut found = figure(sheet, claim, options)?;
    if let Some(other) = &claim.over {
        let other = sheet.claims.iter().find(|each| each.name == *other);
        let other = other.expect("the file was refused if the other claim is not there");
        found /= figure(sheet, other, options)?;
    }
    Ok(card::tried(claim, found))
}

fn figure(sheet: &Sheet, claim: &Claim, options: &RunOptions<'_>) -> Result<f64, SimError> {
    let sheet = sheet.with(&claim.set).map_err(SheetErrors::into_first)?;
    let ran = run::run(&sheet, std::slice::from_ref(&claim.job), options)?;
    let outcome = ran.outcomes.first().expect("one job has one outcome");
    Ok(claim.figure.of(outcome))
}

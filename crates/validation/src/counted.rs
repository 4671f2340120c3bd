//! Experiments of the lab: cases that are counted, not simulated.
//!
//! A case is written as `iostack lab cost --diff` takes it: changes of the plain case, a 4 KiB direct read by psync on
//! `null_blk`. What is varied is one more change.

use iostack_model::answers::{IoCost, ReproPoint};

use super::curve::Curve;
use crate::count::spec::Spec;

/// A case of an experiment.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The value of what is varied.
    pub(crate) at: String,
    pub(crate) spec: Spec,
}

/// The cases of a curve, in order; an error says what none of the lab's machines can be.
pub(crate) fn plan(curve: &Curve) -> Result<Vec<Case>, String> {
    let Some(changes) = &curve.cost else { return Ok(Vec::new()) };
    let case = |at: &str, changes: &str| {
        let spec = Spec::plain().changed(changes).map_err(|error| format!("{error:#}"))?;
        spec.request().map_err(|error| format!("{error:#}"))?;
        Ok(Case { at: at.to_owned(), spec })
    };
    match &curve.vary {
        None => Ok(vec![case("", changes)?]),
        Some((key, values)) => {
            values.iter().map(|value| case(value, &format!("{changes},{key}={value}"))).collect()
        }
    }
}

/// Point of a case. Calls and functions are left out: the command beside it gives them.
pub(crate) fn point(case: &Case, given: &Result<IoCost, String>) -> ReproPoint {
    let cost = given.as_ref().ok().cloned().map(|cost| IoCost { tree: None, functions: Vec::new(), ..cost });
    ReproPoint {
        at: case.at.clone(),
        command: case.spec.command(),
        outcome: None,
        cost,
        error: given.as_ref().err().cloned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(cost: &str, vary: Option<(&str, &[&str])>) -> Curve {
        Curve {
            name: "c".to_owned(),
            device: "lab:".to_owned(),
            cost: Some(cost.to_owned()),
            vary: vary.map(|(key, values)| (key.to_owned(), values.iter().map(|&v| v.to_owned()).collect())),
            ..Curve::default()
        }
    }

    #[test]
    fn each_value_is_a_case_with_a_command_of_its_own() {
        let cases =
            plan(&curve("op=write,kernel=6.12", Some(("device", &["brd", "scsi_ram"])))).expect("sound");
        let commands: Vec<String> = cases.iter().map(|case| case.spec.command()).collect();
        assert_eq!(
            commands,
            [
                "iostack lab cost brd --op write --kernel 6.12",
                "iostack lab cost scsi_ram --op write --kernel 6.12"
            ]
        );
    }

    #[test]
    fn what_no_machine_can_be_is_said_when_the_file_is_read() {
        for (cost, said) in
            [("device=sata_ram", "no device of the lab"), ("op=trim", "neither read nor write")]
        {
            let error = plan(&curve(cost, None)).expect_err("refused");
            assert!(error.contains(said), "{error}");
        }
    }
}

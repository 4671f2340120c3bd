//! What was predicted, from a file of earlier or by a sheet, beside what a command measures.

use std::path::Path;

use anyhow::bail;
use iostack_model::OutcomeFile;
use iostack_model::answers::{Answer, Check, WhatIf, WhatIfList};
use iostack_study::prediction::{Predictions, measured_by_check};

use crate::stored;

/// Reads the predictions of a file: a run or a check of a simulated target, or a list of changes.
pub(crate) fn read(path: &Path) -> anyhow::Result<Predictions> {
    let stored = stored::read(path)?;
    let origin = path.display().to_string();
    match stored.kind.as_str() {
        OutcomeFile::KIND => Ok(Predictions::of_outcomes(&origin, &stored.parse::<OutcomeFile>()?.outcomes)),
        Check::KIND => {
            let check: Check = stored.parse()?;
            let points = measured_by_check(&check);
            Ok(Predictions::of_outcomes(&origin, points.iter().map(|point| point.outcome)))
        }
        WhatIfList::KIND => Ok(Predictions::of_list(&origin, &stored.parse()?)),
        WhatIf::KIND => {
            let chain: WhatIf = stored.parse()?;
            Ok(Predictions::of_outcomes(&origin, chain.steps.last().and_then(|step| step.outcome.as_ref())))
        }
        kind => bail!(
            "`{origin}` is of `iostack {kind}`, which predicts nothing; make one with \
             iostack sim what-if SHEET --json --output FILE"
        ),
    }
}

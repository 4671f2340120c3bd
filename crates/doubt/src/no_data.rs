//! The engine moves no data: what is counted as bytes reaches no storage.

use iostack_model::Caveat;

use crate::{Doubt, PLAIN, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "no_data",
    how: "the engine is `null`, `falloc`, `ftruncate`, or one that does something to names of files",
    weight: Weight::Wrong,
    changes: "Rates of bytes are no storage's.",
    remedy: "Read them as calls; ask another engine for data.",
    says: |caveat| {
        let Caveat::NoData { engine } = caveat else { return None };
        Some(format!("{engine} moves no data: a byte here is a part of a call's block size."))
    },
    of_run: Some(|outcome, _| {
        let engine = outcome.job.engine;
        (!engine.moves_data()).then(|| Caveat::NoData { engine: engine.name().to_owned() })
    }),
    ..PLAIN
};

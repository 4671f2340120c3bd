//! Every answer that is kept in a file, in every form.

use iostack_model::answers::{
    Answer, Calibration, Check, CostDiff, DevicePicture, History, IoCost, Iolat, MergeReport, Probe, Repro,
    Served, Sweep, Watch, WhatIf, WhatIfList, Why, labelled,
};
use iostack_model::{Ladder, Layers, OutcomeFile, Stages};
use iostack_stats::AbReport;

use crate::table::{self, Table};
use crate::{CostDetail, Document};

/// An answer that a file can keep, in every form.
pub trait Told {
    /// Kind of the answer: the command.
    fn command(&self) -> &'static str;
    /// Every figure as JSON.
    fn json(&self) -> serde_json::Result<String>;
    /// The document for people.
    fn document(&self) -> Document;
    /// A table of a row a point, of an answer that is made of points.
    fn table(&self) -> Option<Table> {
        None
    }
    /// The outcomes of a run, which alone have forms of fio's.
    fn outcomes(&self) -> Option<&OutcomeFile> {
        None
    }
}

/// Implements [`Told`] from a row: type, document, table, outcomes.
macro_rules! told {
    ($($answer:ty: $document:expr $(, $table:path $(, $outcomes:ident)?)?;)+) => {
        $(impl Told for $answer {
            fn command(&self) -> &'static str {
                Self::KIND
            }

            fn json(&self) -> serde_json::Result<String> {
                serde_json::to_string(&labelled(self))
            }

            fn document(&self) -> Document {
                $document(self)
            }

            $(fn table(&self) -> Option<Table> {
                Some($table(self))
            }

            $(fn $outcomes(&self) -> Option<&OutcomeFile> {
                Some(self)
            })?)?
        })+
    };
}

told! {
    OutcomeFile: crate::run, table::of_run, outcomes;
    Check: crate::check, table::of_check;
    Calibration: crate::calibrate, table::of_calibration;
    Iolat: crate::iolat, table::of_iolat;
    History: crate::history, table::of_history;
    MergeReport: crate::merge, table::of_merge;
    Probe: crate::probe, table::of_probe;
    AbReport: crate::ab, table::of_ab;
    Served: crate::served, table::of_served;
    Sweep: crate::sweep, table::of_sweep;
    WhatIf: crate::what_if;
    WhatIfList: crate::what_if_list;
    Watch: crate::watch, table::of_watch;
    Why: crate::why, table::of_why;
    Repro: crate::repro;
    IoCost: |cost: &IoCost| crate::iocost(std::slice::from_ref(cost), None, CostDetail::default());
    CostDiff: |diff: &CostDiff| {
        let sides = [diff.before.clone(), diff.after.clone()];
        crate::iocost(&sides, Some(diff), CostDetail::default())
    };
    DevicePicture: crate::show;
    Stages: |stages: &Stages| crate::attribution(Some(stages), None);
    Layers: |layers: &Layers| crate::attribution(None, Some(layers));
    Ladder: crate::ladder;
}

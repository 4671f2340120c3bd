//! Every answer that is kept in a file, in every form.

use iostack_model::OutcomeFile;
use iostack_model::answers::{Check, Iolat, MergeReport, Served, Sweep};
use iostack_stats::AbReport;

use crate::Document;
use crate::table::{self, Table};

/// What a command found, and what a file of it gives again.
pub trait Told {
    /// The command.
    fn command(&self) -> &'static str;
    /// Every figure.
    fn json(&self) -> serde_json::Result<String>;
    /// For people.
    fn document(&self) -> Document;
    /// A row a point.
    fn table(&self) -> Table;
    /// The outcomes, of which alone fio has forms.
    fn outcomes(&self) -> Option<&OutcomeFile> {
        None
    }
}

/// Command, how it is drawn, how it is a table.
macro_rules! told {
    ($($answer:ty: $command:literal, $document:path, $table:path $(, $outcomes:ident)?;)+) => {
        $(impl Told for $answer {
            fn command(&self) -> &'static str {
                $command
            }

            fn json(&self) -> serde_json::Result<String> {
                serde_json::to_string(self)
            }

            fn document(&self) -> Document {
                $document(self)
            }

            fn table(&self) -> Table {
                $table(self)
            }

            $(fn $outcomes(&self) -> Option<&OutcomeFile> {
                Some(self)
            })?
        })+
    };
}

told! {
    OutcomeFile: "run", crate::run, table::of_run, outcomes;
    Check: "check", crate::check, table::of_check;
    Iolat: "iolat", crate::iolat, table::of_iolat;
    MergeReport: "merge", crate::merge, table::of_merge;
    AbReport: "ab", crate::ab, table::of_ab;
    Served: "serve", crate::served, table::of_served;
    Sweep: "sim sweep", crate::sweep, table::of_sweep;
}

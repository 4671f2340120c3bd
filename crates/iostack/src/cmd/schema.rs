//! `iostack schema [COMMAND]`: how is the JSON of a command laid out?

use anyhow::ensure;
use iostack_model::answers::{
    Answer, Calibration, Check, CostDiff, DevicePicture, History, IoCost, Iolat, Labelled, MergeReport,
    Probe, Repro, Served, Sweep, Watch, WatchSlice, WhatIf, WhatIfList, Why,
};
use iostack_model::{Ladder, Layers, OutcomeFile, SCHEMA, Stages};
use iostack_report::Told;
use iostack_stats::AbReport;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::cmd::compare::Compared;
use crate::cmd::cost::Counted;
use crate::cmd::lab::sheet::MadeSheets;
use crate::cmd::lab::trial::Tried;
use crate::cmd::sim::{check::Checked, list::Listed};
use crate::exit::Ended;
use crate::stored::Stored;
use crate::talk::data;
use crate::written::json_pretty;

/// Arguments of `iostack schema`.
#[derive(clap::Args)]
pub(crate) struct SchemaArgs {
    /// The command whose JSON it describes, such as `run` or `sim sweep` [all
    /// names].
    #[arg(trailing_var_arg = true)]
    command: Vec<String>,
}

/// A kind of answers.
pub(crate) struct AnswerKind {
    /// Command that prints it.
    pub(crate) name: &'static str,
    schema: fn() -> Schema,
    /// Reads it for `iostack report`, which does not show every kind.
    pub(crate) told: Option<ToldAgain>,
}

type ToldAgain = fn(&Stored) -> anyhow::Result<Box<dyn Told>>;

/// Answers of all commands.
pub(crate) const KINDS: &[AnswerKind] = &[
    shown::<OutcomeFile>(),
    shown::<Check>(),
    shown::<Calibration>(),
    shown::<Iolat>(),
    shown::<MergeReport>(),
    shown::<Probe>(),
    shown::<AbReport>(),
    shown::<History>(),
    shown::<Served>(),
    shown::<Sweep>(),
    shown::<WhatIf>(),
    shown::<WhatIfList>(),
    AnswerKind { name: "sim what-if --all", schema: each::<WhatIf>, told: None },
    shown::<DevicePicture>(),
    printed::<Checked>(),
    printed::<Listed>(),
    shown::<Repro>(),
    AnswerKind { schema: each::<IoCost>, ..shown::<IoCost>() },
    shown::<CostDiff>(),
    AnswerKind { schema: each::<Tried>, ..printed::<Tried>() },
    printed::<MadeSheets>(),
    shown::<Stages>(),
    shown::<Layers>(),
    shown::<Watch>(),
    printed::<WatchSlice>(),
    shown::<Why>(),
    AnswerKind { schema: each::<Compared>, ..printed::<Compared>() },
    printed::<Counted>(),
    shown::<Ladder>(),
];

const fn printed<A: Answer + JsonSchema>() -> AnswerKind {
    AnswerKind { name: A::KIND, schema: root::<Labelled<'_, A>>, told: None }
}

const fn shown<A: Answer + JsonSchema + DeserializeOwned + Told + 'static>() -> AnswerKind {
    AnswerKind { told: Some(|stored| Ok(Box::new(stored.parse::<A>()?))), ..printed::<A>() }
}

/// Commands that print what another prints.
const LIKE: &[(&str, &str)] =
    &[("stages", "run"), ("layers", "run"), ("lab bench", "lab cost"), ("stages --device", "stages --pid")];

/// Several answers in one document.
fn each<A: Answer + JsonSchema>() -> Schema {
    root::<Vec<Labelled<'_, A>>>()
}

fn root<Printed: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Printed>()
}

/// There are answers of this kind.
pub(crate) fn describes(kind: &str) -> bool {
    KINDS.iter().any(|known| known.name == kind)
}

/// Prints one, or the names of all.
pub(crate) fn run(args: &SchemaArgs) -> anyhow::Result<Ended> {
    if args.command.is_empty() {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        data(&format!("{}\n\nnext: iostack schema run\n", names.join("\n")));
        return Ok(Ended::Done);
    }
    let typed = args.command.join(" ");
    let name = LIKE.iter().find(|(like, _)| *like == typed).map_or(typed.as_str(), |(_, name)| name);
    let found = KINDS.iter().find(|kind| kind.name == name);
    ensure!(
        found.is_some(),
        "no command `{typed}` prints JSON of iostack's; `iostack schema` lists those that do"
    );
    let mut schema = found.map(|kind| (kind.schema)()).unwrap_or_default();
    schema.insert("$id".to_owned(), json!(format!("urn:iostack:{}:{SCHEMA}", name.replace(' ', "-"))));
    data(&json_pretty(&schema)?);
    Ok(Ended::Done)
}

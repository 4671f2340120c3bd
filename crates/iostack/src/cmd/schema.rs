//! `iostack schema [COMMAND]`: how is the JSON of a command laid out?

use anyhow::{Context, ensure};
use iostack_model::answers::{
    Answer, Check, CostDiff, DevicePicture, History, IoCost, Iolat, Labelled, MergeReport, Repro, Served,
    Sweep, WhatIf,
};
use iostack_model::{Ladder, Layers, OutcomeFile, SCHEMA, Stages};
use iostack_stats::AbReport;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::json;

use crate::cmd::compare::Compared;
use crate::cmd::cost::Counted;
use crate::cmd::lab::test::Tried;
use crate::cmd::sim::{check::Checked, list::Listed};
use crate::exit::Ended;
use crate::talk::data;

/// Arguments of `iostack schema`.
#[derive(clap::Args)]
pub(crate) struct SchemaArgs {
    /// The command whose JSON it describes, such as `run` or `sim sweep` [all
    /// names].
    #[arg(trailing_var_arg = true)]
    command: Vec<String>,
}

/// A command, and what makes the schema of its JSON.
type Row = (&'static str, fn() -> Schema);

/// What `--json` of each command prints.
const SCHEMAS: &[Row] = &[
    ("run", of::<OutcomeFile>),
    ("check", of::<Check>),
    ("iolat", of::<Iolat>),
    ("merge", of::<MergeReport>),
    ("ab", of::<AbReport>),
    ("history", of::<History>),
    ("serve", of::<Served>),
    ("sim sweep", of::<Sweep>),
    ("sim what-if", of::<WhatIf>),
    ("sim what-if --all", each::<WhatIf>),
    ("sim show", of::<DevicePicture>),
    ("sim check", of::<Checked>),
    ("sim list", of::<Listed>),
    ("repro", of::<Repro>),
    ("lab cost", each::<IoCost>),
    ("lab cost --diff", of::<CostDiff>),
    ("lab test", each::<Tried>),
    ("stages --pid", of::<Stages>),
    ("layers --pid", of::<Layers>),
    ("compare", each::<Compared>),
    ("cost", of::<Counted>),
    ("doctor", of::<Ladder>),
];

/// Commands that print what another prints.
const LIKE: &[(&str, &str)] =
    &[("stages", "run"), ("layers", "run"), ("lab bench", "lab cost"), ("stages --device", "stages --pid")];

fn of<A: Answer + JsonSchema>() -> Schema {
    root::<Labelled<'_, A>>()
}

/// Several answers in one document.
fn each<A: Answer + JsonSchema>() -> Schema {
    root::<Vec<Labelled<'_, A>>>()
}

fn root<Printed: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Printed>()
}

/// There are answers of this kind.
pub(crate) fn describes(kind: &str) -> bool {
    SCHEMAS.iter().any(|(name, _)| *name == kind)
}

/// Prints one, or the names of all.
pub(crate) fn run(args: &SchemaArgs) -> anyhow::Result<Ended> {
    if args.command.is_empty() {
        let names: Vec<&str> = SCHEMAS.iter().map(|(name, _)| *name).collect();
        data(&format!("{}\n\nnext: iostack schema run\n", names.join("\n")));
        return Ok(Ended::Done);
    }
    let typed = args.command.join(" ");
    let name = LIKE.iter().find(|(like, _)| *like == typed).map_or(typed.as_str(), |(_, name)| name);
    let found = SCHEMAS.iter().find(|(known, _)| *known == name);
    ensure!(
        found.is_some(),
        "no command `{typed}` prints JSON of iostack's; `iostack schema` lists those that do"
    );
    let mut schema = found.map(|(_, made)| made()).unwrap_or_default();
    schema.insert("$id".to_owned(), json!(format!("urn:iostack:{}:{SCHEMA}", name.replace(' ', "-"))));
    data(&(serde_json::to_string_pretty(&schema).context("a schema is plain data")? + "\n"));
    Ok(Ended::Done)
}

//! `iostack schema [COMMAND]`: how is the JSON of a command laid out?

use anyhow::{Context, ensure};
use iostack_host::step::UserCost;
use iostack_model::answers::{
    Check, CostDiff, DeviceCard, DevicePicture, IoCost, Iolat, MergeReport, Repro, Served, Sweep, WhatIf,
};
use iostack_model::{Ladder, Layers, OutcomeFile, SCHEMA, Stages};
use iostack_sim::sheet::card::Summary;
use iostack_stats::AbReport;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::json;

use crate::cmd::compare::Compared;
use crate::cmd::lab::test::Tried;
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
    ("serve", of::<Served>),
    ("sim sweep", of::<Sweep>),
    ("sim what-if", of::<WhatIf>),
    ("sim what-if --all", of::<Vec<WhatIf>>),
    ("sim show", of::<DevicePicture>),
    ("sim check", of::<DeviceCard>),
    ("sim list", of::<Vec<Summary>>),
    ("repro", of::<Repro>),
    ("lab cost", of::<Vec<IoCost>>),
    ("lab cost --diff", of::<CostDiff>),
    ("lab test", of::<Vec<Tried>>),
    ("stages --pid", of::<Stages>),
    ("layers --pid", of::<Layers>),
    ("compare", of::<Vec<Compared>>),
    ("cost", of::<UserCost>),
    ("doctor", of::<Ladder>),
];

/// Commands that print what another prints.
const LIKE: &[(&str, &str)] =
    &[("stages", "run"), ("layers", "run"), ("lab bench", "lab cost"), ("stages --device", "stages --pid")];

fn of<Answer: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Answer>()
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

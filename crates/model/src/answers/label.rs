//! What does the JSON of an answer begin with?
//!
//! ```text
//!   {"kind":"check","schema":1, ..}          iostack schema check    describes it
//!   [{"kind":"lab cost","schema":1, ..}, ..] several answers in one document, each with its own label
//! ```

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::{
    Calibration, Check, CostDiff, DevicePicture, History, IoCost, Iolat, MergeReport, Probe, Repro, Served,
    Sweep, Watch, WatchSlice, WhatIf, WhatIfList, Why,
};
use crate::{Ladder, Layers, OutcomeFile, Stages};

/// Answer that a command prints with `--json`.
pub trait Answer: Serialize {
    /// Kind of the answer: the words behind `iostack schema` that describe it.
    const KIND: &'static str;
    /// The version of the layout, where the answer has no field `schema` of its own.
    const SCHEMA: Option<u32> = None;
}

/// An answer as it is written: what it is, the version of its layout, then its fields.
#[derive(Serialize)]
pub struct Labelled<'a, A> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<u32>,
    // Written straight through. Reading goes by the answer's own type, which takes no notice of `kind`.
    #[serde(flatten)]
    answer: &'a A,
}

/// Puts its label before an answer.
pub fn labelled<A: Answer>(answer: &A) -> Labelled<'_, A> {
    Labelled { kind: A::KIND, schema: A::SCHEMA, answer }
}

/// Puts its label before each.
pub fn labelled_each<A: Answer>(answers: &[A]) -> Vec<Labelled<'_, A>> {
    answers.iter().map(labelled).collect()
}

impl<A: Answer + JsonSchema> JsonSchema for Labelled<'_, A> {
    fn schema_name() -> Cow<'static, str> {
        A::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("labelled {}", A::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = A::json_schema(generator);
        let object = schema.ensure_object();
        let mut describe = |name: &str, rule: Schema| {
            object["properties"][name] = rule.into();
            object["required"].as_array_mut().expect("some fields are always there").push(name.into());
        };
        describe("kind", json_schema!({"type": "string", "const": A::KIND}));
        if A::SCHEMA.is_some() {
            describe("schema", json_schema!({"type": "integer", "const": crate::SCHEMA}));
        }
        schema
    }
}

/// Kinds of answers; `unlabelled` are those without a field `schema`.
#[macro_export]
macro_rules! kinds {
    (@unlabelled) => { Some($crate::SCHEMA) };
    ($($answer:ty: $kind:literal $(, $unlabelled:ident)?;)+) => {
        $(impl $crate::answers::Answer for $answer {
            const KIND: &'static str = $kind;
            $(const SCHEMA: Option<u32> = $crate::kinds!(@$unlabelled);)?
        })+
    };
}

kinds! {
    OutcomeFile: "run";
    Check: "check";
    Calibration: "calibrate";
    Iolat: "iolat";
    History: "history";
    MergeReport: "merge";
    Probe: "probe";
    Served: "serve";
    Sweep: "sim sweep";
    WhatIf: "sim what-if";
    WhatIfList: "sim what-if PLATFORM";
    Watch: "watch";
    WatchSlice: "watch --lines", unlabelled;
    Why: "why";
    Repro: "repro";
    IoCost: "lab cost";
    CostDiff: "lab cost --diff";
    DevicePicture: "sim show", unlabelled;
    Stages: "stages --pid", unlabelled;
    Layers: "layers --pid", unlabelled;
    Ladder: "doctor", unlabelled;
}

//! What is known of a simulated device, for people to read?
use super::{CurvePoint, Ranking, Sizing};
use crate::Outcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A simulated device with its numbers and why to believe them.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DeviceCard {
    /// Name of the device, as in `sim:NAME`.
    pub name: String,
    /// Title in a few words.
    pub title: String,
    /// Its kind, such as `flash`.
    pub kind: String,
    /// Description of the device, in sentences.
    pub about: String,
    /// Year in which it was sold, or of which it is typical.
    pub year: Option<u32>,
    /// Origin of its numbers: `built in`, or the path of the file.
    pub origin: String,
    /// Numbers that were changed: key and value, as typed.
    pub changed: Vec<(String, String)>,
    /// Its parts, from the host down.
    pub levels: Vec<DeviceLevel>,
    /// Its numbers, in the order of its kind's table.
    pub numbers: Vec<DeviceNumber>,
    /// Claims that it must reach.
    pub claims: Vec<DeviceClaim>,
    /// Documents that are cited: short name and whole title.
    pub sources: Vec<(String, String)>,
    /// Numbers with a source, those of devices inside included.
    pub sourced: u32,
    /// Numbers fitted to a claim.
    pub fitted: u32,
    /// Numbers that are believed, usual, or changed.
    pub assumed: u32,
    /// The devices inside.
    pub members: Vec<DeviceCard>,
}

/// A device and what a job showed in it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DevicePicture {
    /// Its parts and numbers.
    pub card: DeviceCard,
    /// The key under which each member stands, in the order of [`DeviceCard::members`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// The job that was run to see what is full; `None` without a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Outcome>,
    /// Runs it again; empty without a run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// Its numbers by how much they matter; `None` when that was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranking: Option<Ranking>,
    /// Size for a rate; `None` when that was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizing: Option<Sizing>,
    /// Short loads and what limits each; empty when that was not asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<CurvePoint>,
}

impl DevicePicture {
    /// The picture before anything was run; of a platform with the roles of its members.
    pub fn of_card(card: DeviceCard, roles: Vec<String>) -> DevicePicture {
        let (run, command, ranking, sizing, curve) = (None, String::new(), None, None, Vec::new());
        DevicePicture { card, roles, run, command, ranking, sizing, curve }
    }
}

named! {
    /// The parts of a platform.
    LevelName {
        /// Parts of the host.
        Core = "core",
        /// Parts between host and drives.
        Adapter = "adapter",
        /// Parts that hold the data.
        Drive = "drive",
    }
}

/// Parts that are alike, side by side.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DeviceLevel {
    /// One of them; a device's own are called `link`, `controller`, `die`.
    pub name: LevelName,
    /// Number of parts of this kind.
    pub count: u64,
    /// True for what only connects the parts above and below.
    pub is_way: bool,
    /// Facts about one of them, a few words each.
    pub facts: Vec<String>,
}

/// A number with its reason.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DeviceNumber {
    /// Key of the number, like `flash.read`.
    pub key: String,
    /// Value as it is written: `25us`.
    pub value: String,
    /// Meaning of the number.
    pub meaning: String,
    /// Basis that the number rests on.
    pub basis: Basis,
    /// The document and the place in it, the claim, or why it is likely.
    pub source: String,
}

words! {
    /// Basis of a number.
    #[serde(rename_all = "snake_case")]
    pub enum Basis {
        /// A document says so.
        Cited = "source",
        /// It was chosen so that a claim holds.
        Fitted = "fitted to",
        /// Nobody says so, but it is likely.
        Assumed = "assumed",
        /// It was changed for this run.
        Changed = "changed",
        /// The file is silent; the usual value of the kind.
        Usual = "usual",
    }
}

/// A figure that a device must reach.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DeviceClaim {
    /// Its name in the file.
    pub name: String,
    /// Claim in words.
    pub what: String,
    /// `iops`, `bandwidth`, `latency_mean`.
    pub figure: String,
    /// Expected value with its unit: `35000/s within 3 %`.
    pub expected: String,
    /// Source of the claim.
    pub source: String,
    /// Value that was found, with its unit; `None` when it was not tried.
    pub found: Option<String>,
    /// Difference from the claimed figure: `+1.2 %`.
    pub difference: Option<String>,
    /// True when it is within the expected bounds.
    pub holds: Option<bool>,
}

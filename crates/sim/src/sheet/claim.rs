//! What must a device reach? Figures that somebody published of the real one, each with the job that shows it.
//!
//! ```toml
//! [claims.read-deep]
//! what = "4 KiB random reads, depth 32"
//! job = { pattern = "random", queue_depth = 32, runtime = "100ms" }
//! set = { flash.state = "fresh" }     # numbers that differ while it is shown
//! figure = "iops"
//! value = "35000/s"                   # or at_least, at_most
//! tolerance = "5%"
//! source = "cmu: table I"
//! ```
//!
//! `over = "read-one"` compares with the same figure of another claim: the value is then a ratio, like `80%`.

use iostack_model::answers::Figure;
use iostack_model::{Engine, Job};
use iostack_workload::{native_options, set_option};

use crate::sheet::document::{RawClaim, Reader, TypedText};
use crate::sheet::error::did_you_mean;
use crate::sheet::value;

/// A figure that a device must reach.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Name in the file.
    pub name: String,
    /// Claim in words.
    pub what: String,
    /// The load that shows it.
    pub job: Job,
    /// Numbers of the device that differ while it is shown.
    pub set: Vec<(String, String)>,
    /// Figure that is claimed.
    pub figure: Figure,
    /// The claim whose figure this one is divided by.
    pub over: Option<String>,
    /// Value that the figure must have.
    pub expected: Expected,
    /// Source of the claim.
    pub source: String,
}

/// Value that a figure must have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected {
    /// Within a share of a value.
    About {
        /// Value of the claim.
        value: f64,
        /// The share, 0.05 for 5 %.
        tolerance: f64,
    },
    /// No lower than this.
    AtLeast(f64),
    /// No higher than this.
    AtMost(f64),
}

/// I/Os of the longest claim, some minutes of this program.
const IOS_MAX: u64 = 100_000_000;

const FIELDS: [&str; 8] = ["what", "figure", "over", "value", "tolerance", "at_least", "at_most", "source"];

fn read(figure: Figure, text: &str) -> Result<f64, value::Unreadable> {
    match figure {
        Figure::Iops => value::per_second(text),
        Figure::Bandwidth => value::rate(text),
        Figure::LatencyMean | Figure::LatencyMedian | Figure::LatencyP99 => {
            value::time(text).map(|time| time.0 as f64)
        }
        Figure::WriteAmplification => value::number(text),
    }
}

impl Expected {
    /// The figure that was claimed.
    pub fn figure(self) -> f64 {
        match self {
            Expected::About { value, .. } | Expected::AtLeast(value) | Expected::AtMost(value) => value,
        }
    }

    /// True when a figure is as expected.
    pub fn holds(self, found: f64) -> bool {
        match self {
            Expected::About { value, tolerance } => (found - value).abs() <= tolerance * value,
            Expected::AtLeast(least) => found >= least,
            Expected::AtMost(most) => found <= most,
        }
    }
}

impl Claim {
    /// A claim of a file; what is wrong with it goes to the reader. `all` are those it may be compared with.
    pub(crate) fn read(raw: &RawClaim, all: &[RawClaim], reader: &mut Reader) -> Option<Claim> {
        let before = reader.problems.len();
        let field = |name: &str| raw.fields.iter().find(|(key, _)| key == name).map(|(_, typed)| typed);
        let text = |name: &str| field(name).map_or(String::new(), |typed| typed.text.clone());
        check_fields(raw, reader);
        let job = job_of(raw, reader);
        let figure = figure_of(raw, field("figure"), reader);
        let over = field("over").map(|typed| typed.text.clone());
        if let Some(other) = over.as_ref().filter(|other| !all.iter().any(|claim| claim.name == **other)) {
            let what = format!("`{}` is compared with `{other}`, which is no claim", raw.name);
            reader.problem(raw.line, what, "name a claim of this file");
        }
        let expected = expected_of(raw, figure.unwrap_or(Figure::Iops), over.is_some(), reader);
        let set = raw.fields.iter().filter_map(|(key, typed)| {
            key.strip_prefix("set.").map(|key| (key.to_owned(), typed.text.clone()))
        });
        let (name, what, source, set) = (raw.name.clone(), text("what"), text("source"), set.collect());
        let (figure, expected) = (figure?, expected?);
        let sound = reader.problems.len() == before;
        sound.then_some(Claim { name, what, job, set, figure, over, expected, source })
    }
}

fn check_fields(raw: &RawClaim, reader: &mut Reader) {
    for (key, typed) in &raw.fields {
        let inside = key.starts_with("job.") || key.starts_with("set.");
        if !inside && !FIELDS.contains(&key.as_str()) {
            let near = did_you_mean(key, FIELDS.into_iter());
            let remedy = format!("{near}A claim has job, set, {}", FIELDS.join(", "));
            reader.problem(typed.line, format!("a claim has no `{key}`"), remedy);
        }
    }
    for needed in ["what", "source"] {
        if !raw.fields.iter().any(|(key, _)| key == needed) {
            reader.problem(raw.line, format!("the claim `{}` has no {needed}", raw.name), "add it");
        }
    }
}

fn job_of(raw: &RawClaim, reader: &mut Reader) -> Job {
    // An engine that keeps the depth it is asked for.
    let mut job = Job { name: raw.name.clone(), engine: Engine::IO_URING, ..Job::default() };
    let order = native_options();
    let place = |key: &str| order.iter().position(|option| option.name == key);
    let options = raw.fields.iter().filter_map(|(key, typed)| Some((key.strip_prefix("job.")?, typed)));
    let mut options: Vec<(&str, &TypedText)> = options.collect();
    options.sort_by_key(|(key, _)| place(key));
    for (key, typed) in options {
        if let Err(error) = set_option(&mut job, key, &typed.text) {
            reader.problem(typed.line, error.to_string(), "`iostack options` lists what a job may say");
        }
    }
    if let Some(count) = job.io_count.filter(|&count| count > IOS_MAX) {
        let what = format!("the claim `{}` asks for {count} I/Os, which nobody waits for", raw.name);
        reader.problem(raw.line, what, format!("give an io_count of at most {IOS_MAX}"));
    }
    job
}

fn figure_of(raw: &RawClaim, typed: Option<&TypedText>, reader: &mut Reader) -> Option<Figure> {
    let names: Vec<&str> = Figure::names().collect();
    let remedy = format!("write one of: {}", names.join(", "));
    let Some(typed) = typed else {
        reader.problem(raw.line, format!("the claim `{}` has no figure", raw.name), remedy);
        return None;
    };
    let found = Figure::named(&typed.text);
    if found.is_none() {
        reader.problem(typed.line, format!("`figure = {}`: no such figure", typed.text), remedy);
    }
    found
}

fn expected_of(raw: &RawClaim, figure: Figure, is_ratio: bool, reader: &mut Reader) -> Option<Expected> {
    let mut read = |name: &str| {
        let (_, typed) = raw.fields.iter().find(|(key, _)| key == name)?;
        let share = name == "tolerance" || is_ratio;
        let value = if share { value::share(&typed.text) } else { read(figure, &typed.text) };
        match value {
            Ok(value) => Some(value),
            Err(wrong) => {
                let what = format!("`{name} = {}`: {}", typed.text, wrong.what);
                reader.problem(typed.line, what, wrong.remedy);
                None
            }
        }
    };
    let (value, tolerance) = (read("value"), read("tolerance"));
    let (least, most) = (read("at_least"), read("at_most"));
    let expected = match (value, tolerance, least, most) {
        (Some(value), Some(tolerance), None, None) => Some(Expected::About { value, tolerance }),
        (None, None, Some(least), None) => Some(Expected::AtLeast(least)),
        (None, None, None, Some(most)) => Some(Expected::AtMost(most)),
        _ => None,
    };
    if expected.is_none() {
        let what = format!("the claim `{}` does not say what the figure must be", raw.name);
        reader.problem(raw.line, what, "write value and tolerance, or at_least, or at_most");
    }
    expected
}

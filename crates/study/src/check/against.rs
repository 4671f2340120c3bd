//! Does the device do what its data sheet says? Pure.
//!
//! A rated figure belongs to conditions: direction, order, size, I/Os in flight. The point of the check that is nearest to
//! them is taken, and what differs is said. A figure that is missed under other conditions is not called missed.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use iostack_model::answers::{Against, AgainstFigure, Figure, Kept, Point, Step, StepKind};
use iostack_model::{Access, Bytes, Direction, Interval, Nanos, Outcome, Storage};
use iostack_target::{Rating, Targets};

use super::others;
use super::summary::scaled;

/// A figure within this share of the rated one is as rated: sheets round, and rate one drive of many.
const AS_RATED: f64 = 0.05;
/// Steps whose points ask plainly: one engine, around the page cache, nothing beside.
const PLAIN: [StepKind; 4] = [StepKind::Cells, StepKind::Depth, StepKind::Latency, StepKind::Size];
const TYPED: &str = "write KEY=VALUE, several with commas: read_iops=500k, write_iops, read_bandwidth=3GB/s, \
                     write_bandwidth, read_latency=80us or write_latency";

/// One rated figure of a data sheet.
#[derive(Clone, Debug, PartialEq)]
struct Rated {
    what: String,
    figure: Figure,
    value: f64,
    source: String,
    direction: Direction,
    random: bool,
    /// Size of an I/O, and I/Os in flight; `None` where the sheet does not say.
    size: Option<Bytes>,
    depth: Option<u32>,
    notes: Vec<String>,
}

/// A data sheet that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSheet {
    name: String,
    /// Model name of a drive of this sheet, if the sheet is of one product.
    product: Option<String>,
    rated: Vec<Rated>,
}

impl DataSheet {
    /// A sheet of the catalogue, the path of one, or figures as typed.
    pub fn read(typed: &str, targets: &dyn Targets) -> anyhow::Result<DataSheet> {
        if typed.contains('=') && !Path::new(typed).exists() {
            let rated =
                typed.split(',').map(|one| typed_figure(one.trim())).collect::<anyhow::Result<_>>()?;
            return Ok(DataSheet { name: format!("as typed: {typed}"), product: None, rated });
        }
        let sheet = targets.ratings(typed).with_context(|| {
            format!("--against `{typed}`: name a device of `iostack sim list`, or {TYPED}")
        })?;
        let rated: Vec<Rated> = sheet.figures.iter().filter_map(rated).collect();
        ensure!(
            !rated.is_empty(),
            "--against `{typed}`: its sheet rates neither a rate nor a latency of one kind of I/O; {TYPED}"
        );
        let product = product(&sheet.name, &sheet.title);
        Ok(DataSheet { name: format!("{}: {}", sheet.name, sheet.title), product, rated })
    }

    /// Beside what was measured on this storage.
    pub(crate) fn beside(&self, steps: &[Step], storage: &Storage) -> Against {
        let plain = steps.iter().filter(|step| PLAIN.contains(&step.id)).flat_map(|step| &step.points);
        let points: Vec<&Point> = plain.collect();
        Against {
            sheet: self.name.clone(),
            note: self.other_drive(storage),
            figures: self.rated.iter().map(|one| one.beside(&points, storage)).collect(),
        }
    }

    /// Note that the drive is not the sheet's, if its name says so.
    fn other_drive(&self, storage: &Storage) -> Option<String> {
        let (product, drive) = (self.product.as_ref()?, storage.bottom()?);
        let called = drive.model.as_deref().unwrap_or(&drive.driver);
        (!plain(called).contains(product.as_str())).then(|| {
            format!(
                "By its name this is not the drive of the sheet: {} calls itself `{called}`, which says nothing of \
                 {product}.",
                drive.name
            )
        })
    }
}

/// The name of a sheet as part of a drive's own, where its title begins with it and it has a number, as products have:
/// `970pro` of "Samsung 970 PRO, 512 GB".
fn product(name: &str, title: &str) -> Option<String> {
    let (name, title) = (plain(name), plain(title.split([':', ',']).next().unwrap_or_default()));
    (name.bytes().any(|byte| byte.is_ascii_digit()) && title.contains(&name)).then_some(name)
}

/// Letters and digits alone, small.
fn plain(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|char| char.to_ascii_lowercase()).collect()
}

/// `read_iops=500k`: nobody says at which depth.
fn typed_figure(typed: &str) -> anyhow::Result<Rated> {
    let Some((key, text)) = typed.split_once('=') else { bail!("--against `{typed}` has no value; {TYPED}") };
    let (key, text) = (key.trim(), text.trim());
    let (direction, figure) = match key.split_once('_') {
        Some(("read", figure)) => (Direction::Read, figure),
        Some(("write", figure)) => (Direction::Write, figure),
        _ => bail!("--against `{typed}`: nothing is called `{key}`; {TYPED}"),
    };
    let (figure, random, size, depth, value) = match figure {
        "iops" => (Figure::Iops, true, Some(Bytes(4096)), None, thousands(text)),
        "bandwidth" => (Figure::Bandwidth, false, None, None, bandwidth(text)),
        "latency" => {
            let time = text.parse::<Nanos>().ok().map(|time| time.0 as f64);
            (Figure::LatencyMean, true, Some(Bytes(4096)), Some(1), time)
        }
        _ => bail!("--against `{typed}`: nothing is called `{key}`; {TYPED}"),
    };
    let Some(value) = value.filter(|&value| value > 0.0) else {
        bail!("--against `{typed}`: `{text}` is no such figure; {TYPED}")
    };
    let order = if random { "4 KiB random" } else { "sequential" };
    let best = |what: &str| format!("the {what} not given; the best that was measured is taken");
    let note = match (depth, size) {
        (None, Some(_)) => best("depth it is rated at was"),
        (None, None) => best("size and depth it is rated at were"),
        _ => "one in flight is taken; a sheet may mean another depth".to_owned(),
    };
    Ok(Rated {
        what: format!("{order} {}s", direction.name()),
        figure,
        value,
        source: "as typed".to_owned(),
        direction,
        random,
        size,
        depth,
        notes: vec![note],
    })
}

/// `500k`, `1.2M`, `90000/s`.
fn thousands(text: &str) -> Option<f64> {
    let text = text.strip_suffix("/s").unwrap_or(text);
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => text.strip_suffix('M').map_or((text, 1.0), |digits| (digits, 1e6)),
    };
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    digits.parse::<f64>().ok().filter(|_| plain).map(|number| number * factor)
}

fn bandwidth(text: &str) -> Option<f64> {
    text.strip_suffix("/s")?.trim_end().parse::<Bytes>().ok().map(|bytes| bytes.0 as f64)
}

/// A figure of a sheet, as far as a check can be held against it: one direction and one size, no ratio of two.
fn rated(rating: &Rating) -> Option<Rated> {
    let job = &rating.job;
    let direction = one_direction(job.mix.read, job.mix.write)?;
    let known = !rating.is_ratio && rating.figure != Figure::WriteAmplification;
    let prepared = |(key, value): &(String, String)| {
        format!("rated with {key} = {value}; the check does not prepare the device")
    };
    known.then(|| Rated {
        what: rating.what.clone(),
        figure: rating.figure,
        value: rating.value,
        source: rating.source.clone(),
        direction,
        random: job.access != Access::Sequential,
        size: one_size(job, direction),
        depth: Some(job.queue_depth * job.threads),
        notes: rating.set.iter().map(prepared).collect(),
    })
}

fn one_direction(read: u8, write: u8) -> Option<Direction> {
    match (read, write) {
        (100, 0) => Some(Direction::Read),
        (0, 100) => Some(Direction::Write),
        _ => None,
    }
}

fn one_size(job: &iostack_model::Job, direction: Direction) -> Option<Bytes> {
    match job.block_sizes.of(direction) {
        [(size, _)] => Some(*size),
        _ => None,
    }
}

impl Rated {
    fn beside(&self, points: &[&Point], storage: &Storage) -> AgainstFigure {
        let mut notes = self.notes.clone();
        let nearest = self.nearest(points);
        let measured = nearest.and_then(|outcome| self.read_off(outcome));
        let ratio = measured.map(|value| scaled(value, 1.0 / self.value));
        let (mut measured_at, mut easier) = (String::new(), false);
        if let Some(outcome) = nearest {
            let (size, depth) = conditions(outcome, self.direction);
            measured_at = format!("{size}, {depth} in flight");
            let other_size = self.size.filter(|&rated| rated != size).map(|rated| rated.to_string());
            let other_depth =
                self.depth.filter(|&rated| rated != depth).map(|rated| format!("{rated} in flight"));
            let other: Vec<String> = other_size.into_iter().chain(other_depth).collect();
            if !other.is_empty() {
                easier = self.is_easier(size, depth);
                notes.push(format!("rated at {}, which was not measured", other.join(", ")));
            }
            notes.extend(spoiled(outcome, storage));
        } else {
            notes.push(format!("the check made no such {}s", self.direction.name()));
        }
        // Of typed figures nobody knows the conditions, and a device that was not prepared is not the one that is rated.
        let alike = notes.is_empty();
        AgainstFigure {
            what: self.what.clone(),
            figure: self.figure.name().to_owned(),
            rated: self.value,
            source: self.source.clone(),
            measured_at,
            measured,
            ratio,
            verdict: ratio.map_or(Kept::NotMeasured, |ratio| self.verdict(ratio, alike, easier)),
            notes,
        }
    }

    fn is_latency(&self) -> bool {
        !matches!(self.figure, Figure::Iops | Figure::Bandwidth)
    }

    /// The outcome whose conditions are nearest; of equally near ones the best.
    fn nearest<'a>(&self, points: &[&'a Point]) -> Option<&'a Outcome> {
        let same = |outcome: &&Outcome| {
            let job = &outcome.job;
            one_direction(job.mix.read, job.mix.write) == Some(self.direction)
                && (job.access != Access::Sequential) == self.random
                && job.direct
                && outcome.ios() > 0
        };
        let far = |outcome: &Outcome| {
            let (size, depth) = conditions(outcome, self.direction);
            let octaves = |a: f64, b: f64| (a / b).log2().abs();
            let by_size = self.size.map_or(0.0, |rated| octaves(size.0 as f64, rated.0 as f64));
            let by_depth = self.depth.map_or(0.0, |rated| octaves(f64::from(depth), f64::from(rated)));
            by_size + by_depth
        };
        let better = |outcome: &Outcome| match self.read_off(outcome) {
            Some(value) if self.is_latency() => value.mean,
            Some(value) => -value.mean,
            None => f64::INFINITY,
        };
        let outcomes = points.iter().map(|point| &point.outcome).filter(same);
        outcomes.min_by(|a, b| far(a).total_cmp(&far(b)).then(better(a).total_cmp(&better(b))))
    }

    /// The figure with its interval, where there is one.
    fn read_off(&self, outcome: &Outcome) -> Option<Interval> {
        let bins = &outcome.flow(self.direction).latency;
        let per_io = outcome.bytes().0 as f64 / outcome.ios().max(1) as f64;
        let quantile = |fraction: f64| {
            let enough = bins.count >= iostack_stats::samples_needed(fraction);
            Some(Interval::exact(bins.quantile_ns(fraction).filter(|_| enough)? as f64))
        };
        match self.figure {
            Figure::Iops => Some(outcome.iops),
            Figure::Bandwidth => Some(scaled(outcome.iops, per_io)),
            Figure::LatencyMean => Some(mean_latency(outcome, self.direction)),
            Figure::LatencyMedian => quantile(0.5),
            Figure::LatencyP99 => quantile(0.99),
            Figure::WriteAmplification => None,
        }
    }

    /// More in flight and larger I/Os give more bytes; smaller ones more I/Os. An easier latency is not told from a harder.
    fn is_easier(&self, size: Bytes, depth: u32) -> bool {
        let size = self
            .size
            .is_some_and(|rated| if self.figure == Figure::Iops { size < rated } else { size > rated });
        self.is_latency() || size || self.depth.is_some_and(|rated| depth > rated)
    }

    fn verdict(&self, ratio: Interval, alike: bool, easier: bool) -> Kept {
        let (kept, missed) = if self.is_latency() {
            (ratio.high <= 1.0 + AS_RATED, ratio.low > 1.0 + AS_RATED)
        } else {
            (ratio.low >= 1.0 - AS_RATED, ratio.high < 1.0 - AS_RATED)
        };
        match (kept, missed) {
            (true, _) if !easier => Kept::Kept,
            (_, true) if alike => Kept::Missed,
            _ => Kept::Unclear,
        }
    }
}

/// Note that others had the CPUs or the device meanwhile, so that a missed figure is not the device's fault.
fn spoiled(outcome: &Outcome, storage: &Storage) -> Option<String> {
    if others::is_spoiled(storage, outcome, 1) {
        let lost = others::missed(storage, outcome, 1) * 100.0;
        return Some(format!("others had the CPUs: this load lacked one for {lost:.0} % of its time"));
    }
    let (device, share) = others::traffic(std::iter::once(outcome))?;
    others::is_theirs(share).then(|| format!("others had {:.0} % of the traffic of {device}", share * 100.0))
}

/// Size of an I/O, and how many were in flight.
fn conditions(outcome: &Outcome, direction: Direction) -> (Bytes, u32) {
    let job = &outcome.job;
    let size = job.block_sizes.of(direction).first().map_or(Bytes(0), |(size, _)| *size);
    (size, job.depth() * job.threads)
}

/// Mean latency with its interval over the slices of the run.
fn mean_latency(outcome: &Outcome, direction: Direction) -> Interval {
    let at = direction as usize;
    let slices = outcome.series.iter().filter(|slice| slice.ios[at] > 0);
    let means: Vec<f64> =
        slices.map(|slice| slice.latency_sum_ns[at] as f64 / slice.ios[at] as f64).collect();
    if means.is_empty() {
        return Interval::exact(outcome.flow(direction).latency.mean_ns());
    }
    iostack_stats::rate_interval(&means)
}

#[cfg(test)]
#[path = "against_tests.rs"]
mod tests;

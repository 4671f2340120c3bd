//! Does a curve have the shape that was claimed?
//!
//! ```text
//!   value, at_most, at_least, in_range   a figure, or the ratio of two;   adds   the difference of two
//!   bends_at      the sharpest bend of a curve, both axes logarithmic
//!   knee_at       ┌────   rises   ╱   flat_within ────   falls_then_level ──┐   equal_shape   two of these
//!                ╱               ╱                                          └──
//!   levels_when_low   the rate is level from the moment that another figure reaches its floor
//!   above             one curve is so many times above another, everywhere
//! ```
//!
//! Pure, and each says what it saw, so that a reader can judge it himself. Start reading at [`judge`].

use iostack_model::Interval;

/// A fall of this share against an earlier point is noise.
const SLACK: f64 = 0.02;

/// A fall must be over within this share of the run to be called fast.
const FAST: f64 = 0.25;

/// Points of a curve, in order of x.
pub(crate) type Line = [(f64, f64)];

/// Test that a claim is put to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Test {
    /// Ours is the claimed figure, give or take this share.
    Value { within: f64 },
    /// Ours is the claimed figure, give or take so much of what it is counted in; of percent that are points.
    Points { within: f64 },
    /// Ours lies among the measured ones, the range widened by this share at both ends.
    InRange { least: f64, most: f64, within: f64 },
    /// One figure less another is the claimed one, give or take this share.
    Adds { within: f64 },
    /// Ours is not above the claimed figure.
    AtMost,
    /// Ours is not below the claimed figure.
    AtLeast,
    /// The first point whose rate is within this share of the best, and stays there, is the claimed one.
    KneeAt { within: f64 },
    /// The sharpest bend, both axes logarithmic, is at the claimed x: so many stations work side by side, less one.
    BendsAt,
    /// No point falls below an earlier one, and the last is at least so many times the first.
    Rises { by: f64 },
    /// The lowest is at most this share below the highest.
    FlatWithin { within: f64 },
    /// High at first; then, within a quarter of the run, at most `to` of it; then level, give or take this share.
    FallsThenLevel { to: f64, within: f64 },
    /// The first line is level from the time on, give or take so many windows, at which the second reaches its floor.
    LevelsWhenLow { windows: f64, within: f64 },
    /// Both lines fall and level, and keep the same share of their start, give or take this.
    EqualShape { to: f64, within: f64 },
    /// Everywhere at least so many times the second line; of two named points, one so many times the other.
    Above { by: f64 },
}

impl Test {
    /// True when two figures make a ratio of it.
    pub(crate) fn is_of_ratios(self) -> bool {
        matches!(
            self,
            Test::Value { .. } | Test::Points { .. } | Test::InRange { .. } | Test::AtMost | Test::AtLeast
        )
    }

    /// True when it compares with a published figure; false for a shape.
    pub(crate) fn is_of_figures(self) -> bool {
        self.is_of_ratios() || matches!(self, Test::Adds { .. } | Test::KneeAt { .. } | Test::BendsAt)
    }
}

/// Result of a test.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judged {
    /// Our figure in words.
    pub(crate) ours: String,
    /// Ours over the claimed figure, less 1.
    pub(crate) difference: Option<f64>,
    /// True when the claim holds.
    pub(crate) holds: bool,
}

impl Judged {
    fn shape(holds: bool, ours: String) -> Judged {
        Judged { ours, difference: None, holds }
    }

    fn figure(holds: bool, ours: f64, claimed: f64) -> Judged {
        Judged { ours: number(ours), difference: Some(ours / claimed - 1.0), holds }
    }
}

/// Puts lines to the test. `claimed` is the published figure; `second` the other line of tests that take two.
///
/// For tests of one value, `first` holds it as its only point; with a `second`, ours is the ratio of the two. An error says
/// why the test cannot be made.
pub(crate) fn judge(
    test: Test,
    first: &Line,
    second: Option<&Line>,
    claimed: Option<f64>,
) -> Result<Judged, String> {
    let claimed = || claimed.ok_or("the claim has no figure to compare with".to_owned());
    let second = || second.ok_or("the test takes two curves or figures".to_owned());
    if first.is_empty() {
        return Err("nothing was measured".to_owned());
    }
    // Of one figure, or of the ratio of two: whether ours, held against the claimed one, is as it must be.
    let compare = |holds: &dyn Fn(f64, f64) -> bool| {
        let (ours, claimed) = (ratio(first, second().ok())?, claimed()?);
        Ok(Judged::figure(holds(ours, claimed), ours, claimed))
    };
    match test {
        Test::Value { within } => compare(&|ours, claimed| (ours / claimed - 1.0).abs() <= within),
        Test::Points { within } => compare(&|ours, claimed| (ours - claimed).abs() <= within),
        Test::InRange { least, most, within } => {
            compare(&|ours, _| least * (1.0 - within) <= ours && ours <= most * (1.0 + within))
        }
        Test::AtMost => compare(&|ours, claimed| ours <= claimed),
        Test::AtLeast => compare(&|ours, claimed| ours >= claimed),
        Test::Adds { within } => {
            let claimed = claimed()?;
            let ours = ratio(first, None)? - ratio(second()?, None)?;
            Ok(Judged::figure((ours / claimed - 1.0).abs() <= within, ours, claimed))
        }
        Test::KneeAt { within } => Ok(knee_at(first, within, claimed()?)),
        Test::BendsAt => bends_at(first, claimed()?),
        Test::Rises { by } => Ok(rises(first, by)),
        Test::FlatWithin { within } => Ok(flat_within(first, within)),
        Test::FallsThenLevel { to, within } => Ok(match fall(first, to, within) {
            Ok(fall) => Judged::shape(true, fall.words()),
            Err(why) => Judged::shape(false, why),
        }),
        Test::LevelsWhenLow { windows, within } => Ok(levels_when_low(first, second()?, windows, within)),
        Test::EqualShape { to, within } => Ok(equal_shape(first, second()?, to, within)),
        Test::Above { by } => above(first, second()?, by),
    }
}

fn ratio(first: &Line, second: Option<&Line>) -> Result<f64, String> {
    let [(_, ours)] = first else { return Err("name the point with `at`".to_owned()) };
    match second {
        None => Ok(*ours),
        Some([(_, base)]) if *base > 0.0 => Ok(ours / base),
        Some(_) => Err("name the other point with `against_at`; it must not be 0".to_owned()),
    }
}

fn knee_at(line: &Line, within: f64, claimed: f64) -> Judged {
    let points: Vec<(f64, Interval)> = line.iter().map(|&(x, y)| (x, Interval::exact(y))).collect();
    match iostack_stats::knee(&points, within) {
        Some(index) => {
            let at = line[index].0;
            Judged::figure((at / claimed - 1.0).abs() < 1e-9, at, claimed)
        }
        None => Judged::shape(false, "still rising at the last point".to_owned()),
    }
}

/// Finds the sharpest bend. Of M balanced stations and N requests the throughput goes as N / (N + M - 1). Its slope in logarithms is
/// (M - 1) / (N + M - 1), which changes fastest at N = M - 1: where nothing else limits, the bend counts the stations.
fn bends_at(line: &Line, claimed: f64) -> Result<Judged, String> {
    if line.len() < 3 || line.iter().any(|&(x, y)| x <= 0.0 || y <= 0.0) {
        return Err("a bend takes three points above 0".to_owned());
    }
    let slope = |a: (f64, f64), b: (f64, f64)| (b.1 / a.1).ln() / (b.0 / a.0).ln();
    let bends = line.windows(3).map(|three| {
        let change = slope(three[0], three[1]) - slope(three[1], three[2]);
        (three[1].0, change / (three[2].0 / three[0].0).ln())
    });
    let (at, bend) = bends.max_by(|a, b| a.1.total_cmp(&b.1)).expect("three points have one in the middle");
    let judged = Judged::figure((at / claimed - 1.0).abs() < 1e-9, at, claimed);
    Ok(if bend > 0.0 { judged } else { Judged::shape(false, "it does not bend".to_owned()) })
}

fn rises(line: &Line, by: f64) -> Judged {
    let span = |(from, low): (f64, f64), (to, high): (f64, f64)| {
        format!("{} at {} to {} at {}", number(low), number(from), number(high), number(to))
    };
    let mut best = line[0];
    for &(x, y) in line {
        if y < best.1 * (1.0 - SLACK) {
            return Judged::shape(false, format!("falls from {}", span(best, (x, y))));
        }
        if y > best.1 {
            best = (x, y);
        }
    }
    let (first, last) = (line[0], line[line.len() - 1]);
    let times = last.1 / first.1;
    let words = format!("{}: {} times", span(first, last), number(times));
    Judged::shape(line.len() > 1 && times >= by, words)
}

/// Lowest and highest.
fn range(line: &Line) -> (f64, f64) {
    line.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &(_, y)| (low.min(y), high.max(y)))
}

fn flat_within(line: &Line, within: f64) -> Judged {
    let (low, high) = range(line);
    let spread = if high > 0.0 { 1.0 - low / high } else { 1.0 };
    let words = format!("{} to {}: within {}", number(low), number(high), percent(spread));
    Judged::shape(line.len() > 1 && spread <= within, words)
}

/// A fall that was found.
#[derive(Clone, Copy, Debug)]
struct Fall {
    /// Level at the start.
    before: f64,
    /// Level at the end.
    after: f64,
    /// Begin and end of the fall.
    from: f64,
    until: f64,
}

impl Fall {
    fn kept(&self) -> f64 {
        self.after / self.before
    }

    fn words(&self) -> String {
        let (from, until) = (number(self.from), number(self.until));
        let when =
            if from == until { format!("at {from} s") } else { format!("between {from} s and {until} s") };
        format!("{} falls to {} ({}) {when}", number(self.before), number(self.after), percent(self.kept()))
    }
}

/// Level of the last third: its median.
fn level_at_end(line: &Line) -> f64 {
    let mut last: Vec<f64> = line[line.len() - line.len().div_ceil(3)..].iter().map(|&(_, y)| y).collect();
    last.sort_by(f64::total_cmp);
    last[last.len() / 2]
}

/// First point from which on all are within this share of the level; the last third at the latest, or it is no level.
fn level_from(line: &Line, level: f64, within: f64) -> Result<usize, String> {
    let off = line.iter().rposition(|&(_, y)| (y - level).abs() > level * within);
    let from = off.map_or(0, |index| index + 1);
    if from > line.len() - line.len().div_ceil(3) {
        let (x, y) = line[from - 1];
        let (x, y, level) = (number(x), number(y), number(level));
        return Err(format!("no level at the end: {y} at {x} s, about {level} around it"));
    }
    Ok(from)
}

fn fall(line: &Line, to: f64, within: f64) -> Result<Fall, String> {
    if line.len() < 6 {
        return Err(format!("only {} windows", line.len()));
    }
    let before = line[0].1;
    let after = level_at_end(line);
    if after > before * to {
        let share = percent(after / before);
        return Err(format!("{} falls to {} only ({share})", number(before), number(after)));
    }
    let level = level_from(line, after, within)?;
    // Nine tenths of the way down is down, however slowly the rest settles.
    let high = before - (before - after) * 0.1;
    let low = before - (before - after) * 0.9;
    let begin = line.iter().position(|&(_, y)| y < high).unwrap_or(0);
    let end = line.iter().position(|&(_, y)| y <= low).unwrap_or(level);
    if (end - begin) as f64 > FAST * line.len() as f64 {
        return Err(format!("falls slowly, from {} s to {} s", number(line[begin].0), number(line[end].0)));
    }
    Ok(Fall { before, after, from: line[begin].0, until: line[end].0 })
}

fn levels_when_low(line: &Line, other: &Line, windows: f64, within: f64) -> Judged {
    let level = level_at_end(line);
    let from = match level_from(line, level, within) {
        Ok(from) => from,
        Err(why) => return Judged::shape(false, why),
    };
    let (low, high) = range(other);
    // The floor is reached when 95 % of the way down is done.
    let floor = low + (high - low) * 0.05;
    let Some(at) = other.iter().position(|&(_, y)| y <= floor) else {
        return Judged::shape(false, "the other figure has no floor".to_owned());
    };
    let (low, floor_at, level_from) = (number(low), number(other[at].0), number(line[from].0));
    let words = format!("floor of {low} at {floor_at} s, level from {level_from} s");
    Judged::shape(from > 0 && (from as f64 - at as f64).abs() <= windows, words)
}

fn equal_shape(first: &Line, second: &Line, to: f64, within: f64) -> Judged {
    match (fall(first, to, within), fall(second, to, within)) {
        (Ok(one), Ok(other)) => {
            let apart = one.kept() / other.kept() - 1.0;
            let words = format!("falls to {}, the other to {}", percent(one.kept()), percent(other.kept()));
            Judged { ours: words, difference: Some(apart), holds: apart.abs() <= within }
        }
        (Err(why), _) => Judged::shape(false, why),
        (_, Err(why)) => Judged::shape(false, format!("the other: {why}")),
    }
}

fn above(first: &Line, second: &Line, by: f64) -> Result<Judged, String> {
    if let ([(_, one)], [(_, other)]) = (first, second) {
        // One point of each that were named: they need not be at the same place.
        let times = one / other;
        return Ok(Judged::shape(times >= by, format!("{} times", number(times))));
    }
    let at = |x: f64| second.iter().find(|(other, _)| (other - x).abs() < 1e-9).map(|&(_, y)| y);
    let ratios: Vec<(f64, f64)> =
        first.iter().filter_map(|&(x, y)| at(x).map(|other| (x, y / other))).collect();
    if ratios.is_empty() {
        return Err("the curves have no x in common".to_owned());
    }
    let (low, high) = range(&ratios);
    Ok(Judged::shape(low >= by, format!("{} to {} times", number(low), number(high))))
}

/// Four significant digits, `k` and `M` for thousands and millions.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "no number".to_owned();
    }
    let (value, unit) = match value.abs() {
        size if size >= 999_950.0 => (value / 1e6, "M"),
        size if size >= 9_999.5 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let before = if value == 0.0 { 1 } else { value.abs().log10().floor() as i32 + 1 };
    let text = format!("{value:.*}", (4 - before).clamp(0, 4) as usize);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

/// `12 %`, `4.1 %`.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value.abs() >= 9.95 { format!("{value:.0} %") } else { format!("{value:.1} %") }
}

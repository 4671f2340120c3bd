//! What fio says of `steadystate`: in JSON an object of each job, in the report for people a line.

use iostack_model::{IntervalFlow, Outcome, Steadiness, Steady, SteadyFigure, SteadyLimit};

use super::side::per_second;
use super::value::Value;

/// The rates that were judged last.
struct JudgedRates<'a> {
    goal: Steadiness,
    steady: Steady,
    window: &'a [IntervalFlow],
}

fn judged(outcome: &Outcome) -> Option<JudgedRates<'_>> {
    let (goal, steady) = (outcome.job.until_steady?, outcome.steady?);
    // The last element may be shorter, and was not judged.
    let whole = outcome.series.iter().rposition(|slice| slice.length >= outcome.job.slice)? + 1;
    let count = goal.window.0.div_ceil(outcome.job.slice.0.max(1)) as usize;
    Some(JudgedRates { goal, steady, window: &outcome.series[whole.saturating_sub(count)..whole] })
}

impl JudgedRates<'_> {
    fn judges_slope(&self) -> bool {
        matches!(self.goal.limit, SteadyLimit::Slope(_))
    }

    fn rates(&self, of: fn(&IntervalFlow) -> [u64; 3]) -> Vec<u64> {
        let rate = |slice: &IntervalFlow| per_second(of(slice).iter().sum(), slice.length) as u64;
        self.window.iter().map(rate).collect()
    }

    fn means(&self) -> [u64; 2] {
        [self.rates(|slice| slice.bytes), self.rates(|slice| slice.ios)]
            .map(|rates| rates.iter().sum::<u64>() / rates.len().max(1) as u64)
    }

    /// The largest distance from the mean, or the slope of the line of least squares from one element to the next; whichever
    /// was not judged is 0, as in fio.
    fn distances(&self) -> [f64; 2] {
        let rates = match self.goal.figure {
            SteadyFigure::Iops => self.rates(|slice| slice.ios),
            SteadyFigure::Bandwidth => self.rates(|slice| slice.bytes),
        };
        let mean = rates.iter().sum::<u64>() as f64 / rates.len().max(1) as f64;
        if !self.judges_slope() {
            return [rates.iter().map(|&rate| (rate as f64 - mean).abs()).fold(0.0, f64::max), 0.0];
        }
        let middle = (rates.len() as f64 - 1.0) / 2.0;
        let places = || (0..rates.len()).map(|place| place as f64 - middle);
        let square: f64 = places().map(|place| place * place).sum();
        let product: f64 = places().zip(&rates).map(|(place, &rate)| place * (rate as f64 - mean)).sum();
        [0.0, if square > 0.0 { product / square } else { 0.0 }]
    }

    fn criterion(&self) -> String {
        let figure = match self.goal.figure {
            SteadyFigure::Iops => "iops",
            SteadyFigure::Bandwidth => "bw",
        };
        format!("{figure}{}", if self.judges_slope() { "_slope" } else { "" })
    }
}

/// Key and object, where the job asks for it.
pub(super) fn json(outcome: &Outcome) -> Option<(&'static str, Value)> {
    let judged = judged(outcome)?;
    let [bandwidth, iops] = judged.means();
    let data = Value::object([
        ("bw_mean", bandwidth.into()),
        ("iops_mean", iops.into()),
        ("iops", Value::list(judged.rates(|slice| slice.ios))),
        ("bw", Value::list(judged.rates(|slice| slice.bytes))),
    ]);
    let mut object: Vec<(&str, Value)> = vec![
        ("ss", format!("{}:{:.6}%", judged.criterion(), judged.goal.limit.named()[0].1).into()),
        ("duration", (judged.goal.window.0 / 1_000_000_000).into()),
        ("attained", Value::Whole(judged.steady.attained.into())),
    ];
    object.extend(judged.steady.percent.map(|percent| ("criterion", format!("{percent:.6}%").into())));
    let [deviation, slope] = judged.distances();
    object.extend([("max_deviation", deviation.into()), ("slope", slope.into()), ("data", data)]);
    Some(("steadystate", Value::object(object)))
}

/// The line; nothing where the job does not ask.
pub(super) fn line(outcome: &Outcome, rate: impl Fn(u64) -> String, count: impl Fn(u64) -> String) -> String {
    let Some(judged) = judged(outcome) else { return String::new() };
    let [bandwidth, iops] = judged.means();
    let how = if judged.judges_slope() { "slope" } else { "mean dev" };
    let figure = judged.criterion();
    let figure = figure.trim_end_matches("_slope");
    let distance = judged.steady.percent.map(|percent| format!(", {figure} {how}={percent:.3}%"));
    let attained = if judged.steady.attained { "yes" } else { "no" };
    let (bandwidth, iops, distance) = (rate(bandwidth), count(iops), distance.unwrap_or_default());
    format!("  steadystate  : attained={attained}, bw={bandwidth}, iops={iops}{distance}\n")
}

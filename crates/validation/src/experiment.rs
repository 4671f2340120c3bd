//! What is run, drawn and judged?
//!
//! ```toml
//! title = ".."   source = ".."   measured = ".."   simulated = ".."
//! [job]                           # options of every curve's job
//! [[curve]]                       # runs that belong together: a device, a job, perhaps something varied; or, with
//!                                 # `cost` for `device`, cases that the lab counts; a device `lab:..` runs there
//! [[plot]]                        # a figure of the curves, over what they vary or over time
//! [[verdict]]                     # a published claim, the predicate it is put to, on which curve
//! [[predicted]]                   # a curve of the lab, and the simulated one that says the same before
//! [[claim]]                       # a claim of one's own, as `experiments/published.toml` has them
//! ```
//!
//! Everything wrong with a file is said with its line. Start reading at [`Experiment::parse`].

use std::ops::Range;

use toml::Spanned;

use iostack_lab::targets as lab;
use iostack_model::answers::{ReproBasis, ReproDocument};

use super::counted;
use super::curve::Curve;
use super::lines::{Figure, Over};
use super::predicate::Test;
use super::published::{Claim, ClaimKind};
use super::raw::{self, Options, line, said};
use iostack_study::sweep::axis;

/// An experiment, checked.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Name by which it is asked for.
    pub id: String,
    /// Title of what is made again.
    pub title: String,
    pub(crate) source: String,
    pub(crate) measured: String,
    pub(crate) simulated: String,
    pub(crate) curves: Vec<Curve>,
    pub(crate) plots: Vec<Plot>,
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) predicted: Vec<Predicted>,
    /// Beginnings of the claims that its file makes itself.
    pub(crate) documents: Vec<String>,
}

/// A curve that ran, and the one that had predicted it.
#[derive(Clone, Debug)]
pub(crate) struct Predicted {
    /// Indices of curves, which have the same points.
    pub(crate) ran: usize,
    pub(crate) by: usize,
    pub(crate) figure: Figure,
}

/// A figure of curves.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    pub(crate) heading: String,
    pub(crate) figure: Figure,
    pub(crate) over: Over,
    /// Indices of curves.
    pub(crate) curves: Vec<usize>,
}

/// A claim put to the test.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) claim: Claim,
    /// The published figure; none for a shape.
    pub(crate) figure_claimed: Option<f64>,
    pub(crate) test: Test,
    pub(crate) first: TestSubject,
    pub(crate) second: Option<TestSubject>,
    /// Basis where the file says so, and why.
    pub(crate) rests: Option<(ReproBasis, String)>,
    pub(crate) written: raw::RawVerdict,
}

/// Part of a curve that a test looks at.
#[derive(Clone, Debug)]
pub(crate) struct TestSubject {
    /// Index of the curve.
    pub(crate) curve: usize,
    pub(crate) figure: Figure,
    pub(crate) over: Over,
    /// Only this point.
    pub(crate) at: Option<String>,
    /// Only between these x.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl Experiment {
    /// Number of figures that are drawn of it.
    pub fn plots(&self) -> usize {
        self.plots.len()
    }

    /// Judged claims in words.
    pub fn claims(&self) -> impl Iterator<Item = &str> {
        self.verdicts.iter().map(|verdict| verdict.written.says.as_str())
    }

    /// Document of its own claims, as a document that was never published.
    pub(crate) fn own_documents(&self) -> impl Iterator<Item = ReproDocument> {
        let document = |id: &String| ReproDocument {
            id: id.clone(),
            title: self.title.clone(),
            published: false,
            own: false,
        };
        self.documents.iter().map(document)
    }

    /// True when it is made in the lab: that boots machines.
    pub fn is_counted(&self) -> bool {
        self.curves.iter().any(|curve| lab::device(&curve.device).is_some())
    }

    /// True when jobs run there, and nothing is counted.
    pub(crate) fn runs_jobs(&self) -> bool {
        self.is_counted() && self.curves.iter().all(|curve| curve.cost.is_none())
    }

    /// An experiment of a file; `claims` are those it may name, `path` names it in errors.
    pub(crate) fn parse(id: &str, text: &str, path: &str, claims: &[Claim]) -> Result<Experiment, String> {
        let file: raw::ExperimentFile = toml::from_str(text).map_err(|error| said(text, path, &error))?;
        let line = |span: Range<usize>| format!("{path}:{}", line(text, span));
        if let Some(twice) = file.claim.iter().find(|own| claims.iter().any(|known| known.id == own.id)) {
            return Err(format!("{path}: `{}` is a published claim; give yours another id", twice.id));
        }
        let claims = &[claims, &file.claim].concat()[..];
        let mut documents: Vec<String> = file.claim.iter().map(|own| own.document().to_owned()).collect();
        documents.dedup();
        let curves = checked(&file.curve, line, |raw| curve(raw, &file.job))?;
        Ok(Experiment {
            plots: checked(&file.plot, line, |raw| plot(raw, &curves))?,
            verdicts: checked(&file.verdict, line, |raw| verdict(raw, &curves, claims))?,
            predicted: checked(&file.predicted, line, |raw| predicted(raw, &curves))?,
            id: id.to_owned(),
            title: file.title,
            source: file.source,
            measured: file.measured,
            simulated: file.simulated,
            documents,
            curves,
        })
    }
}

/// Tables of a file, each checked; an error begins with the line of its table.
fn checked<R, T>(
    tables: &[Spanned<R>],
    line: impl Fn(Range<usize>) -> String,
    check: impl Fn(&R) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let one =
        |table: &Spanned<R>| check(table.get_ref()).map_err(|what| format!("{}: {what}", line(table.span())));
    tables.iter().map(one).collect()
}

/// Cases that the lab counts. Checked as far as can be without booting.
fn counted(raw: &raw::RawCurve, cost: &str) -> Result<Curve, String> {
    let vary = match raw.vary.as_deref().map(|text| text.split_once('=').ok_or(text)) {
        Some(Ok((key, values))) => Some((key.to_owned(), values.split(',').map(str::to_owned).collect())),
        Some(Err(text)) => return Err(format!("`vary {text}` names no values")),
        None => None,
    };
    let curve = Curve {
        name: raw.name.clone(),
        device: lab::PREFIX.to_owned(),
        cost: Some(cost.to_owned()),
        vary,
        ..Curve::default()
    };
    counted::plan(&curve).map(|_| curve)
}

fn curve(raw: &raw::RawCurve, shared: &Options) -> Result<Curve, String> {
    match (&raw.cost, raw.device.is_empty()) {
        (Some(cost), true) => return counted(raw, cost),
        (None, false) => {}
        _ => return Err("a curve has either a `device` to run on or a `cost` to count".to_owned()),
    }
    let mut options = shared.clone();
    options.extend(raw.job.clone());
    let mut options = typed(options);
    iostack_study::sweep::plan::in_order(&mut options);
    let vary = match &raw.vary {
        Some(text) => Some(axis::axis("vary", text).map(|axis| (axis.key, axis.values))?),
        None => None,
    };
    let points = vary.as_ref().map_or(0, |(_, values): &(String, Vec<String>)| values.len());
    let along = raw.along.iter().map(|text| axis::axis("along", text).map(|axis| (axis.key, axis.values)));
    let along = along.collect::<Result<Vec<_>, String>>()?;
    if let Some((key, values)) = along.iter().find(|(_, values)| values.len() != points) {
        return Err(format!("`along {key}` has {} values, what is varied has {points}", values.len()));
    }
    Ok(Curve {
        name: raw.name.clone(),
        device: raw.device.clone(),
        cost: None,
        jobs: raw.jobs.clone(),
        anew: raw.anew,
        options,
        changes: typed(raw.set.clone()),
        vary,
        along,
        chosen: raw.chosen.clone(),
    })
}

fn typed(options: Options) -> Vec<(String, String)> {
    options.into_iter().map(|(key, value)| (key, value.0)).collect()
}

/// The figure of a verdict that names none.
fn usual(curve: &Curve) -> &'static str {
    if curve.cost.is_some() { "instructions" } else { "iops" }
}

fn find(curves: &[Curve], name: &str) -> Result<usize, String> {
    curves.iter().position(|curve| curve.name == name).ok_or_else(|| {
        let names: Vec<&str> = curves.iter().map(|curve| curve.name.as_str()).collect();
        format!("there is no curve `{name}`; there are: {}", names.join(", "))
    })
}

/// Horizontal axis of a curve: what it varies, unless `time` is asked for.
fn over(word: Option<&str>, curve: &Curve) -> Result<Over, String> {
    match (word, &curve.vary) {
        (Some("time"), _) => Ok(Over::Time),
        (None, None) => Ok(Over::Alone),
        (None, Some(_)) => Ok(Over::Varied),
        (Some(word), Some((key, _))) if word == key => Ok(Over::Varied),
        (Some(word), _) => Err(format!("`over = {word}`: give `time` or what the curve varies")),
    }
}

fn plot(raw: &raw::RawPlot, curves: &[Curve]) -> Result<Plot, String> {
    let indices: Vec<usize> = if raw.curves.is_empty() {
        (0..curves.len()).collect()
    } else {
        raw.curves.iter().map(|name| find(curves, name)).collect::<Result<_, _>>()?
    };
    let first = indices.first().map(|&index| &curves[index]).ok_or("there is no curve to draw")?;
    let over = over(raw.over.as_deref(), first)?;
    Ok(Plot { heading: raw.heading.clone(), figure: raw.figure.parse()?, over, curves: indices })
}

fn predicted(raw: &raw::RawPredicted, curves: &[Curve]) -> Result<Predicted, String> {
    let (ran, by) = (find(curves, &raw.curve)?, find(curves, &raw.by)?);
    let points = |index: usize| curves[index].vary.as_ref().map_or(1, |(_, values)| values.len());
    if points(ran) != points(by) {
        return Err(format!("`{}` has {} points, `{}` has {}", raw.curve, points(ran), raw.by, points(by)));
    }
    Ok(Predicted { ran, by, figure: raw.figure.parse()? })
}

fn verdict(raw: &raw::RawVerdict, curves: &[Curve], claims: &[Claim]) -> Result<Verdict, String> {
    let claim = claims.iter().find(|claim| claim.id == raw.claim).ok_or_else(|| {
        format!(
            "`{}` is not among the published claims of experiments/published.toml, nor a [[claim]] here",
            raw.claim
        )
    })?;
    let test = test(raw, claim)?;
    if raw.scale.is_nan() || raw.scale <= 0.0 {
        return Err("`scale` is a number above 0".to_owned());
    }
    let figure_claimed = claim.figure(raw.field.as_deref())?;
    if figure_claimed.is_none() && claim.kind != ClaimKind::Shape {
        return Err(format!("`{}` has several figures; name one with `field`", raw.claim));
    }
    let subject = |curve: &str, figure: Option<&str>, at: Option<&String>| -> Result<TestSubject, String> {
        let curve = find(curves, curve)?;
        Ok(TestSubject {
            curve,
            figure: figure.unwrap_or(usual(&curves[curve])).parse()?,
            over: over(raw.over.as_deref(), &curves[curve])?,
            at: at.cloned(),
            from: raw.from.unwrap_or(f64::NEG_INFINITY),
            to: raw.to.unwrap_or(f64::INFINITY),
        })
    };
    let figure = raw.figure.as_deref();
    let first = subject(&raw.curve, figure, raw.at.as_ref())?;
    let second = match (&raw.against, &raw.and, &raw.against_at) {
        (Some(curve), other, at) => Some(subject(curve, other.as_deref().or(figure), at.as_ref())?),
        (None, Some(other), _) => Some(subject(&raw.curve, Some(other), raw.at.as_ref())?),
        (None, None, Some(at)) => Some(subject(&raw.curve, figure, Some(at))?),
        (None, None, None) => None,
    };
    let (claim, rests) = (claim.clone(), rests(raw, claim)?);
    Ok(Verdict { claim, figure_claimed, test, first, second, rests, written: raw.clone() })
}

/// Basis of a verdict by its file. A claim of our own is an aim, whatever its file says.
fn rests(raw: &raw::RawVerdict, claim: &Claim) -> Result<Option<(ReproBasis, String)>, String> {
    if claim.own {
        return Ok(Some((ReproBasis::OwnAim, "nobody published it".to_owned())));
    }
    let said = [
        (ReproBasis::Derived, &raw.derived),
        (ReproBasis::Assumed, &raw.assumed),
        (ReproBasis::CannotFail, &raw.cannot_fail),
    ];
    let mut given = said.into_iter().filter(|(_, why)| !why.is_empty());
    let first = given.next().map(|(basis, why)| (basis, why.clone()));
    match given.next() {
        None => Ok(first),
        Some(_) => Err("give one of `derived`, `assumed` and `cannot_fail`".to_owned()),
    }
}

/// `5%` as 0.05.
fn share(name: &str, text: Option<&str>) -> Result<f64, String> {
    let help = || format!("`{name}` is a share; write it like {name} = \"5%\"");
    let text = text.ok_or_else(help)?.strip_suffix('%').ok_or_else(help)?;
    text.trim().parse::<f64>().map(|percent| percent / 100.0).map_err(|_| help())
}

fn test(raw: &raw::RawVerdict, claim: &Claim) -> Result<Test, String> {
    let within = || share("within", raw.within.as_deref());
    let fall_to = || share("fall_to", raw.fall_to.as_deref());
    let by = || raw.by.ok_or(format!("`{}` needs a factor, like by = 1.5", raw.test));
    Ok(match raw.test.as_str() {
        "value" => Test::Value { within: within()? },
        "points" => Test::Points { within: raw.points.ok_or("`points` needs how many, like points = 5")? },
        "in_range" => {
            let within = raw.within.as_deref().map_or(Ok(0.0), |text| share("within", Some(text)))?;
            let (least, most) = claim.range().ok_or(format!("`{}` has no `values`", claim.id))?;
            Test::InRange { least, most, within }
        }
        "adds" => Test::Adds { within: within()? },
        "at_most" => Test::AtMost,
        "at_least" => Test::AtLeast,
        "knee_at" => Test::KneeAt { within: within()? },
        "bends_at" => Test::BendsAt,
        "rises" => Test::Rises { by: by()? },
        "flat_within" => Test::FlatWithin { within: within()? },
        "falls_then_level" => Test::FallsThenLevel { to: fall_to()?, within: within()? },
        "levels_when_low" => Test::LevelsWhenLow { windows: raw.windows.unwrap_or(2.0), within: within()? },
        "equal_shape" => Test::EqualShape { to: fall_to()?, within: within()? },
        "above" => Test::Above { by: by()? },
        other => {
            return Err(format!(
                "there is no test `{other}`; there are: value, points, in_range, adds, at_most, at_least, knee_at, bends_at, rises, flat_within, \
                 falls_then_level, levels_when_low, equal_shape, above"
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published;

    const CLAIMS: &str = "[[claim]]\nid = \"p.knee\"\nvalue = 4\n[[claim]]\nid = \"p.flat\"\nkind = \"shape\"\n\
                          [[claim]]\nid = \"p.table\"\ntable = { iops = 100 }\n";

    const HEAD: &str = "title = \"T\"\nsource = \"S\"\nmeasured = \"M\"\nsimulated = \"I\"\n";

    const BODY: &str = "[job]\nblock_size = \"4k\"\nruntime = \"1s\"\n[[curve]]\nname = \"a\"\ndevice = \"zero\"\n\
        vary = \"queue_depth=1..8*2\"\njob = { runtime = \"2s\", engine = \"libaio\" }\n\
        set = { \"zero.latency\" = \"9us\" }\n[[plot]]\nheading = \"H\"\nfigure = \"iops\"\n";

    fn parse(body: &str) -> Result<Experiment, String> {
        let claims = published::parse(CLAIMS, "published.toml").expect("sound").claim;
        Experiment::parse("x", &format!("{HEAD}{body}"), "x.toml", &claims)
    }

    #[test]
    fn a_curve_has_the_shared_options_and_its_own() {
        let verdict = "[[verdict]]\nclaim = \"p.knee\"\nsays = \"s\"\ntest = \"knee_at\"\ncurve = \"a\"\nwithin = \"5%\"\n";
        let experiment = parse(&format!("{BODY}{verdict}")).expect("sound");
        let curve = &experiment.curves[0];
        let options: Vec<String> =
            curve.options.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(options, ["block_size=4k", "engine=libaio", "runtime=2s"]);
        assert_eq!(curve.changes, [("zero.latency".to_owned(), "9us".to_owned())]);
        assert_eq!(curve.vary.as_ref().expect("varied").1, ["1", "2", "4", "8"]);
        let verdict = &experiment.verdicts[0];
        assert_eq!((verdict.figure_claimed, verdict.test), (Some(4.0), Test::KneeAt { within: 0.05 }));
    }

    #[test]
    fn a_file_may_carry_claims_of_its_own_and_none_that_was_published() {
        let body = |id: &str| {
            let verdict = format!(
                "[[verdict]]\nclaim = \"{id}\"\nsays = \"s\"\ntest = \"value\"\nwithin = \"5%\"\ncurve = \"a\"\nat = \"1\"\n"
            );
            format!("[[claim]]\nid = \"{id}\"\nvalue = 7\n{BODY}{verdict}")
        };
        let own = parse(&body("mine.rate")).expect("its claim is its own");
        assert_eq!(
            (own.verdicts[0].figure_claimed, &own.documents[..]),
            (Some(7.0), &["mine".to_owned()][..])
        );
        let document = own.own_documents().next().expect("one");
        assert!(!document.published && !document.own && document.title == "T");
        let error = parse(&body("p.knee")).expect_err("it is published");
        assert_eq!(error, "x.toml: `p.knee` is a published claim; give yours another id");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        const SOUND: &str = "claim = \"p.flat\"\ntest = \"rises\"\nby = 2\ncurve = \"a\"\n";
        let verdict = |lines: &str| format!("{BODY}[[verdict]]\nsays = \"s\"\n{lines}");
        for (text, said) in [
            ("[[curv]]\n".to_owned(), "x.toml:5: unknown field `curv`"),
            (
                format!(
                    "{BODY}[[curve]]\nname = \"b\"\ndevice = \"zero\"\n[[predicted]]\ncurve = \"a\"\nby = \"b\"\n\
                     figure = \"iops\"\n"
                ),
                "x.toml:20: `a` has 4 points, `b` has 1",
            ),
            (format!("{BODY}[[verdict]]\n"), "x.toml:17: missing field `claim`"),
            (
                verdict(SOUND).replace("queue_depth=1..8*2", "queue_depth"),
                "x.toml:8: `vary queue_depth` names no values",
            ),
            (verdict(SOUND).replace("\"iops\"", "\"iobs\""), "x.toml:14: there is no figure `iobs`"),
            (
                verdict("claim = \"p.no\"\ntest = \"rises\"\ncurve = \"a\"\n"),
                "x.toml:17: `p.no` is not among",
            ),
            (
                verdict("claim = \"p.flat\"\ntest = \"rise\"\ncurve = \"a\"\n"),
                "x.toml:17: there is no test `rise`",
            ),
            (
                verdict("claim = \"p.flat\"\ntest = \"rises\"\ncurve = \"a\"\n"),
                "x.toml:17: `rises` needs a factor",
            ),
            (
                verdict("claim = \"p.flat\"\ntest = \"flat_within\"\ncurve = \"a\"\nwithin = \"5\"\n"),
                "`within` is a share",
            ),
            (
                verdict("claim = \"p.flat\"\ntest = \"rises\"\nby = 2\ncurve = \"b\"\n"),
                "no curve `b`; there are: a",
            ),
            (verdict("claim = \"p.table\"\ntest = \"at_most\"\ncurve = \"a\"\n"), "name one with `field`"),
        ] {
            let error = parse(&text).expect_err(said);
            assert!(error.contains(said), "{error}\n{text}");
        }
    }
}

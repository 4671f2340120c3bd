//! How near is the model on curves that were measured, and how near are two simpler ones?

use iostack_model::answers::{CalibrationScore, Repro, ReproValidated};

use crate::document::{Block, Document, Section, Table};
use crate::lists::distinct;
use crate::text::format::or_dash;

/// Document of `iostack repro --validation`.
pub(super) fn validated(report: &Repro) -> Document {
    let mut all = Document::new("iostack repro");
    let files = files(report);
    all.beside = vec!["VALIDATION".to_owned(), format!("{} measured", counted(files.len(), "file"))];
    all.origin = vec![format!("iostack {}", report.iostack)];
    all.head.fact("doubts", "those of a file's points are told by `iostack calibrate FILE`");
    all.answer = nearest(report);
    all.because.words(format!(
        "{}. Each file is fitted by itself, but for the points held out: a third, never an end. Errors are of I/Os per second at \
         those points, median and worst. The closed network has four numbers, the roofline two, each fitted to the very curve; the \
         sheet is one for all curves of the file.",
        all.answer
    ));
    for (place, file) in (1..).zip(&files) {
        let mut section = Section::new(&format!("file-{place}"), file, file);
        section.screen(Block::Heading(file.clone()));
        section.table(table(report.validated.iter().filter(|row| row.file == *file)));
        all.sections.push(section);
    }
    let first = files.first().map_or("FILE", String::as_str);
    all.next = Some((format!("iostack calibrate {first}"), "every point of it, and the sheet"));
    all
}

/// The page of the manual: the same tables below words of its own.
pub(super) fn manual(report: &Repro, title: &str, head: &str) -> Document {
    let mut all = Document::new(title);
    all.head.words(format!("{head}\n\n{}.", nearest(report)));
    for file in files(report) {
        let mut section = Section::new("", "", &file);
        section.table(table(report.validated.iter().filter(|row| row.file == file)));
        all.sections.push(section);
    }
    all
}

fn files(report: &Repro) -> Vec<String> {
    distinct(report.validated.iter().map(|row| row.file.clone()))
}

/// Sentence on how many curves the simulator is nearest, of those that a simpler model answers.
fn nearest(report: &Repro) -> String {
    let answered: Vec<&ReproValidated> =
        report.validated.iter().filter(|row| !row.curve.starts_with("all:") && is_answered(row)).collect();
    let nearest = answered.iter().filter(|row| is_nearest(row)).count();
    let curves = counted(answered.len(), "curve");
    format!("The simulator is nearest on {nearest} of {curves} that a simpler model answers")
}

fn table<'a>(rows: impl Iterator<Item = &'a ReproValidated>) -> Table {
    let of =
        |name: &'static str| move |row: &'a ReproValidated| or_dash(find(row, name), |score| say(row, score));
    Table::over(rows.collect::<Vec<_>>())
        .words("curve", |row| &row.curve)
        .number("sheet", of(SHEET))
        .number("closed network", of("closed network"))
        .number("roofline", of("roofline"))
        .done()
}

/// Name of the fitted sheet among the predictors.
const SHEET: &str = "the sheet";

fn find<'a>(row: &'a ReproValidated, name: &str) -> Option<&'a CalibrationScore> {
    row.scores.iter().find(|score| score.predictor == name)
}

/// `4.3 %, 22.7 %`, and of how many points, where those are not all.
fn say(row: &ReproValidated, score: &CalibrationScore) -> String {
    let all = find(row, SHEET).map_or(score.points, |sheet| sheet.points);
    let part = if score.points == all { String::new() } else { format!(" of {}", score.points) };
    format!("{:.1} %, {:.1} %{part}", score.iops_median * 100.0, score.iops_worst * 100.0)
}

/// Models beside the sheet that answer the curve.
fn others(row: &ReproValidated) -> impl Iterator<Item = &CalibrationScore> {
    row.scores.iter().filter(|score| !score.predictor.starts_with(SHEET))
}

/// A curve of few points is answered by no simpler model: nothing is nearer there than nothing.
fn is_answered(row: &ReproValidated) -> bool {
    others(row).next().is_some()
}

/// No simpler model has a smaller median error over the points that it answers.
fn is_nearest(row: &ReproValidated) -> bool {
    let sheet = find(row, SHEET).map_or(f64::INFINITY, |sheet| sheet.iops_median);
    others(row).all(|score| sheet <= score.iops_median)
}

fn counted(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::tests::sound::{assert_fits, assert_sound};

    #[test]
    fn each_file_has_its_curves_and_a_better_baseline_is_counted() {
        let score = |predictor: &str, points: u32, iops_median: f64| CalibrationScore {
            predictor: predictor.to_owned(),
            points,
            iops_median,
            iops_worst: 2.0 * iops_median,
            p99_median: None,
            p99_worst: None,
        };
        let row = |curve: &str, network: f64| ReproValidated {
            file: "disk.json".to_owned(),
            curve: curve.to_owned(),
            scores: vec![score(SHEET, 4, 0.05), score("closed network", 3, network)],
        };
        let rows = ["all: 4 of 9", "randread 4 KiB: 2 of 5", "read 1 MiB: 2 of 4"]
            .into_iter()
            .zip([0.02, 0.04, 0.06]);
        let mut validated: Vec<ReproValidated> = rows.map(|(curve, network)| row(curve, network)).collect();
        let mut alone = row("write 1 MiB: 1 of 1", 0.0);
        alone.scores.truncate(1);
        validated.push(alone);
        let report = Repro { validated, experiments: Vec::new(), ..crate::fixture::answer("repro") };
        let told = crate::repro(&report);
        let (text, page) = (told.text(), told.html());
        assert_fits(&text);
        assert_sound(&page);
        assert!(text.contains("The simulator is nearest on 1 of 2 curves that a simpler model"), "{text}");
        assert!(text.contains("5.0 %, 10.0 %") && text.contains("4.0 %, 8.0 % of 3"), "{text}");
        assert!(page.contains("disk.json") && page.contains("roofline"), "{page}");
    }
}

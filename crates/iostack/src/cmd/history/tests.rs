//! Is anything lost, and is what is told true?

use std::fs;

use iostack_model::answers::{HistoryFigure, HistoryRun, SeriesName, labelled};
use iostack_model::{Interval, Job, Machine, Outcome, OutcomeFile, SCHEMA, Storage, TargetKind, TargetName};
use iostack_testkit::Folder;

use super::found::Noted;
use super::store::{HistoryStore, StoreContent};
use super::{since, told};
use crate::stored::{self, Stored};

fn folder(test: &str) -> Folder {
    Folder::below(&std::env::temp_dir().to_string_lossy(), &format!("iostack-history-{test}"))
}

/// An answer with one outcome of this job.
fn answer(job: &str, started_unix_ms: u64) -> Stored {
    let job = Job { name: job.to_owned(), ..Job::default() };
    let target = TargetName { kind: TargetKind::File, path: "/data/file".into() };
    let outcome = Outcome { started_unix_ms, ..Outcome::empty(job, target, Storage::default()) };
    let (iostack, machine) = ("0.1.0".to_owned(), Machine::default());
    let file = OutcomeFile {
        schema: SCHEMA,
        iostack,
        started_unix_ms,
        machine,
        outcomes: vec![outcome],
        prediction: None,
    };
    let text = serde_json::to_string(&labelled(&file)).expect("plain data");
    stored::of_text(text, "a test".to_owned()).expect("ours")
}

fn store(folder: &Folder) -> HistoryStore {
    HistoryStore { folder: folder.join("store") }
}

fn filled(folder: &Folder, count: u64) -> HistoryStore {
    let store = store(folder);
    for at in 1..=count {
        assert_eq!(store.add(&answer("reads", at), None).expect("a new answer"), Some(1));
    }
    store
}

fn times(kept: &StoreContent) -> Vec<u64> {
    kept.entries.iter().flat_map(|entry| &entry.outcomes).map(|noted| noted.run.unix_ms).collect()
}

#[test]
fn an_answer_is_kept_once_whole_and_in_its_order() {
    let folder = folder("kept");
    let store = filled(&folder, 5);
    assert_eq!(store.add(&answer("reads", 3), None).expect("it is there"), None);
    let kept = store.read().expect("a store");
    assert_eq!((times(&kept), kept.problems.len(), kept.mended), (vec![1, 2, 3, 4, 5], 0, None));
    let one = &kept.entries[2].outcomes[0];
    assert_eq!(fs::read_to_string(store.path(&one.run.answer)).expect("kept"), answer("reads", 3).text);
}

#[test]
fn two_writers_lose_no_line() {
    let folder = folder("writers");
    std::thread::scope(|scope| {
        for writer in 0..2_u64 {
            let store = store(&folder);
            scope.spawn(move || {
                for at in 1..=30 {
                    store.add(&answer("reads", writer * 1_000 + at), None).expect("a new answer");
                    store.read().expect("a store");
                }
            });
        }
    });
    let kept = store(&folder).read().expect("a store");
    assert_eq!((times(&kept).len(), kept.mended), (60, None));
}

#[test]
fn an_index_that_is_damaged_cut_or_gone_is_made_anew_from_the_answers() {
    let folder = folder("index");
    let store = filled(&folder, 6);
    let index = store.folder.join("index-1.ndjson");
    let whole = fs::read(&index).expect("written");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 4;
    for (damaged, lines, answers) in
        [(flipped, 1, 1), (whole[..whole.len() - 9].to_vec(), 1, 1), (Vec::new(), 0, 6)]
    {
        fs::write(&index, damaged).expect("ours");
        let kept = store.read().expect("a store");
        let mut found = times(&kept);
        found.sort_unstable();
        let said = format!("the index had {lines} damaged lines; {answers} answers were read again");
        assert_eq!((found, kept.mended), (vec![1, 2, 3, 4, 5, 6], Some(said)));
        assert_eq!(store.read().expect("a store").mended, None, "it was not kept");
    }
    fs::write(&index, &whole[..whole.len() - 9]).expect("ours");
    store.add(&answer("reads", 7), None).expect("behind a line that was cut");
    assert_eq!(times(&store.read().expect("a store")).len(), 7);
}

#[test]
fn a_damaged_answer_is_named_and_the_others_are_told() {
    let folder = folder("answers");
    let store = filled(&folder, 3);
    let kept = store.read().expect("a store");
    let path = store.path(&kept.entries[1].outcomes[0].run.answer);
    fs::write(&path, "{\"kind\":\"run\"}").expect("ours");
    fs::write(store.path("later"), "{\"kind\":\"run\",\"schema\":99}").expect("ours");
    fs::remove_file(store.folder.join("index-1.ndjson")).expect("ours");
    let kept = store.read().expect("a store");
    let mut found = times(&kept);
    // Files of one moment come in any order.
    found.sort_unstable();
    assert_eq!((found, kept.problems.len()), (vec![1, 3], 2));
    assert!(kept.problems.iter().any(|said| said.contains(&format!("`{}` is damaged", path.display()))));
    let again = store.add(&answer("reads", 2), None).expect_err("what is there is another").to_string();
    assert!(again.contains("is damaged; remove it, and add `a test` again"), "{again}");
    fs::remove_file(&path).expect("ours");
    assert_eq!(store.add(&answer("reads", 2), None).expect("a new answer"), Some(1));
}

#[test]
fn an_answer_that_was_removed_is_forgotten_and_a_store_that_nobody_may_write_to_is_read() {
    let folder = folder("removed");
    let store = filled(&folder, 3);
    let kept = store.read().expect("a store");
    fs::remove_file(store.path(&kept.entries[0].outcomes[0].run.answer)).expect("ours");
    assert_eq!(times(&store.read().expect("a store")), [2, 3]);
    let index = fs::read_to_string(store.folder.join("index-1.ndjson")).expect("written");
    assert_eq!(index.lines().count(), 2, "the index has it still");
    fs::remove_file(store.folder.join("lock")).expect("ours");
    fs::create_dir(store.folder.join("lock")).expect("ours");
    fs::write(store.folder.join("index-1.ndjson"), "").expect("ours");
    let kept = store.read().expect("a store");
    let mut found = times(&kept);
    found.sort_unstable();
    assert_eq!(found, [2, 3]);
    let mended = kept.mended.expect("it is told");
    assert!(mended.contains("it could not be kept: cannot lock"), "{mended}");
    let empty = HistoryStore { folder: folder.join("none") };
    let said = empty.read().err().expect("nothing is there").to_string();
    assert!(said.contains("begin it with `iostack history add FILE`"), "{said}");
}

fn noted(job: &str, at: u64, iops: f64) -> Noted {
    let name = SeriesName { machine: "ci".to_owned(), target: "file:/data".to_owned(), job: job.to_owned() };
    let run = HistoryRun {
        unix_ms: at,
        iostack: "0.1.0".to_owned(),
        iops: Some(Interval::exact(iops)),
        p50_ns: None,
        p99_ns: Some(Interval::exact(1e9 / iops)),
        doubts: 0,
        answer: "none".to_owned(),
        outcome: 0,
    };
    Noted { name, run }
}

#[test]
fn series_keep_their_numbers_and_runs_their_order() {
    let all = || [noted("b", 9, 1.0), noted("a", 5, 1.0), noted("a", 3, 1.0)].into_iter();
    let told = told::series(all(), 0);
    assert_eq!(told[0].runs.iter().map(|run| run.unix_ms).collect::<Vec<_>>(), [3, 5]);
    let later = told::series(all(), 6);
    assert_eq!((later.len(), later[0].number), (1, 2), "a day must not change what a series is called");
    assert_eq!(told::chosen(told.clone(), "2")[0].name.job, "b");
    assert_eq!(told::chosen(told.clone(), "CI file:").len(), 2);
    assert_eq!(told::chosen(told, "ci none").len(), 0);
}

#[test]
fn a_step_is_worse_by_the_figure_that_is_looked_at() {
    let runs = (0..40).map(|at| noted("a", at, if at < 20 { 1_000.0 } else { 940.0 } + (at % 3) as f64));
    let series = told::series(runs, 0).remove(0);
    let by =
        |figure| told::steps(&series, figure).iter().map(|step| (step.run, step.worse)).collect::<Vec<_>>();
    assert_eq!(by(HistoryFigure::Iops), [(20, true)]);
    assert_eq!(by(HistoryFigure::P99), [(20, true)], "latency that grew");
    assert_eq!(by(HistoryFigure::P50), []);
    let change = told::steps(&series, HistoryFigure::Iops)[0].change_percent;
    assert!(
        (change.mean + 6.0).abs() < 0.1 && change.low < change.mean && change.high > change.mean,
        "{change:?}"
    );
}

#[test]
fn a_day_is_read_in_utc_and_anything_else_is_refused() {
    assert_eq!(since("1970-01-01").expect("a day"), 0);
    assert_eq!(since("2000-02-29").expect("a day"), 951_782_400_000);
    assert_eq!(since("2026-03-01").expect("a day"), 1_772_323_200_000);
    assert!(since("90d").expect("so long ago") > since("2026-01-01").expect("a day"));
    for typed in ["yesterday", "2026-13-01", "2026-1-1", "-1", ""] {
        let said = since(typed).expect_err("it is no day").to_string();
        assert!(said.contains(&format!("`--since {typed}` is no day")), "{said}");
    }
}

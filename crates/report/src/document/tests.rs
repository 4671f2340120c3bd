//! What must hold for every document.

use iostack_model::Caveat;

use super::*;
use crate::pages::tests::sound::assert_fits;
use crate::pages::tests::stored::{assert_stored, drawn};

/// A document with everything that a block can be.
fn example() -> Document {
    let mut all = Document::new("iostack <thing>");
    all.beside = vec!["SIMULATED".into(), "seed 7".into()];
    (all.answers, all.answer) = ("ANSWER", "It is <so>.".into());
    let (steal, uneven) = (Caveat::Steal { share: 0.02 }, Caveat::Unstable { relative: 0.2 });
    let mut section = Section::new("rows", "Rows", "All rows");
    let marks = all.doubts.note([&uneven], "row 1");
    let mut table = Table::new(vec![Column::words("name"), Column::number("IOPS"), Column::bars("")]);
    let cells = [
        Cell::from("a|b").marked(marks),
        Cell::from("212k").small("±1.0%"),
        Cell::from(Bar::whole(2.0, 4.0, 0)),
    ];
    table.row(cells).below.push("said below".into());
    table.row([Cell::from("half"), Cell::from("106k"), Cell::from(Bar::whole(1.0, 4.0, 1))]);
    table.shown = 1;
    table.rest = Some(Row::of(["... 1 more", "106k"]));
    table.sums.push(Row::of(["SUM", "318k"]));
    section.fact("label", "words").table(table).list(vec!["an item".into()]);
    section.screen(Block::Words("screen only".into())).page(Block::Words("page only".into()));
    all.of_all = all.doubts.note([&steal], "everything");
    all.sections.push(section);
    all.next = Some(("iostack check".into(), "what limits"));
    all
}

/// A document of one table.
fn of_table(table: Table) -> Document {
    let mut all = Document::new("iostack");
    let mut section = Section::default();
    section.table(table);
    all.sections.push(section);
    all
}

#[test]
fn every_block_is_drawn_for_its_readers_as_stored() {
    assert_stored(drawn("document", &example()));
}

#[test]
fn a_verdict_is_told_what_changes_it_the_heaviest_first_and_nothing_else() {
    let (uneven, steal) = (Caveat::Unstable { relative: 0.2 }, Caveat::Steal { share: 0.2 });
    let drift = Caveat::Drift { low: 1.0, high: 2.0, runs: 3 };
    let mut doubts = Doubts::default();
    doubts.of_verdict = true;
    let all = doubts.note([&uneven, &drift, &steal], "a");
    let heavy = doubts.note([&steal], "a");
    assert_eq!(doubts.numbers(&all, false), [1, 2], "what changes nothing is not on a screen");
    assert_eq!(doubts.numbers(&all, true), [1, 2, 3]);
    assert_eq!(doubts.numbers(&heavy, false), [1]);
    let of_run = Doubts::default().note([&uneven], "a");
    assert!(!of_run.is_empty(), "a run tells all of them");
}

#[test]
fn one_kind_has_one_number_and_what_is_seen_often_is_counted() {
    let mut all = Document::new("iostack");
    for percent in 1..=5 {
        all.doubts.note([&Caveat::Steal { share: f64::from(percent) / 100.0 }], "a");
        all.doubts.note([&Caveat::Steal { share: 0.01 }], "b");
    }
    let words = all.text().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("[1] The hypervisor took 1.0 % of the CPU time. The hypervisor took 2.0 %"),
        "{words}"
    );
    assert!(words.contains("(And 3 times more.)") && words.matches("quieter").count() == 1, "{words}");
    let page = all.html();
    assert!(page.contains("<b>b</b>") && page.contains("<summary>2 more</summary>"), "{page}");
}

#[test]
fn a_narrow_screen_leaves_out_the_light_and_cuts_words_not_numbers() {
    let columns = vec![
        Column::words("name"),
        Column::number("number"),
        Column::number("lighter").light(2),
        Column::number("light").light(1),
        Column::words("what"),
    ];
    let mut table = Table::new(columns);
    table.row(["x".repeat(30), "1".repeat(20), "2".repeat(20), "3".repeat(20), "y".repeat(20)]);
    let text = of_table(table).text();
    assert_fits(&text);
    assert!(text.contains(&"1".repeat(20)) && !text.contains("22") && !text.contains("33"), "{text}");
}

#[test]
fn words_are_cut_behind_a_word() {
    let columns = vec![Column::words("name"), Column::words("what"), Column::number("number")];
    let mut table = Table::new(columns);
    table.row(["a", "waiting for a die that serves others", &"1".repeat(45)]);
    let text = of_table(table).text();
    assert!(text.contains("waiting for a die that…  "), "{text}");
}

#[test]
fn words_in_the_last_column_go_on_below_each_other() {
    let mut table = Table::new(["number", "what it means"].map(Column::words).to_vec());
    table.row(["key".to_owned(), "many words ".repeat(20) + "end"]);
    let text = of_table(table).text();
    assert_fits(&text);
    assert!(text.contains("key") && text.contains(" end") && !text.contains('…'), "{text}");
    assert!(
        text.lines().any(|line| line.starts_with("        words") || line.starts_with("        many")),
        "below its column: {text}"
    );
}

#[test]
fn a_name_that_its_column_would_cut_has_lines_of_its_own() {
    let mut table = Table::of(&["name", "number"]);
    table.row(["short".to_owned(), "1".repeat(40)]);
    table.row(["word ".repeat(20) + "last", "2".repeat(40)]);
    table.row(["x".repeat(99), "3".repeat(40)]);
    let text = of_table(table).text();
    assert_fits(&text);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.iter().any(|line| line.starts_with("short") && line.contains("11")), "{text}");
    let last = lines.iter().position(|line| line.ends_with("word last")).expect("the whole name");
    assert!(lines[last + 1].trim_start().starts_with("22") && text.contains("xx…"), "{text}");
}

#[test]
fn what_is_for_the_page_alone_is_not_on_a_screen_and_what_was_counted_has_no_list_of_doubts() {
    let mut all = example();
    all.sections = all.sections.into_iter().map(Section::on_page).collect();
    all.unjudged = true;
    assert!(!all.text().contains("212k") && all.html().contains("212k"));
    assert!(!all.html().contains("screen only") && !all.html().contains("id=\"doubts\""));
}

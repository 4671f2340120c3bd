//! Does a run of iolat name its tests, and what moved?

use iostack_model::answers::Iolat;

use super::iolat;
use crate::fixture;
use crate::pages::tests::sound::assert_says;

fn screen_and_page(name: &str) -> (String, String) {
    let document = iolat(&fixture::answer::<Iolat>(name));
    (document.text(), document.html())
}

#[test]
fn another_machine_has_one_line_that_says_so() {
    let (text, page) = screen_and_page("iolat-published");
    assert_eq!(text.matches("ANOTHER").count(), 1, "{text}");
    assert!(!text.contains("SLOWER"), "two machines are not a change: {text}");
    assert!(page.contains("Another machine.") && page.contains("ANOTHER MACHINE"));
    assert!(!screen_and_page("iolat-slower").1.contains("Another machine."));
}

#[test]
fn a_slower_run_names_the_layers_that_moved_and_a_page_also_the_others() {
    let (text, page) = screen_and_page("iolat-slower");
    assert_says(&text, &["SLOWER", "ANSWER Slower than before.json: Small direct read -7.4 %."]);
    let table = text.split("LAYER ").nth(1).expect("the table of changed layers");
    let table = table.split("... ").next().expect("up to the rest");
    assert!(table.contains("scheduler") && table.contains("block"), "{table}");
    assert!(!table.contains("driver") && !table.contains("memory "), "{table}");
    assert!(page.contains("<th>driver</th>"), "{page}");
}

#[test]
fn one_round_has_no_interval() {
    let (text, _) = screen_and_page("iolat-interrupted");
    assert!(!text.replace("±: ", "").contains('±'), "{text}");
}

//! Is the page of merge whole, and does it say what it must?

use super::merge;
use crate::fixture;

#[test]
fn the_page_is_one_file_with_every_policy_and_verdict() {
    for made in [fixture::merge(), fixture::merge_simulated(), fixture::merge_interrupted()] {
        let page = merge(&made);
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
        assert!(!page.contains("src=\"") && !page.contains("href=\"http"), "it fetches nothing");
        assert!(!page.contains("NaN") && !page.contains(">inf"));
        for table in &made.tables {
            assert!(table.policies().iter().all(|policy| page.contains(policy)), "{:?}", table.ask);
        }
        for verdict in &made.verdicts {
            assert!(page.contains(&verdict.text), "{}", verdict.text);
        }
        assert_eq!(page.contains("SIMULATED"), made.is_simulated());
    }
}

#[test]
fn text_from_outside_cannot_become_markup() {
    let mut made = fixture::merge();
    made.notes.push("<script>1</script>".to_owned());
    "<i>how".clone_into(&mut made.fit.as_mut().expect("it has one").how);
    made.tables[0].cells[0].failures.push("<b>wrong".to_owned());
    made.changes.push(("<u>key".to_owned(), "1".to_owned()));
    let page = merge(&made);
    assert!(!page.contains("<script>1") && !page.contains("<i>how") && !page.contains("<b>wrong"));
    assert!(!page.contains("<u>key"));
}

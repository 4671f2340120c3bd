//! Is the page of iolat whole, and does it say what it must?

use super::iolat;
use crate::fixture;

#[test]
fn the_page_is_one_file_and_holds_every_test() {
    for made in
        [fixture::iolat(), fixture::iolat_slower(), fixture::iolat_published(), fixture::iolat_interrupted()]
    {
        let page = iolat(&made);
        for test in &made.tests {
            assert!(page.contains(&test.name), "{}", test.name);
        }
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
        assert!(!page.contains("src=\"") && !page.contains("href=\"http"), "it fetches nothing");
        assert!(!page.contains("NaN") && !page.contains(">inf"));
    }
}

#[test]
fn a_comparison_with_another_machine_says_so_beside_the_figures() {
    let page = iolat(&fixture::iolat_published());
    assert!(page.matches("Another machine.").count() >= 2);
    assert!(
        page.contains("nvme, virtio") && page.contains("The driver that answers."),
        "the mapping is shown"
    );
    assert!(!iolat(&fixture::iolat_slower()).contains("Another machine."));
}

#[test]
fn text_from_outside_cannot_become_markup() {
    let mut made = fixture::iolat_slower();
    made.notes.push("<script>1</script>".to_owned());
    made.layers_missing = Some("<b>".to_owned());
    for test in &mut made.tests {
        "<i>layer".clone_into(&mut test.layer_costs[0].layer);
    }
    "<u>before.json".clone_into(&mut made.comparison.as_mut().expect("it compares").name);
    let page = iolat(&made);
    assert!(!page.contains("<script>1") && !page.contains("<i>layer") && !page.contains("<u>before"));
}

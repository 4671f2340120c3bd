//! What holds for every screen and every page, whatever was measured.

use crate::text::WIDTH;

/// Refuses a screen that is wider than 80 columns, moves the cursor or shows a number that is none.
pub(crate) fn assert_fits(screen: &str) {
    for line in screen.lines() {
        // A command stays in one piece, so that it can be copied.
        let whole = line.starts_with("next: ") || line.trim_start().starts_with("$ ");
        assert!(whole || line.chars().count() <= WIDTH, "{} columns: {line}", line.chars().count());
        assert_eq!(line.trim_end(), line);
    }
    assert!(!screen.contains("\n\n\n") && screen.chars().all(|c| c == '\n' || !c.is_control()), "{screen}");
    assert!(!screen.contains("NaN") && !screen.contains("inf "), "{screen}");
}

/// Tries every case, then names all that failed.
pub(crate) fn assert_all<Case>(cases: impl IntoIterator<Item = (String, Case)>, check: impl Fn(Case)) {
    let fails = |(name, case)| {
        let tried = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(case)));
        tried.is_err().then(|| {
            println!("FAILED: {name}");
            name
        })
    };
    let failed: Vec<String> = cases.into_iter().filter_map(fails).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Refuses a screen that lacks one of the facts, whatever its line breaks.
pub(crate) fn assert_says(screen: &str, facts: &[&str]) {
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    for fact in facts {
        assert!(words.contains(fact), "`{fact}` is missing from\n{screen}");
    }
}

/// Text that would break out of text, of an attribute, of the data block.
pub(crate) const HOSTILE: &str =
    "</script><script>alert(1)</script><img src=x onerror='a\"b'>&amp;\u{202e}\u{0}";

/// Elements that have no end tag in HTML; the pages write them with a slash.
const VOID: [&str; 2] = ["meta", "br"];

/// Complains about tags that do not match and attributes without quotes. Scripts and styles are left out.
fn assert_well_formed(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page.strip_prefix("<!doctype html>").expect("a page begins with its doctype");
    while let Some(start) = rest.find('<') {
        assert!(
            !rest[..start].contains('>'),
            "a stray > before {:?}",
            &rest[start..].chars().take(80).collect::<String>()
        );
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "</{name}> closes another element; {:?}", rest.get(..80));
            continue;
        }
        let name = tag.split([' ', '/']).next().expect("split yields one");
        assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == 'P'), "<{tag}>");
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes in <{tag}>");
        assert!(!tag.contains('\''), "only a policy has single quotes: <{tag}>");
        if tag.ends_with('/') {
            continue;
        }
        assert!(!VOID.contains(&name), "<{tag}> needs its slash");
        if matches!(name, "script" | "style") {
            rest = &rest[rest.find(&format!("</{name}>")).expect("a script ends")..];
        }
        open.push(name);
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

/// The policy alone holds single quotes.
fn without_policy(page: &str) -> String {
    let start = page.find("<meta http-equiv").expect("a page has a policy");
    let end = start + page[start..].find("/>").expect("a tag ends") + 2;
    format!("{}{}", &page[..start], &page[end..])
}

pub(crate) fn assert_sound(page: &str) {
    assert_well_formed(&without_policy(page));
    // In the data block and in the script the same characters mean nothing.
    let outside = without_scripts(page).replace("http://www.w3.org/2000/svg", "");
    for forbidden in ["http:", "https:", "@import"] {
        assert!(!outside.contains(forbidden), "{forbidden:?}");
    }
    for tag in outside.split('<').filter_map(|rest| rest.split('>').next()) {
        let names: String = tag.split('"').step_by(2).collect();
        for forbidden in [" src=", " style=", " on"] {
            assert!(!names.contains(forbidden), "{forbidden:?} in <{tag}>");
        }
        let drawn = ["path ", "rect ", "line ", "circle ", "text "].iter().any(|name| tag.starts_with(name));
        assert!(!drawn || !(tag.contains("NaN") || tag.contains("inf")), "<{tag}>");
    }
    data_of(page);
}

fn without_scripts(page: &str) -> String {
    let mut kept = String::new();
    for (index, part) in page.split("<script").enumerate() {
        kept.push_str(if index == 0 { part } else { part.split("</script>").nth(1).unwrap_or_default() });
    }
    kept
}

/// The data block, parsed.
pub(super) fn data_of(page: &str) -> serde_json::Value {
    let start = page.find("id=\"data\">").expect("a page has its data") + "id=\"data\">".len();
    let end = start + page[start..].find("</script>").expect("the data block ends");
    serde_json::from_str(&page[start..end]).expect("the data block is JSON")
}

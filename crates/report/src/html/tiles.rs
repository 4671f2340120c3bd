//! The figures to remember, side by side: what, how much, and what to know of it.

use super::escape;

/// A list of tiles; plain text. Nothing for none.
pub(crate) fn tiles<What: AsRef<str>>(items: &[(What, String, String)]) -> String {
    if items.is_empty() {
        return String::new();
    }
    list(items.iter().map(|(what, value, detail)| tile("", what.as_ref(), value, detail)))
}

/// Tiles made one by one with [`tile`].
pub(crate) fn list(tiles: impl Iterator<Item = String>) -> String {
    format!("<ul class=\"tiles\">{}</ul>", tiles.collect::<String>())
}

/// One tile, of a class (none: empty); plain text.
pub(crate) fn tile(class: &str, what: &str, value: &str, detail: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let [what, value, detail] = [what, value, detail].map(escape::text);
    format!("<li{class}><span>{what}</span><b>{value}</b><small>{detail}</small></li>")
}

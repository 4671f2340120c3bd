//! The figures to remember, side by side.

use super::escape;

/// Tiles of plain text, each what is told, how much, and what to know of it; nothing for none.
pub(crate) fn tiles<What: AsRef<str>>(items: &[(What, String, String)]) -> String {
    let tile = |(what, value, detail): &(What, String, String)| {
        let [what, value, detail] = [what.as_ref(), value, detail].map(escape::text);
        format!("<li><span>{what}</span><b>{value}</b><small>{detail}</small></li>")
    };
    let all: String = items.iter().map(tile).collect();
    if all.is_empty() { all } else { format!("<ul class=\"tiles\">{all}</ul>") }
}

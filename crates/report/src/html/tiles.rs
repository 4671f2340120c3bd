//! The figures to remember, side by side.

use super::escape::{self, within};
use crate::lists::Joined;

/// Tiles of plain text, each what is told, how much, and what to know of it; nothing for none.
pub(crate) fn tiles<What: AsRef<str>>(items: &[(What, String, String)]) -> String {
    let tile = |(what, value, detail): &(What, String, String)| {
        let [what, value, detail] = [what.as_ref(), value, detail].map(escape::text);
        format!("<li><span>{what}</span><b>{value}</b><small>{detail}</small></li>")
    };
    within("<ul class=\"tiles\">", items.iter().map(tile).joined(""), "</ul>")
}

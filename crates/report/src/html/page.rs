//! What makes it one file?
//!
//! The shell around the sections: style, script and data inside, nothing fetched, and a policy that forbids the
//! browser to try.

use serde_json::{Map, Value};

use super::digest::source_hash;
use super::escape::{self, within};
use crate::document::Section;
use crate::lists::Joined;

const STYLE: &str = concat!(
    include_str!("style.css"),
    include_str!("attribution.css"),
    include_str!("iocost.css"),
    include_str!("heat.css")
);
const SCRIPT: &str = concat!(include_str!("plot.js"), include_str!("flame.js"), include_str!("heat.js"));

/// The finished document. `header` and the body of each section are HTML, `raw` is JSON; `plots` and `heat` are for scripts.
pub(crate) fn document(
    title: &str,
    header: &str,
    sections: &[(&Section, String)],
    [plots, heat]: [Map<String, Value>; 2],
    raw: &str,
) -> String {
    let entry = |(Section { id, short, .. }, _): &(&Section, String)| {
        within(&format!("<a href=\"#{id}\">"), escape::text(short), "</a>")
    };
    let navigation = sections.iter().map(entry).joined("");
    let body = sections.iter().map(section_html).joined("");
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{style_hash}'; \
         script-src '{script_hash}'; base-uri 'none'; form-action 'none'\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{title}</title>\n\
         <style>{STYLE}</style></head>\n<body>\n<header>{header}</header>\n<nav>{navigation}</nav>\n\
         <main>{body}</main>\n<footer><p>One file, nothing fetched: it can be kept, sent and printed. \
         <a id=\"download\" hidden=\"hidden\" href=\"#\">Download the data as JSON</a></p></footer>\n\
         <script type=\"application/json\" id=\"data\">{{\"plots\":{plots},\"heat\":{heat},\"raw\":{raw}}}</script>\n\
         <script>{SCRIPT}</script>\n</body></html>\n",
        title = escape::text(title),
        style_hash = source_hash(STYLE),
        script_hash = source_hash(SCRIPT),
        plots = escape::script(&plots.into()),
        heat = escape::script(&heat.into()),
    )
}

fn section_html((section, body): &(&Section, String)) -> String {
    let title = within("<h2>", escape::text(&section.title), "</h2>");
    let head = match section.fold.as_deref().map(escape::text) {
        Some(inside) => format!("<details class=\"fold\"><summary>{title}<small>{inside}</small></summary>"),
        None => title,
    };
    let end = if section.fold.is_some() { "</details>" } else { "" };
    format!("<section id=\"{}\">{head}{body}{end}</section>\n", section.id)
}

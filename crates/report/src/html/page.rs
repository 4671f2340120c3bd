//! What makes it one file?
//!
//! The shell around the sections: style, script and data inside, nothing fetched, and a policy that forbids the
//! browser to try.

use serde_json::{Map, Value};

use super::digest::source_hash;
use super::escape;
use crate::document::Section;

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
    let navigation: String = sections
        .iter()
        .map(|(section, _)| section)
        .filter(|section| !section.short.is_empty())
        .map(|section| format!("<a href=\"#{}\">{}</a>", section.id, escape::text(&section.short)))
        .collect();
    let body: String = sections.iter().map(section_html).collect();
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
    let title = match section.title.as_str() {
        "" => String::new(),
        title => format!("<h2>{}</h2>", escape::text(title)),
    };
    let body = match &section.fold {
        Some(inside) => {
            let inside = escape::text(inside);
            format!(
                "<details class=\"fold\"><summary>{title}<small>{inside}</small></summary>{body}</details>"
            )
        }
        None => title + body,
    };
    format!("<section id=\"{}\">{body}</section>\n", section.id)
}

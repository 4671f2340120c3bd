//! What makes it one file?
//!
//! The shell around the sections: style, script and data inside, nothing fetched, and a policy that forbids the
//! browser to try.

use super::digest::source_hash;
use super::escape;

const STYLE: &str = concat!(
    include_str!("style.css"),
    include_str!("attribution.css"),
    include_str!("inside.css"),
    include_str!("iocost.css"),
    include_str!("heat.css")
);
const SCRIPT: &str = concat!(include_str!("plot.js"), include_str!("flame.js"), include_str!("heat.js"));

/// A section of the page: where it is found, what it is called, what it holds (HTML).
pub(crate) struct Section {
    /// Anchor; letters and dashes.
    pub(crate) id: String,
    /// Entry in the navigation; empty for a section that needs none.
    pub(crate) short: String,
    /// Heading; plain text, empty for none.
    pub(crate) title: String,
    /// What is in it, where it is folded; plain text.
    pub(crate) fold: Option<String>,
    /// HTML.
    pub(crate) body: String,
}

impl Section {
    pub(crate) fn new(id: &str, short: &str, title: &str, body: String) -> Section {
        Section { id: id.to_owned(), short: short.to_owned(), title: title.to_owned(), fold: None, body }
    }
}

/// The finished document. `header` is HTML, `raw` is JSON.
pub(crate) fn document(
    title: &str,
    header: &str,
    sections: &[Section],
    [plots, heat]: [&[String]; 2],
    raw: &str,
) -> String {
    let navigation: String = sections
        .iter()
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
         <script type=\"application/json\" id=\"data\">{{\"plots\":{{{plots}}},\"heat\":{{{heat}}},\"raw\":{raw}}}</script>\n\
         <script>{SCRIPT}</script>\n</body></html>\n",
        title = escape::text(title),
        style_hash = source_hash(STYLE),
        script_hash = source_hash(SCRIPT),
        plots = plots.join(",\n"),
        heat = heat.join(",\n"),
    )
}

fn section_html(section: &Section) -> String {
    let title = if section.title.is_empty() {
        String::new()
    } else {
        format!("<h2>{}</h2>", escape::text(&section.title))
    };
    let body = match &section.fold {
        Some(inside) => format!(
            "<details class=\"fold\"><summary>{title}<small>{}</small></summary>{}</details>",
            escape::text(inside),
            section.body
        ),
        None => title + &section.body,
    };
    format!("<section id=\"{}\">{body}</section>\n", section.id)
}

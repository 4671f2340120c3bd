//! How does text from outside get onto the page without becoming part of it?
//!
//! File names, device models and error messages are whatever somebody else chose. Everything passes through [`text`]
//! (HTML) or [`script`] (the data block) exactly once.

use serde_json::Value;

/// HTML text or a quoted attribute. Control and direction-changing characters, which could hide or reorder what is
/// read, become visible replacement characters.
pub(crate) fn text(raw: &str) -> String {
    let mut safe = String::with_capacity(raw.len());
    for character in raw.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(' '),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => safe.push('\u{fffd}'),
            other if other.is_control() => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

/// The HTML between two ends; nothing around nothing.
pub(crate) fn within(before: &str, html: String, after: &str) -> String {
    if html.is_empty() { html } else { [before, &html, after].concat() }
}

/// JSON that cannot end its `<script>` element early: only strings have this letter.
pub(crate) fn script(json: &Value) -> String {
    json.to_string().replace('<', "\\u003c")
}

/// A JSON number with five significant digits; null when it is none.
pub(crate) fn number(value: f64) -> Value {
    rounded(value, 4)
}

/// The same with nine digits, for values that differ late: 99.999 and 99.9991 percent.
pub(crate) fn precise(value: f64) -> Value {
    rounded(value, 8)
}

fn rounded(value: f64, decimals: usize) -> Value {
    let rounded: f64 = format!("{value:.decimals$e}").parse().unwrap_or(value);
    // Without the ".0" of a float.
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        Value::from(rounded as i64)
    } else {
        Value::from(rounded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_text_stays_text() {
        assert_eq!(text("<b a='1' c=\"&\">"), "&lt;b a=&#39;1&#39; c=&quot;&amp;&quot;&gt;");
        assert_eq!(text("a\u{202e}b\u{7}\u{0}c"), "a\u{fffd}b\u{fffd}\u{fffd}c");
    }

    #[test]
    fn a_json_string_cannot_close_the_script() {
        let safe = script(&Value::from("</script><!-- \"\n"));
        assert_eq!(safe, "\"\\u003c/script>\\u003c!-- \\\"\\n\"");
    }

    #[test]
    fn numbers_are_short_and_never_nan() {
        let said =
            [123_456.789, 0.000_012_345_6, f64::NAN, f64::NEG_INFINITY].map(|each| number(each).to_string());
        assert_eq!(said, ["123460", "0.000012346", "null", "null"]);
        assert_eq!(precise(99.999_123_456).to_string(), "99.9991235");
    }
}

//! How does text from outside get onto the page without becoming part of it?
//!
//! File names, device models and error messages are whatever somebody else chose. Everything passes through [`text`]
//! (HTML) or [`json`] (the data block) exactly once.

use std::fmt::Write as _;

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

/// A JSON string with its quotes, which cannot end a `<script>` element early.
pub(crate) fn json(raw: &str) -> String {
    let mut safe = String::with_capacity(raw.len() + 2);
    safe.push('"');
    for character in raw.chars() {
        match character {
            '"' => safe.push_str("\\\""),
            '\\' => safe.push_str("\\\\"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                write!(safe, "\\u{:04x}", u32::from(character)).expect("a string takes everything");
            }
            other => safe.push(other),
        }
    }
    safe.push('"');
    safe
}

/// A JSON number with five significant digits; `null` when it is none.
pub(crate) fn number(value: f64) -> String {
    rounded(value, 4)
}

/// The same with nine digits, for values that differ late: 99.999 and 99.9991 percent.
pub(crate) fn precise(value: f64) -> String {
    rounded(value, 8)
}

fn rounded(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "null".to_owned();
    }
    let rounded: f64 = format!("{value:.decimals$e}").parse().unwrap_or(value);
    rounded.to_string()
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
        let safe = json("</script><!-- \"\\\n");
        assert_eq!(safe, "\"\\u003c/script\\u003e\\u003c!-- \\\"\\\\\\u000a\"");
    }

    #[test]
    fn numbers_are_short_and_never_nan() {
        assert_eq!(number(123_456.789), "123460");
        assert_eq!(number(0.000_012_345_6), "0.000012346");
        assert_eq!(precise(99.999_123_456), "99.9991235");
        assert_eq!(number(f64::NAN), "null");
        assert_eq!(number(f64::NEG_INFINITY), "null");
    }
}

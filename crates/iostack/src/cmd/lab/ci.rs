//! The verdicts of trials for a CI server: TAP (version 13, of <https://testanything.org>) and `JUnit`'s XML.

#![expect(
    clippy::format_push_string,
    reason = "a file is made once, from pieces that read like what they become"
)]

use super::matrix::counts;
use super::trial::{Tried, Verdict};

/// A line a trial; what is wrong follows as YAML.
pub(super) fn tap(tried: &[Tried]) -> String {
    let mut out = format!("TAP version 13\n1..{}\n", tried.len());
    for (number, one) in (1..).zip(tried) {
        let is_ok = if one.verdict() == Verdict::Failed { "not ok" } else { "ok" };
        let title = one_line(&format!("{}: {}", one.machine(), one.trial.word()));
        out += &format!("{is_ok} {number} - {}", title.replace('\\', "\\\\").replace('#', "\\#"));
        if let Some(why) = &one.findings.not_tried {
            out += &format!(" # SKIP {}", one_line(why));
        }
        out.push('\n');
        let faults = one.faults();
        if one.verdict() == Verdict::Failed {
            out += "  ---\n  wrong:\n";
            // A string of JSON is one of YAML.
            for fault in faults {
                out += &format!("    - {}\n", serde_json::Value::from(fault));
            }
            out += "  ...\n";
        }
    }
    out
}

/// A suite a machine, a case a trial.
pub(super) fn junit(tried: &[Tried]) -> String {
    let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    out += &format!("<testsuites name=\"iostack lab test\"{}>\n", attributes(tried));
    for trials in tried.chunk_by(|one, other| one.machine() == other.machine()) {
        let name = escaped(&trials[0].machine());
        out += &format!("  <testsuite name=\"{name}\"{}>\n", attributes(trials));
        for one in trials {
            out += &format!("    <testcase classname=\"{name}\" name=\"{}\"", one.trial.word());
            let faults = one.faults();
            out += &match (one.verdict(), &one.findings.not_tried, faults.first()) {
                (Verdict::Skipped, Some(why), _) => {
                    format!(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", escaped(&one_line(why)))
                }
                (Verdict::Failed, _, Some(first)) => format!(
                    ">\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
                    escaped(&one_line(first)),
                    escaped(&faults.join("\n"))
                ),
                _ => "/>\n".to_owned(),
            };
        }
        out += "  </testsuite>\n";
    }
    out + "</testsuites>\n"
}

fn attributes(tried: &[Tried]) -> String {
    let [_, failed, skipped] = counts(tried);
    format!(" tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\"", tried.len())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text as XML may hold it, in quotes too; control characters of a kernel's log have no place there.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\n' | '\t' => out.push(character),
            '\u{fffe}' | '\u{ffff}' => {}
            other if other.is_control() => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests;

//! A table as `OpenMetrics` text.
//!
//! ```text
//!   # TYPE iostack_latency_p99_seconds gauge
//!   # UNIT iostack_latency_p99_seconds seconds
//!   # HELP iostack_latency_p99_seconds time of an I/O: 99th percentile
//!   iostack_latency_p99_seconds{job="randread",target="x25e",clock="simulated"} 0.000105
//!   # EOF
//! ```
//!
//! A column is a family; the columns that tell rows apart are its labels. Units are the base units of the format: a column of
//! nanoseconds is written in seconds. <https://prometheus.io/docs/specs/om/open_metrics_spec/>

use super::{Cells, Column, Role, Table};

/// Ending of a column's name, the unit there, and the divisor to it.
const UNITS: [(&str, &str, f64); 6] = [
    ("_bytes_per_s", "bytes_per_second", 1.0),
    ("_ns", "seconds", 1e9),
    ("_s", "seconds", 1.0),
    ("_bytes", "bytes", 1.0),
    ("_percent", "ratio", 100.0),
    ("_ios", "ios", 1.0),
];

/// Every figure that a row has, one family a column.
pub fn openmetrics(table: &Table) -> String {
    let keys: Vec<&Column> = table.columns.iter().filter(|column| column.role == Role::Key).collect();
    let labels: Vec<String> = (0..table.rows()).map(|row| labels(&keys, row)).collect();
    let figures = table.columns.iter().filter(|column| matches!(column.role, Role::Counter | Role::Gauge));
    figures.map(|column| family(column, &labels)).collect::<String>() + "# EOF\n"
}

fn family(column: &Column, labels: &[String]) -> String {
    let (name, unit, divisor) = named(&column.name);
    let (kind, suffix) = if column.role == Role::Counter { ("counter", "_total") } else { ("gauge", "") };
    let samples: String = labels
        .iter()
        .enumerate()
        .filter_map(|(row, labels)| {
            Some(format!("{name}{suffix}{labels} {}\n", value(column, row, divisor)?))
        })
        .collect();
    if samples.is_empty() {
        return samples;
    }
    let unit = if unit.is_empty() { String::new() } else { format!("# UNIT {name} {unit}\n") };
    format!("# TYPE {name} {kind}\n{unit}# HELP {name} {}\n{samples}", escaped(&column.about))
}

/// Name, unit and divisor: `latency_p99_ns` is `iostack_latency_p99_seconds`.
fn named(column: &str) -> (String, &'static str, f64) {
    let word = word(column);
    // `bytes_per_s` is all unit.
    let known = UNITS.iter().find(|(ends, ..)| format!("_{word}").ends_with(ends));
    let Some(&(ends, unit, divisor)) = known else { return (format!("iostack_{word}"), "", 1.0) };
    let before = format!("_{word}");
    let before = before.strip_suffix(ends).unwrap_or_default();
    (format!("iostack{before}_{unit}"), unit, divisor)
}

fn value(column: &Column, row: usize, divisor: f64) -> Option<String> {
    match &column.cells {
        Cells::Counts(cells) if divisor > 1.0 => Some((cells[row]? as f64 / divisor).to_string()),
        Cells::Numbers(cells) => Some((cells[row].filter(|value| value.is_finite())? / divisor).to_string()),
        Cells::Counts(_) => column.cells.said(row),
        Cells::Text(_) => None,
    }
}

/// `{job="a",target="x25e"}`; what a row does not have is left out.
fn labels(keys: &[&Column], row: usize) -> String {
    let each = keys
        .iter()
        .filter_map(|key| Some(format!("{}=\"{}\"", word(&key.name), escaped(&key.cells.said(row)?))));
    let each: Vec<String> = each.collect();
    if each.is_empty() { String::new() } else { format!("{{{}}}", each.join(",")) }
}

/// Letters, digits and underscores, as names are made of.
fn word(name: &str) -> String {
    let word = name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    if word.starts_with(|letter: char| letter.is_ascii_digit()) { format!("_{word}") } else { word }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_families_in_base_units_and_gaps_are_left_out() {
        let text = |text: &str| Some(text.to_owned());
        let table = Table {
            columns: vec![
                Column::new("flash.state", "", Cells::Text(vec![text("say \"hi\"\n"), None])).role(Role::Key),
                Column::new("ios", "done", Cells::Counts(vec![Some(7), Some(0)])).role(Role::Counter),
                Column::new("latency_p99_ns", "a \\ b", Cells::Counts(vec![None, Some(1500)])),
                Column::new("bytes_per_s", "bandwidth", Cells::Numbers(vec![Some(f64::NAN), Some(0.5)])),
                Column::new("empty_ns", "nothing", Cells::Numbers(vec![None, None])),
                Column::new("limit", "words", Cells::Text(vec![text("die"), None])),
            ],
        };
        let expected = "# TYPE iostack_ios counter\n# UNIT iostack_ios ios\n# HELP iostack_ios done\n\
            iostack_ios_total{flash_state=\"say \\\"hi\\\"\\n\"} 7\niostack_ios_total 0\n\
            # TYPE iostack_latency_p99_seconds gauge\n# UNIT iostack_latency_p99_seconds seconds\n\
            # HELP iostack_latency_p99_seconds a \\\\ b\niostack_latency_p99_seconds 0.0000015\n\
            # TYPE iostack_bytes_per_second gauge\n# UNIT iostack_bytes_per_second bytes_per_second\n\
            # HELP iostack_bytes_per_second bandwidth\niostack_bytes_per_second 0.5\n# EOF\n";
        assert_eq!(openmetrics(&table), expected);
    }
}

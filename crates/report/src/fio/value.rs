//! JSON as fio prints it: keys in their order, floats with six decimals, a blank on both sides of the colon.

use std::fmt::{self, Display, Formatter};

/// A value of fio's report. Numbers are whole or have six decimals; readers of both kinds are strict about it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A count, bytes, KiB/s, ns or ms.
    Whole(u64),
    /// A mean, a share, a rate.
    Float(f64),
    /// A name or an option.
    Text(String),
    /// Keys in the order of fio.
    Object(Vec<(String, Value)>),
    /// Jobs and disks.
    List(Vec<Value>),
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Whole(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Float(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl Value {
    pub(super) fn object<Key: Into<String>>(fields: impl IntoIterator<Item = (Key, Value)>) -> Value {
        Value::Object(fields.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    pub(super) fn list<Each: Into<Value>>(all: impl IntoIterator<Item = Each>) -> Value {
        Value::List(all.into_iter().map(Into::into).collect())
    }

    fn print(&self, f: &mut Formatter<'_>, depth: usize) -> fmt::Result {
        match self {
            Value::Whole(number) => write!(f, "{number}"),
            // JSON has no word for infinity; fio prints 0 where it divides by nothing.
            Value::Float(number) => write!(f, "{:.6}", if number.is_finite() { *number } else { 0.0 }),
            Value::Text(text) => write!(f, "\"{}\"", escaped(text)),
            Value::Object(fields) => {
                let lines = fields.iter().map(|(key, value)| (format!("\"{}\" : ", escaped(key)), value));
                print_lines(f, ('{', '}'), lines, depth)
            }
            Value::List(values) => {
                print_lines(f, ('[', ']'), values.iter().map(|value| (String::new(), value)), depth)
            }
        }
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.print(f, 0)
    }
}

fn print_lines<'a>(
    f: &mut Formatter<'_>,
    (open, close): (char, char),
    lines: impl Iterator<Item = (String, &'a Value)>,
    depth: usize,
) -> fmt::Result {
    write!(f, "{open}")?;
    for (index, (key, value)) in lines.enumerate() {
        let comma = if index > 0 { "," } else { "" };
        write!(f, "{comma}\n{:indent$}{key}", "", indent = (depth + 1) * 2)?;
        value.print(f, depth + 1)?;
    }
    write!(f, "\n{:indent$}{close}", "", indent = depth * 2)
}

/// The text between quotes of JSON (RFC 8259, section 7).
fn escaped(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c < ' ' => quoted.push_str(&format!("\\u{:04x}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_survives_json() {
        let hostile = "a\"b\\c\nd\te\r\u{1}\u{1b}[0m ü 漢";
        let printed = Value::object([(hostile, hostile.to_owned().into())]).to_string();
        let read: serde_json::Value = serde_json::from_str(&printed).expect("valid JSON");
        assert_eq!(read[hostile], hostile);
    }

    #[test]
    fn numbers_keep_their_kind() {
        let value = Value::list([Value::Whole(1 << 60), Value::Float(1.0), Value::Float(f64::NAN)]);
        assert_eq!(value.to_string(), "[\n  1152921504606846976,\n  1.000000,\n  0.000000\n]");
        assert_eq!(Value::Object(Vec::new()).to_string(), "{\n}");
    }
}

//! What does a device's file say? Its words with their lines, before anything is known of its kind.
//!
//! ```toml
//! name = "my-drive"                  # sim:my-drive
//! title = "My drive, 512 GB"
//! kind = "flash"
//!
//! [sources]
//! sheet = "My drive, data sheet, revision 3"
//!
//! [flash]
//! read = { value = "25us", source = "sheet: page 4" }
//! program = { value = "200us", assumed = "usual for SLC" }
//! ```

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::sheet::error::{SheetError, did_you_mean};
use crate::sheet::source::Source;

/// A value with the line it stands on.
#[derive(Clone, Debug, Default)]
pub(crate) struct TypedText {
    pub(crate) text: String,
    pub(crate) line: u32,
}

/// `flash.read = { value = .., source = .. }`
#[derive(Debug)]
pub(crate) struct Number {
    pub(crate) key: String,
    pub(crate) text: String,
    pub(crate) source: Source,
    pub(crate) line: u32,
}

/// `[claims.NAME]`: keys and values, those of tables as `job.queue_depth`.
#[derive(Debug)]
pub(crate) struct RawClaim {
    pub(crate) name: String,
    pub(crate) line: u32,
    pub(crate) fields: Vec<(String, TypedText)>,
}

/// Content of a file.
#[derive(Debug, Default)]
pub(crate) struct Document {
    /// `name`, `title`, `about`, `kind`, `year`.
    pub(crate) head: Vec<(String, TypedText)>,
    pub(crate) sources: Vec<(String, TypedText)>,
    pub(crate) numbers: Vec<Number>,
    pub(crate) claims: Vec<RawClaim>,
}

impl Document {
    pub(crate) fn head(&self, name: &str) -> Option<&TypedText> {
        self.head.iter().find(|(key, _)| key == name).map(|(_, typed)| typed)
    }
}

/// Words that stand at the top of a file.
pub(crate) const HEAD: [&str; 5] = ["name", "title", "about", "kind", "year"];

/// Remedy for a number without a source.
const HOW: &str =
    "write { value = \"..\", source = \"DOCUMENT: place\" }, fitted = \"CLAIM\" or assumed = \"why\"";

/// Reads a file and collects what is wrong with it, each with its line.
pub(crate) struct Reader<'a> {
    text: &'a str,
    name: &'a str,
    pub(crate) problems: Vec<(u32, SheetError)>,
}

impl<'a> Reader<'a> {
    /// `name` stands for the file in errors.
    pub(crate) fn new(text: &'a str, name: &'a str) -> Reader<'a> {
        Reader { text, name, problems: Vec::new() }
    }

    pub(crate) fn place(&self, line: u32) -> String {
        format!("{}:{line}", self.name)
    }

    pub(crate) fn problem(&mut self, line: u32, what: impl Into<String>, remedy: impl Into<String>) {
        let place = if line == 0 { self.name.to_owned() } else { self.place(line) };
        self.problems.push((line, SheetError { place, what: what.into(), remedy: remedy.into() }));
    }

    fn line(&self, byte: usize) -> u32 {
        self.text.bytes().take(byte).filter(|&each| each == b'\n').count() as u32 + 1
    }

    /// The whole file. What is wrong goes to [`Reader::problems`].
    pub(crate) fn read(&mut self) -> Document {
        let mut document = Document::default();
        let parsed = DeTable::parse(self.text);
        match &parsed {
            Ok(table) => self.top(table.get_ref(), &mut document),
            Err(error) => {
                let line = self.line(error.span().map_or(0, |span| span.start));
                self.problem(line, error.message().replace('\n', "; "), "write it as TOML does");
            }
        }
        document.head.sort_by_key(|(_, typed)| typed.line);
        document.sources.sort_by_key(|(_, typed)| typed.line);
        document.numbers.sort_by_key(|number| number.line);
        document.claims.sort_by_key(|claim| claim.line);
        document
    }

    fn top(&mut self, table: &DeTable, document: &mut Document) {
        for (key, value) in table {
            let line = self.line(key.span().start);
            let name = key.get_ref().as_ref();
            match value.get_ref() {
                DeValue::Table(inner) if name == "sources" => document.sources = self.texts("", inner),
                DeValue::Table(inner) if name == "claims" => self.claims(inner, document),
                DeValue::Table(inner) => self.numbers(name, inner, document),
                _ => match text_of(value) {
                    Some(text) if HEAD.contains(&name) => {
                        document.head.push((name.to_owned(), TypedText { text, line }));
                    }
                    _ => {
                        let near = did_you_mean(name, HEAD.into_iter());
                        let remedy = format!("{near}Numbers stand in tables such as [flash]");
                        self.problem(line, format!("`{name}` means nothing at the top of a file"), remedy);
                    }
                },
            }
        }
    }

    fn numbers(&mut self, prefix: &str, table: &DeTable, document: &mut Document) {
        for (key, value) in table {
            let line = self.line(key.span().start);
            let name = format!("{prefix}.{}", key.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) if is_number(inner) => self.number(name, line, inner, document),
                DeValue::Table(inner) => self.numbers(&name, inner, document),
                _ => {
                    let typed = text_of(value).unwrap_or_default();
                    self.problem(line, format!("`{name} = {typed}` does not say where it comes from"), HOW);
                }
            }
        }
    }

    fn number(&mut self, key: String, line: u32, table: &DeTable, document: &mut Document) {
        let before = self.problems.len();
        let mut text = None;
        let mut sources = Vec::new();
        for (name, typed) in self.texts("", table) {
            match name.as_str() {
                "value" => text = Some(typed.text),
                "source" => sources.push(Source::Cited(typed.text)),
                "fitted" => sources.push(Source::Fitted(typed.text)),
                "assumed" => sources.push(Source::Assumed(typed.text)),
                _ => self.problem(line, format!("`{key}` has a `{name}`, which means nothing"), HOW),
            }
        }
        let Some(text) = text else {
            return self.problem(line, format!("`{key}` has no value"), HOW);
        };
        match sources.pop() {
            None if self.problems.len() > before => {}
            None => self.problem(line, format!("`{key} = {text}` does not say where it comes from"), HOW),
            Some(_) if !sources.is_empty() => {
                self.problem(
                    line,
                    format!("`{key} = {text}` names several origins"),
                    "keep the one that counts",
                );
            }
            Some(source) => document.numbers.push(Number { key, text, source, line }),
        }
    }

    fn claims(&mut self, table: &DeTable, document: &mut Document) {
        for (key, value) in table {
            let line = self.line(key.span().start);
            let name = key.get_ref().to_string();
            match value.get_ref() {
                DeValue::Table(inner) => {
                    let fields = self.texts("", inner);
                    document.claims.push(RawClaim { name, line, fields });
                }
                _ => self.problem(
                    line,
                    format!("`claims.{name}` is no table"),
                    format!("write [claims.{name}]"),
                ),
            }
        }
    }

    /// Keys and values of a table and of those inside it, in the order of their lines.
    fn texts(&mut self, prefix: &str, table: &DeTable) -> Vec<(String, TypedText)> {
        let mut texts = Vec::new();
        for (key, value) in table {
            let line = self.line(key.span().start);
            let name = format!("{prefix}{}", key.get_ref());
            if let DeValue::Table(inner) = value.get_ref() {
                texts.extend(self.texts(&format!("{name}."), inner));
                continue;
            }
            let Some(text) = text_of(value) else {
                let what = format!("`{name}` is no single value");
                self.problem(line, what, "write one text or number");
                continue;
            };
            texts.push((name, TypedText { text, line }));
        }
        texts.sort_by_key(|(_, typed)| typed.line);
        texts
    }
}

/// A number with its origin, not a table of numbers.
fn is_number(table: &DeTable) -> bool {
    let words = ["value", "source", "fitted", "assumed"];
    let plain = |value: &Spanned<DeValue>| !matches!(value.get_ref(), DeValue::Table(_));
    table.iter().any(|(key, value)| words.contains(&key.get_ref().as_ref()) && plain(value))
}

/// A value as it would be typed after `--set`.
fn text_of(value: &Spanned<DeValue>) -> Option<String> {
    match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(on) => Some(on.to_string()),
        DeValue::Array(list) => {
            let plain = |item: &Spanned<DeValue>| match item.get_ref() {
                DeValue::Array(_) => None,
                _ => text_of(item),
            };
            list.iter().map(plain).collect::<Option<Vec<_>>>().map(|items| items.join(","))
        }
        DeValue::Integer(_) | DeValue::Datetime(_) | DeValue::Table(_) => None,
    }
}

//! Which lines of a job file are sections, options and comments?
//!
//! As fio reads them: everything behind `;` or `#` is a comment, wherever it starts; `include FILE` puts the file's
//! options in place; options before the first section are an error. Nothing is interpreted here.

use std::path::{Path, PathBuf};

use super::{ParseContext, Problem};

/// One `[section]` with its options.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) place: FilePlace,
    pub(super) options: Vec<TypedOption>,
}

/// One option as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypedOption {
    pub(super) name: String,
    /// `None` when there was no `=`.
    pub(super) value: Option<String>,
    pub(super) place: FilePlace,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FilePlace {
    pub(super) path: PathBuf,
    pub(super) line: u32,
}

impl FilePlace {
    pub(super) fn problem(&self, what: impl Into<String>) -> Problem {
        Problem { path: self.path.clone(), line: self.line, what: what.into() }
    }
}

/// Includes may include, but not for ever.
const INCLUDE_DEPTH: u32 = 16;

/// Includes multiply; no honest file comes near this many lines in all.
const MOST_LINES: usize = 100_000;

const NO_TEXT: &str = "not UTF-8; convert the file, as by `iconv --from-code=latin1 --to-code=utf-8`";

struct Lexer<'a> {
    context: &'a ParseContext<'a>,
    sections: Vec<Section>,
    problems: Vec<Problem>,
    lines: usize,
}

/// All sections of a file, and what is wrong with its lines.
pub(super) fn sections(text: &str, path: &Path, context: &ParseContext) -> (Vec<Section>, Vec<Problem>) {
    let mut lexer = Lexer { context, sections: Vec::new(), problems: Vec::new(), lines: 0 };
    lexer.file(text, path, 0);
    (lexer.sections, lexer.problems)
}

impl Lexer<'_> {
    fn file(&mut self, text: &str, path: &Path, depth: u32) {
        for (index, line) in text.lines().enumerate() {
            let place = FilePlace { path: path.to_owned(), line: index as u32 + 1 };
            self.lines += 1;
            if self.lines > MOST_LINES {
                self.problems.push(place.problem(format!("more than {MOST_LINES} lines with includes")));
                return;
            }
            let line = line.split([';', '#']).next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            if line.contains(char::REPLACEMENT_CHARACTER) {
                self.problems.push(place.problem(NO_TEXT));
                continue;
            }
            if let Some(rest) = line.strip_prefix('[') {
                self.section(rest, place, depth);
            } else if let Some(file) = include(line) {
                self.include(file, &place, depth);
            } else {
                self.option(line, place);
            }
        }
    }

    fn section(&mut self, rest: &str, place: FilePlace, depth: u32) {
        if depth > 0 {
            self.problems.push(place.problem("an included file may not contain [sections]"));
            return;
        }
        match rest.split_once(']') {
            Some((name, "")) if !name.trim().is_empty() => {
                self.sections.push(Section { name: name.trim().to_owned(), place, options: Vec::new() });
            }
            Some((name, _)) if name.trim().is_empty() => {
                self.problems.push(place.problem("a section needs a name, like [global] or [job1]"));
            }
            _ => self.problems.push(place.problem(format!("`[{rest}` is no section; write it like [job1]"))),
        }
    }

    fn include(&mut self, file: &str, place: &FilePlace, depth: u32) {
        if depth == INCLUDE_DEPTH {
            self.problems
                .push(place.problem(format!("more than {INCLUDE_DEPTH} includes inside each other")));
            return;
        }
        let path = Path::new(file);
        let path = match place.path.parent() {
            Some(directory) if path.is_relative() => directory.join(path),
            _ => path.to_owned(),
        };
        match (self.context.include)(&path) {
            Ok(text) => self.file(&text, &path, depth + 1),
            Err(error) => {
                self.problems.push(place.problem(format!("cannot include `{}`: {error}", path.display())));
            }
        }
    }

    fn option(&mut self, line: &str, place: FilePlace) {
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim().to_owned())),
            None => (line, None),
        };
        if let Some(section) = self.sections.last_mut() {
            section.options.push(TypedOption { name: name.to_owned(), value, place });
        } else {
            let what = format!("`{line}` stands before the first section; put [global] or [a name] above it");
            self.problems.push(place.problem(what));
        }
    }
}

fn include(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("include")?;
    let file = rest.trim_start();
    (rest.len() > file.len() && !file.starts_with('=')).then_some(file)
}

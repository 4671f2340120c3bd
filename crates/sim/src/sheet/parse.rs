//! Is a file a device? Its words are held against its kind's table of parameters; all that is wrong is said at once.

use std::collections::BTreeMap;
use std::path::Path;

use crate::sheet::claim::Claim;
use crate::sheet::document::{Document, Number, Reader};
use crate::sheet::error::{SheetError, SheetErrors, did_you_mean};
use crate::sheet::kinds::KINDS;
use crate::sheet::loaded::{Folder, Sheet, Value};
use crate::sheet::parameter::{DeviceKind, Parameter, Unit};
use crate::sheet::source::Source;
use crate::sheet::{catalogue, value};

/// Origin of a sheet without a file.
const NO_FILE: &str = "numbers alone";

/// Devices inside devices; deeper is a file that contains itself.
const DEPTH_MAX: u32 = 4;

impl Sheet {
    /// The device of this name: built in, or a path to a file. `changes` are keys and values, as after `--set`.
    pub fn load(name_or_path: &str, changes: &[(String, String)]) -> Result<Sheet, SheetErrors> {
        load(name_or_path, changes, &None, 0)
    }

    /// The device of a text; `path` names it in errors, and names of other files begin where it lies.
    pub fn parse(text: &str, path: &Path, changes: &[(String, String)]) -> Result<Sheet, SheetErrors> {
        let folder = path.parent().map(Path::to_owned);
        parse(text, &path.display().to_string(), changes, &folder, 0)
    }

    /// A sheet of numbers without sources, for tests and parts of other devices.
    pub fn from_values(kind: &str, values: &[(&str, &str)]) -> Result<Sheet, SheetError> {
        let found = KINDS.iter().find(|each| each.name == kind);
        Sheet::of_kind(found.unwrap_or_else(|| panic!("`{kind}` is no kind")), values)
    }

    /// The same of a kind that need not be in the list, such as one under test.
    pub fn of_kind(kind: &'static DeviceKind, values: &[(&str, &str)]) -> Result<Sheet, SheetError> {
        let changes: Vec<(String, String)> =
            values.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let mut maker = Maker { sheet: blank(kind), depth: 0, problems: Vec::new() };
        maker.change(&changes, kind.name);
        maker.sheet.changed.clear();
        maker.finish().map_err(SheetErrors::into_first)
    }

    /// The same device with these numbers changed, keys and values as after `--set`.
    pub fn with(&self, changes: &[(String, String)]) -> Result<Sheet, SheetErrors> {
        let mut maker = Maker { sheet: self.clone(), depth: 0, problems: Vec::new() };
        maker.change(changes, "--set");
        maker.finish()
    }
}

fn blank(kind: &'static DeviceKind) -> Sheet {
    Sheet {
        name: kind.name.to_owned(),
        kind,
        title: kind.about.to_owned(),
        about: String::new(),
        year: None,
        origin: NO_FILE.to_owned(),
        changed: Vec::new(),
        sources: Vec::new(),
        claims: Vec::new(),
        values: BTreeMap::new(),
        members: BTreeMap::new(),
        folder: None,
    }
}

fn kinds() -> String {
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    format!("the kinds are {}", names.join(", "))
}

fn load(name: &str, changes: &[(String, String)], folder: &Folder, depth: u32) -> Result<Sheet, SheetErrors> {
    if let Some(text) = catalogue::text(name) {
        let mut sheet = parse(text, name, changes, &None, depth)?;
        "built in".clone_into(&mut sheet.origin);
        return Ok(sheet);
    }
    let looks_like_file = name.contains('/') || Path::new(name).extension().is_some_and(|end| end == "toml");
    if !looks_like_file {
        let near = did_you_mean(name, catalogue::names());
        return Err(SheetErrors::from(SheetError {
            place: format!("sim:{name}"),
            what: "no device of this name".to_owned(),
            remedy: format!("{near}`iostack sim list` shows all; a file's name ends in .toml"),
        }));
    }
    let path = folder.as_ref().map_or_else(|| Path::new(name).to_owned(), |folder| folder.join(name));
    let text = std::fs::read_to_string(&path).map_err(|error| SheetError {
        place: path.display().to_string(),
        what: format!("it cannot be read ({error})"),
        remedy: "give the path of a device's file, or a name of `iostack sim list`".to_owned(),
    })?;
    parse(&text, &path.display().to_string(), changes, &path.parent().map(Path::to_owned), depth)
}

fn parse(
    text: &str,
    name: &str,
    changes: &[(String, String)],
    folder: &Folder,
    depth: u32,
) -> Result<Sheet, SheetErrors> {
    let mut reader = Reader::new(text, name);
    let document = reader.read();
    let kind = kind_of(&document, &mut reader);
    check_head(&document, &mut reader);
    check_sources(&document, &mut reader);
    let claims: Vec<Claim> =
        document.claims.iter().filter_map(|raw| Claim::read(raw, &document.claims, &mut reader)).collect();
    let Some(kind) = kind else {
        return Err(in_order(reader.problems));
    };
    let mut maker = Maker { sheet: blank(kind), depth, problems: Vec::new() };
    maker.sheet.folder.clone_from(folder);
    let head = |key: &str| document.head(key).map_or(String::new(), |typed| typed.text.clone());
    maker.sheet.name = head("name");
    maker.sheet.title = head("title");
    maker.sheet.about = head("about");
    maker.sheet.year = head("year").parse().ok();
    name.clone_into(&mut maker.sheet.origin);
    maker.sheet.claims = claims;
    maker.sheet.sources = document.sources.into_iter().map(|(key, typed)| (key, typed.text)).collect();
    // A member that is exchanged need not exist.
    let exchanged = |key: &str| changes.iter().any(|(other, _)| other == key);
    let (own, inside): (Vec<_>, Vec<_>) =
        document.numbers.iter().partition(|number| maker.parameter(&number.key).is_some());
    for number in own {
        maker.number(number, &mut reader, !exchanged(&number.key));
    }
    let is_member =
        |key: &str| matches!(maker.parameter(key), Some(known) if matches!(known.unit, Unit::Device(_)));
    let member_given = changes.iter().any(|(key, _)| is_member(key));
    for number in inside {
        maker.number_inside(number, &mut reader, member_given);
    }
    maker.change(changes, "--set");
    maker.missing(name);
    maker.problems.splice(0..0, in_order(reader.problems).problems);
    maker.finish()
}

/// Changes meant for the device that `key` names: `raid0.member.flash.read` to `flash.read`.
fn inside_of(changes: &[(String, String)], key: &str) -> Vec<(String, String)> {
    let inside = changes.iter().filter_map(|(name, value)| {
        let rest = name.strip_prefix(key)?.strip_prefix('.')?;
        Some((rest.to_owned(), value.clone()))
    });
    inside.collect()
}

fn in_order(mut problems: Vec<(u32, SheetError)>) -> SheetErrors {
    problems.sort();
    problems.dedup();
    SheetErrors { problems: problems.into_iter().map(|(_, error)| error).collect() }
}

fn kind_of(document: &Document, reader: &mut Reader) -> Option<&'static DeviceKind> {
    let Some(typed) = document.head("kind") else {
        // A file that is no TOML has said so already.
        if reader.problems.is_empty() {
            reader.problem(0, "it does not say its kind", format!("add kind = \"..\"; {}", kinds()));
        }
        return None;
    };
    let found = KINDS.iter().find(|kind| kind.name == typed.text);
    if found.is_none() {
        reader.problem(typed.line, format!("`kind = {}`: no such kind", typed.text), kinds());
    }
    found
}

fn check_head(document: &Document, reader: &mut Reader) {
    if document.head.is_empty() {
        return;
    }
    for key in ["name", "title"] {
        if document.head(key).is_none_or(|typed| typed.text.trim().is_empty()) {
            reader.problem(0, format!("it has no {key}"), format!("add {key} = \"..\""));
        }
    }
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    if let Some(name) = document.head("name").filter(|name| !name.text.bytes().all(plain)) {
        let what = format!("`name = {}` is hard to type after sim:", name.text);
        reader.problem(name.line, what, "use small letters, digits and dashes");
    }
    if let Some(year) = document.head("year").filter(|year| year.text.parse::<u32>().is_err()) {
        reader.problem(year.line, format!("`year = {}` is no year", year.text), "write it like 2009");
    }
}

fn check_sources(document: &Document, reader: &mut Reader) {
    let documents = || document.sources.iter().map(|(key, _)| key.as_str());
    for number in &document.numbers {
        match &number.source {
            Source::Cited(place) if is_published(place.strip_prefix("claim ").unwrap_or("")) => {}
            Source::Cited(place) => {
                let short = place.split(':').next().unwrap_or("").trim();
                if documents().any(|known| known == short) {
                    continue;
                }
                let near = did_you_mean(short, documents());
                let remedy = format!("{near}add {short} = \"..\" to [sources]");
                reader.problem(
                    number.line,
                    format!("`{}` cites `{place}`, which is no source", number.key),
                    remedy,
                );
            }
            Source::Fitted(claim) if is_published(claim) => {}
            Source::Fitted(claim) if document.claims.iter().all(|known| known.name != *claim) => {
                let what = format!("`{}` is fitted to `{claim}`, which is no claim", number.key);
                reader.problem(number.line, what, format!("add [claims.{claim}] with what must be reached"));
            }
            Source::Assumed(why) if why.trim().is_empty() => {
                reader.problem(
                    number.line,
                    format!("`{}` is assumed without a reason", number.key),
                    "say why",
                );
            }
            _ => {}
        }
    }
}

/// `intel10.clocks.syscall`: a claim of `experiments/published.toml`, which is not this crate's to know.
fn is_published(claim: &str) -> bool {
    claim.contains('.') && !claim.contains(' ')
}

/// A sheet in the making.
struct Maker {
    sheet: Sheet,
    /// Devices that it is inside of.
    depth: u32,
    problems: Vec<SheetError>,
}

impl Maker {
    fn parameter(&self, key: &str) -> Option<&'static Parameter> {
        self.sheet.kind.parameters.iter().find(|parameter| parameter.key == key)
    }

    fn unknown(&self, key: &str) -> (String, String) {
        let kind = self.sheet.kind;
        let near = did_you_mean(key, kind.parameters.iter().map(|parameter| parameter.key));
        let remedy = format!("{near}`iostack sim keys {}` lists what it has", kind.name);
        (format!("a {} device has no `{key}`", kind.name), remedy)
    }

    /// A number of the file. A device inside is loaded unless another takes its place.
    fn number(&mut self, number: &Number, reader: &mut Reader, load: bool) {
        let Some(parameter) = self.parameter(&number.key) else {
            let (what, remedy) = self.unknown(&number.key);
            return reader.problem(number.line, what, remedy);
        };
        let place = reader.place(number.line);
        if let Err(wrong) = value::check(parameter.unit, &number.text, parameter.default == Some("none")) {
            let what = format!("`{} = {}`: {}", number.key, number.text, wrong.what);
            reader.problem(number.line, what, wrong.remedy);
        }
        if let (Unit::Device(kind), true) = (parameter.unit, load) {
            self.member(parameter.key, kind, &number.text, &place);
        }
        let value = Value { text: number.text.clone(), source: number.source.clone(), place };
        if self.sheet.values.insert(number.key.clone(), value).is_some() {
            let what = format!("`{}` stands twice in the file", number.key);
            reader.problem(number.line, what, "keep one");
        }
    }

    /// A number of the file that is one of a sheet inside: `[os]` in the file of a platform.
    fn number_inside(&mut self, number: &Number, reader: &mut Reader, member_given: bool) {
        let sources = self.sheet.sources.clone();
        let has = |member: &&mut Sheet| member.kind.parameters.iter().any(|known| known.key == number.key);
        let Some(member) = self.sheet.members.values_mut().find(has) else {
            // One of a member that another takes the place of; else this says that there is none.
            if !member_given {
                self.number(number, reader, false);
            }
            return;
        };
        let mut maker = Maker { sheet: member.clone(), depth: self.depth + 1, problems: Vec::new() };
        // Once from its own file, once from this one; twice in one file is no TOML.
        maker.sheet.values.remove(&number.key);
        maker.number(number, reader, true);
        maker.sheet.sources.extend(sources.into_iter().filter(|known| !member.sources.contains(known)));
        self.problems.extend(maker.problems);
        *member = maker.sheet;
    }

    /// A sheet inside, which must be of `kind`, or any drive.
    fn member(&mut self, key: &str, kind: Option<&str>, name: &str, place: &str) {
        if name == "none" {
            self.sheet.members.remove(key);
            return;
        }
        let depth = self.depth;
        if depth == DEPTH_MAX {
            let what = format!("`{key} = {name}`: devices in devices, {DEPTH_MAX} deep");
            let remedy = "name a device that does not contain this one".to_owned();
            return self.problems.push(SheetError { place: place.to_owned(), what, remedy });
        }
        // The name of a kind: its numbers stand in the file of the platform, or are changed.
        let of_kind = KINDS.iter().find(|kind| kind.name == name && catalogue::text(name).is_none());
        let loaded =
            of_kind.map_or_else(|| load(name, &[], &self.sheet.folder, depth + 1), |kind| Ok(blank(kind)));
        match loaded {
            Ok(sheet) if kind.map_or(sheet.kind.is_drive(), |kind| sheet.kind.name == kind) => {
                self.sheet.members.insert(key.to_owned(), sheet);
            }
            Ok(sheet) => {
                let what = format!("`{key} = {name}`: it is of kind {}", sheet.kind.name);
                let remedy =
                    kind.map_or("name a drive".to_owned(), |kind| format!("name a sheet of kind {kind}"));
                self.problems.push(SheetError { place: place.to_owned(), what, remedy });
            }
            Err(errors) => self.problems.extend(errors.problems),
        }
    }

    /// Numbers that are typed, not read from the file.
    fn change(&mut self, changes: &[(String, String)], place: &str) {
        let device = |key: &str| {
            let parameters = self.sheet.kind.parameters.iter();
            let mut devices = parameters.filter(|parameter| matches!(parameter.unit, Unit::Device(_)));
            devices.any(|parameter| key.strip_prefix(parameter.key).is_some_and(|rest| rest.starts_with('.')))
        };
        let own: Vec<&(String, String)> = changes.iter().filter(|(key, _)| !device(key)).collect();
        for (key, text) in own {
            let place = format!("{place} {key}={text}");
            let Some(parameter) = self.parameter(key) else {
                let (what, remedy) = self.unknown(key);
                self.problems.push(SheetError { place, what, remedy });
                continue;
            };
            let may_be_none = parameter.default == Some("none");
            if let Err(wrong) = value::check(parameter.unit, text, may_be_none) {
                self.problems.push(SheetError { place, what: wrong.what, remedy: wrong.remedy });
                continue;
            }
            if let Unit::Device(kind) = parameter.unit {
                self.member(key, kind, text, &place);
            }
            let value = Value { text: text.clone(), source: Source::Changed, place };
            self.sheet.values.insert(key.clone(), value);
        }
        self.defaults(place);
        self.change_inside(changes);
        self.sheet.changed.extend_from_slice(changes);
    }

    /// Devices inside that nothing names.
    fn defaults(&mut self, place: &str) {
        for parameter in self.sheet.kind.parameters {
            let Unit::Device(kind) = parameter.unit else { continue };
            let (key, silent) = (parameter.key, !self.sheet.values.contains_key(parameter.key));
            let absent = silent && !self.sheet.members.contains_key(key);
            if let Some(name) = parameter.default.filter(|name| absent && *name != "none") {
                self.member(key, kind, name, place);
            }
        }
    }

    fn change_inside(&mut self, changes: &[(String, String)]) {
        for (key, member) in &mut self.sheet.members {
            let inside = inside_of(changes, key);
            if inside.is_empty() {
                continue;
            }
            match member.with(&inside) {
                Ok(other) => *member = other,
                Err(errors) => self.problems.extend(errors.problems),
            }
        }
    }

    /// Finds what must be said and is not, here and of sheets inside that have no file of their own.
    fn missing(&mut self, name: &str) {
        let inside = self.sheet.members.values().filter(|member| member.origin == NO_FILE);
        for sheet in inside.chain([&self.sheet]) {
            let required = sheet.kind.parameters.iter().filter(|parameter| parameter.default.is_none());
            for parameter in required.filter(|parameter| !sheet.values.contains_key(parameter.key)) {
                let (place, what) = (name.to_owned(), format!("`{}` is missing", parameter.key));
                self.problems.push(SheetError {
                    place,
                    what,
                    remedy: format!("add it: {}", parameter.meaning),
                });
            }
        }
    }

    fn finish(self) -> Result<Sheet, SheetErrors> {
        let mut problems = self.problems;
        if problems.is_empty() {
            return Ok(self.sheet);
        }
        problems.dedup();
        Err(SheetErrors { problems })
    }
}

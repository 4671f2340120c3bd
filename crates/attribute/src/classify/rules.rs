//! The rule file: which layer does a name, a module, a source path belong to?
//!
//! The file explains itself in its head (`data/layers.toml`). [`Rules::parse`] refuses what cannot work and names the
//! rule, so that people can bring their own file.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use regex::Regex;
use serde::Deserialize;

/// The rules that iostack brings.
const BUILT_IN: &str = include_str!("../../data/layers.toml");

/// Refusals of a transparent name without a layer for the case that nobody calls it, and of one that is never used.
const NO_FALLBACK: &str =
    ": layer = \"@caller\" needs a `fallback`, the layer for a stack without another frame";
const IDLE_FALLBACK: &str = ": `fallback` belongs to layer = \"@caller\" only; remove it";

/// Word of a rule for a transparent frame, in place of a layer.
const CALLER: &str = "@caller";

/// Layer of a sample outside the kernel; every rule file has it.
const USER: &str = "user";

/// The layer of drivers whose device is made of memory, and of anyone's.
const DRIVER: &str = "driver";

/// Layer of what no rule knows; no rule file has it.
pub(crate) const UNCLASSIFIED: &str = "unclassified";

/// Kind of a function without a kind of its own.
const CODE: &str = "code";

/// Kind of a sample whose leaf nothing knows, and which took the layer of a caller.
const INFERRED: &str = "inferred";

/// A layer of a rule file, by its place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LayerId(pub(crate) u8);

/// A kind of work, by its first mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KindId(pub(crate) u8);

impl KindId {
    /// Kind of a function without one of its own.
    pub const CODE: KindId = KindId(0);
    /// Kind of a sample whose leaf nothing knows.
    pub const INFERRED: KindId = KindId(1);
}

/// Reason why a rule file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// Not TOML, or a key that does not exist.
    #[error(transparent)]
    Syntax(#[from] Box<toml::de::Error>),
    /// A pattern that does not compile.
    #[error(
        "{rule}: the pattern is no regular expression; there is no look-ahead: put an exception into a \
         [[name]] rule above it"
    )]
    Pattern {
        /// The rule, as it is written.
        rule: String,
        /// The regex library's own words.
        source: Box<regex::Error>,
    },
    /// A rule or a layer that cannot be; says which, and what to do.
    #[error("{0}")]
    Refused(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    version: u64,
    layer: Vec<LayerLine>,
    #[serde(default)]
    name: Vec<NameLine>,
    #[serde(default)]
    module: HashMap<String, String>,
    #[serde(default)]
    path: HashMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LayerLine {
    name: String,
    meaning: String,
    #[serde(default)]
    io: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NameLine {
    pattern: String,
    layer: String,
    kind: Option<String>,
    fallback: Option<String>,
}

/// Answer of a rule about a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// It does this layer's work.
    Layer(LayerId),
    /// Its caller's work, or this layer's when nobody called it.
    Caller(LayerId),
}

/// A name rule, compiled.
#[derive(Clone, Debug)]
struct NameRule {
    pattern: Regex,
    owner: Owner,
    kind: Option<KindId>,
}

#[derive(Clone, Debug)]
struct Inner {
    layers: Vec<(String, String)>,
    io: Vec<bool>,
    kinds: Vec<String>,
    names: Vec<NameRule>,
    modules: HashMap<String, Owner>,
    paths: HashMap<String, Owner>,
    user: LayerId,
}

/// A rule file, compiled. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Rules(Arc<Inner>);

impl Rules {
    /// The rules that iostack brings.
    pub fn built_in() -> &'static Rules {
        static RULES: OnceLock<Rules> = OnceLock::new();
        RULES.get_or_init(|| Rules::parse(BUILT_IN).expect("a test reads the built-in rules"))
    }

    /// Compiles a rule file.
    pub fn parse(toml: &str) -> Result<Rules, RulesError> {
        let file: RuleFile = toml::from_str(toml).map_err(Box::new)?;
        if file.version != 1 {
            let version = file.version;
            return Err(RulesError::Refused(format!(
                "the rule file says `version = {version}`, and only version 1 is known; write `version = 1`"
            )));
        }
        let user = check_layers(&file.layer)?;
        let mut compiler =
            Compiler { layers: &file.layer, kinds: vec![CODE.to_owned(), INFERRED.to_owned()] };
        let names = file.name.iter().enumerate();
        let names = names.map(|(index, line)| compiler.name(index, line)).collect::<Result<_, _>>()?;
        let modules = compiler.map("module", &file.module)?;
        let paths = compiler.map("path", &file.path)?;
        let kinds = compiler.kinds;
        let io = file.layer.iter().map(|layer| layer.io).chain([false]).collect();
        let unclassified = (UNCLASSIFIED.to_owned(), "no rule knows it".to_owned());
        let layers = file.layer.into_iter().map(|layer| (layer.name, layer.meaning));
        let layers = layers.chain([unclassified]).collect();
        Ok(Rules(Arc::new(Inner { layers, io, kinds, names, modules, paths, user })))
    }

    /// The same, and the layer `driver` is also of those of these modules that no rule knows.
    #[must_use]
    pub fn with_drivers(&self, modules: &[String]) -> Rules {
        let new: Vec<&str> =
            modules.iter().map(String::as_str).filter(|module| self.by_module(module).is_none()).collect();
        let Some(layer) = self.layer(DRIVER).filter(|_| !new.is_empty()) else { return self.clone() };
        let mut inner = Inner::clone(&self.0);
        inner.modules.extend(new.iter().map(|module| ((*module).to_owned(), Owner::Layer(layer))));
        inner.layers[usize::from(layer.0)].1 = format!("drivers of devices ({})", new.join(", "));
        Rules(Arc::new(inner))
    }

    /// Name and meaning of each layer, in file order; `unclassified` is the last.
    pub fn layers(&self) -> &[(String, String)] {
        &self.0.layers
    }

    /// Name of a layer.
    pub fn layer_name(&self, layer: LayerId) -> &str {
        &self.0.layers[usize::from(layer.0)].0
    }

    /// The layer of that name.
    pub fn layer(&self, name: &str) -> Option<LayerId> {
        self.0.layers.iter().position(|(known, _)| known == name).map(|index| LayerId(index as u8))
    }

    /// Name of a kind.
    pub fn kind_name(&self, kind: KindId) -> &str {
        &self.0.kinds[usize::from(kind.0)]
    }

    /// True when a kernel thread in this layer serves I/O.
    pub fn is_io(&self, layer: LayerId) -> bool {
        self.0.io[usize::from(layer.0)]
    }

    /// The layer of samples outside the kernel.
    pub fn user(&self) -> LayerId {
        self.0.user
    }

    /// The layer of what no rule knows.
    pub fn unclassified(&self) -> LayerId {
        LayerId((self.0.layers.len() - 1) as u8)
    }

    /// Answer of the name rules; `name` is as [`plain_name`] makes it.
    pub(crate) fn by_name(&self, name: &str) -> Option<(Owner, Option<KindId>)> {
        let rule = self.0.names.iter().find(|rule| rule.pattern.is_match(name))?;
        Some((rule.owner, rule.kind))
    }

    /// Answer of the module rules.
    pub(crate) fn by_module(&self, module: &str) -> Option<Owner> {
        self.0.modules.get(module).copied()
    }

    /// Answer of the path rules: that of the longest prefix.
    pub(crate) fn by_path(&self, path: &str) -> Option<Owner> {
        (1..=path.len()).rev().find_map(|length| self.0.paths.get(path.get(..length)?).copied())
    }
}

/// A symbol as the rules see it: without the prefix of its padding and without what the compiler adds after a dot.
pub(crate) fn plain_name(symbol: &str) -> &str {
    let symbol = symbol.strip_prefix("__pfx_").unwrap_or(symbol);
    symbol.split_once('.').map_or(symbol, |(name, _)| name)
}

/// The layer called `user`, when the names are usable.
fn check_layers(layers: &[LayerLine]) -> Result<LayerId, RulesError> {
    let refuse = |layer: &str, wrong| Err(RulesError::Refused(format!("[[layer]] `{layer}`: {wrong}")));
    if layers.len() >= usize::from(u8::MAX) {
        return refuse(&layers[0].name, "there are more than 254 layers; join some");
    }
    for (index, layer) in layers.iter().enumerate() {
        if layer.name == UNCLASSIFIED || layer.name == CALLER || layer.name.is_empty() {
            return refuse(&layer.name, "the name is taken by the program; choose another");
        }
        if layers[..index].iter().any(|earlier| earlier.name == layer.name) {
            return refuse(&layer.name, "it is there twice; remove one");
        }
    }
    match layers.iter().position(|layer| layer.name == USER) {
        Some(index) => Ok(LayerId(index as u8)),
        None => refuse(USER, "it is missing; add it, for samples outside the kernel"),
    }
}

/// Turns lines of the file into rules.
struct Compiler<'a> {
    layers: &'a [LayerLine],
    kinds: Vec<String>,
}

impl Compiler<'_> {
    fn name(&mut self, index: usize, line: &NameLine) -> Result<NameRule, RulesError> {
        let shown: String = line.pattern.chars().take(40).collect();
        let rule = format!("[[name]] rule {} (`{shown}`)", index + 1);
        let pattern = Regex::new(&line.pattern)
            .map_err(|source| RulesError::Pattern { rule: rule.clone(), source: Box::new(source) })?;
        let owner = match (&line.fallback, line.layer == CALLER) {
            (Some(fallback), true) => Owner::Caller(self.layer(&rule, fallback)?),
            (None, true) => return Err(RulesError::Refused(rule + NO_FALLBACK)),
            (Some(_), false) => return Err(RulesError::Refused(rule + IDLE_FALLBACK)),
            (None, false) => Owner::Layer(self.layer(&rule, &line.layer)?),
        };
        let kind = line.kind.as_deref().map(|kind| self.kind(kind));
        Ok(NameRule { pattern, owner, kind })
    }

    /// The rules of `[module]` or `[path]`.
    fn map(
        &self,
        table: &str,
        lines: &HashMap<String, String>,
    ) -> Result<HashMap<String, Owner>, RulesError> {
        let unclassified = LayerId(self.layers.len() as u8);
        let rule = |(key, layer): (&String, &String)| {
            let rule = format!("[{table}] `{key}`");
            let owner = match layer.strip_prefix(CALLER).map(str::trim) {
                Some("") => Owner::Caller(unclassified),
                Some(fallback) => Owner::Caller(self.layer(&rule, fallback)?),
                None => Owner::Layer(self.layer(&rule, layer)?),
            };
            Ok((key.clone(), owner))
        };
        lines.iter().map(rule).collect()
    }

    fn layer(&self, rule: &str, name: &str) -> Result<LayerId, RulesError> {
        if let Some(index) = self.layers.iter().position(|layer| layer.name == name) {
            return Ok(LayerId(index as u8));
        }
        let known: Vec<&str> = self.layers.iter().map(|layer| layer.name.as_str()).collect();
        Err(RulesError::Refused(format!(
            "{rule}: there is no layer `{name}`; add a [[layer]] with that name, or use one of: {}",
            known.join(", ")
        )))
    }

    fn kind(&mut self, name: &str) -> KindId {
        let known = self.kinds.iter().position(|kind| kind == name);
        let index = known.unwrap_or_else(|| {
            self.kinds.push(name.to_owned());
            self.kinds.len() - 1
        });
        KindId(u8::try_from(index).expect("a rule file has a dozen kinds"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "version = 1\n[[layer]]\nname = \"user\"\nmeaning = \"u\"\n";

    #[test]
    fn the_built_in_rules_parse_and_keep_their_order() {
        let layers = Rules::built_in().layers();
        assert_eq!(layers.first().expect("there are layers").0, "user");
        assert_eq!(layers.last().expect("there are layers").0, UNCLASSIFIED);
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_rule_and_the_remedy() {
        let layer = |name: &str| format!("[[layer]]\nname = \"{name}\"\nmeaning = \"m\"\n");
        let name = |more: &str| format!("[[name]]\npattern = 'x'\n{more}\n");
        for (more, words) in [
            (
                "[[name]]\npattern = '^(?!io_)x'\nlayer = \"user\"\n".to_owned(),
                ["rule 1 (`^(?!io_)x`)", "put an exception"],
            ),
            (
                name("layer = \"flash\""),
                ["[[name]] rule 1", "`flash`; add a [[layer]] with that name, or use one of: user"],
            ),
            ("[module]\nnvme = \"flash\"\n".to_owned(), ["[module] `nvme`", ": user"]),
            ("[path]\n\"fs/\" = \"flash\"\n".to_owned(), ["[path] `fs/`", ": user"]),
            (name("layer = \"@caller\""), ["[[name]] rule 1", "needs a `fallback`"]),
            (name("layer = \"user\"\nfallback = \"user\""), ["[[name]] rule 1", "remove it"]),
            (name("regexp = 'x'"), ["regexp", "pattern"]),
            (layer("user"), ["`user`", "twice"]),
            (layer(UNCLASSIFIED), ["`unclassified`", "choose another"]),
        ] {
            let said = Rules::parse(&format!("{LEAST}{more}")).expect_err("it must be refused").to_string();
            assert!(words.iter().all(|word| said.contains(word)), "{said}");
        }
        for (text, word) in
            [(format!("version = 1\n{}", layer("fs")), "missing"), (LEAST.replace('1', "2"), "version = 2")]
        {
            let said = Rules::parse(&text).expect_err("it must be refused").to_string();
            assert!(said.contains(word), "{said}");
        }
    }

    #[test]
    fn the_longest_prefix_of_a_path_wins() {
        let rules = Rules::built_in();
        let layer = |path| match rules.by_path(path) {
            Some(Owner::Layer(layer)) => rules.layer_name(layer),
            Some(Owner::Caller(_)) => CALLER,
            None => "none",
        };
        assert_eq!(layer("block/blk-core.c"), "block");
        assert_eq!(layer("block/mq-deadline.c"), "elevator");
        assert_eq!(layer("lib/sort.c"), CALLER);
        assert_eq!(layer("nowhere/else.c"), "none");
    }

    #[test]
    fn a_transparent_path_may_name_the_layer_of_those_that_nobody_calls() {
        let path = |layer: &str| Rules::parse(&format!("{LEAST}[path]\n\"lib/\" = \"{layer}\"\n"));
        let owner = |layer| path(layer).expect("it is as it must be").by_path("lib/sort.c");
        assert_eq!(owner("@caller user"), Some(Owner::Caller(LayerId(0))));
        assert_eq!(owner("@caller"), Some(Owner::Caller(LayerId(1))));
        assert!(path("@caller flash").expect_err("no such layer").to_string().contains("`flash`"));
    }

    #[test]
    fn anyones_module_is_a_driver_unless_a_rule_knows_it() {
        let names = ["nvme".to_owned(), "mine".to_owned()];
        let rules = Rules::built_in().with_drivers(&names);
        let owner = |rules: &Rules, module| match rules.by_module(module) {
            Some(Owner::Layer(layer)) => Some(rules.layer_name(layer).to_owned()),
            _ => None,
        };
        assert_eq!(owner(&rules, "mine").as_deref(), Some("driver"));
        assert_eq!(owner(&rules, "nvme").as_deref(), Some("nvme"));
        assert_eq!(owner(Rules::built_in(), "mine"), None);
        let meaning = rules.layers().iter().find(|(name, _)| name == "driver").map(|(_, meaning)| meaning);
        assert_eq!(meaning.map(String::as_str), Some("drivers of devices (mine)"));
    }

    #[test]
    fn what_the_compiler_adds_to_a_name_is_dropped() {
        assert_eq!(plain_name("__pfx_ext4_map_blocks"), "ext4_map_blocks");
        assert_eq!(plain_name("blk_mq_get_tag.isra.0.cold"), "blk_mq_get_tag");
    }
}

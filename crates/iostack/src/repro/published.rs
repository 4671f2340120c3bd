//! What was claimed, word for word as data.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A published figure or trend.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    /// `PAPER.SUBJECT.WHAT`.
    pub(crate) id: String,
    /// A shape has no value.
    #[serde(default)]
    pub(crate) kind: Kind,
    /// One figure.
    value: Option<f64>,
    /// Several, by name.
    table: Option<BTreeMap<String, toml::Value>>,
    /// Conditions, and what to know when reading it.
    #[serde(default)]
    pub(crate) note: String,
}

/// What agreement means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// A number to be met.
    #[default]
    Value,
    /// A number not to be passed.
    Bound,
    /// An order or a trend.
    Shape,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    claim: Vec<Claim>,
}

impl Claim {
    /// The figure, or that of `field`; an error names the fields there are.
    pub(crate) fn figure(&self, field: Option<&str>) -> Result<Option<f64>, String> {
        let Some(field) = field else { return Ok(self.value) };
        let fields = self.table.iter().flatten();
        let number = |value: &toml::Value| value.as_float().or(value.as_integer().map(|whole| whole as f64));
        match fields.clone().find(|(name, _)| *name == field).map(|(_, value)| number(value)) {
            Some(Some(number)) => Ok(Some(number)),
            Some(None) => Err(format!("`{field}` of `{}` is no number", self.id)),
            None => {
                let names: Vec<&str> = fields.map(|(name, _)| name.as_str()).collect();
                Err(format!("`{}` has no `{field}`; it has: {}", self.id, names.join(", ")))
            }
        }
    }
}

/// The claims of a file; `path` names it in errors.
pub(crate) fn parse(text: &str, path: &str) -> Result<Vec<Claim>, String> {
    let file: File = toml::from_str(text).map_err(|error| super::experiment::said(text, path, &error))?;
    Ok(file.claim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_found_by_its_field() {
        let text =
            "[[claim]]\nid = \"a\"\ntable = { n = 4, word = \"x\" }\n[[claim]]\nid = \"b\"\nvalue = 0.8\n";
        let claims = parse(text, "p.toml").expect("sound");
        assert_eq!(claims[0].figure(Some("n")), Ok(Some(4.0)));
        assert_eq!(claims[1].figure(None), Ok(Some(0.8)));
        assert_eq!(claims[0].figure(None), Ok(None));
        assert!(claims[0].figure(Some("word")).expect_err("a word").contains("no number"));
        assert!(claims[0].figure(Some("m")).expect_err("missing").contains("it has: n, word"));
    }

    #[test]
    fn a_fault_is_said_with_its_line() {
        let error = parse("[[claim]]\nid = \"a\"\nvalu = 3\n", "p.toml").expect_err("misspelt");
        assert!(error.starts_with("p.toml:3: unknown field `valu`"), "{error}");
    }
}

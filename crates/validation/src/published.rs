//! What was claimed, word for word as data.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The file: documents, and what they claim.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    #[serde(default)]
    pub(crate) document: Vec<Document>,
    #[serde(default)]
    pub(crate) claim: Vec<Claim>,
}

/// A source of claims.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    /// Begin of the ids of its claims.
    pub(crate) id: String,
    pub(crate) title: String,
    /// False for what was only counted here.
    #[serde(default = "yes")]
    pub(crate) published: bool,
    /// True for what iostack set itself to reach: simulated like what was published, and counted apart.
    #[serde(default)]
    pub(crate) own: bool,
}

fn yes() -> bool {
    true
}

/// A published figure or trend.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    /// Name of the claim: `PAPER.SUBJECT.WHAT`.
    pub(crate) id: String,
    /// A shape has no value.
    #[serde(default)]
    pub(crate) kind: ClaimKind,
    /// A single figure.
    value: Option<f64>,
    /// Several measurements of one figure.
    #[serde(default)]
    values: Vec<f64>,
    /// Several figures, by name.
    table: Option<BTreeMap<String, toml::Value>>,
    /// Conditions, and what to know when reading it.
    #[serde(default)]
    pub(crate) note: String,
    /// Reason why no experiment judges it, or not all of it.
    pub(crate) unreproduced: Option<String>,
    /// Its document is our own aims.
    #[serde(skip)]
    pub(crate) own: bool,
}

/// Meaning of agreement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ClaimKind {
    /// A number to be met.
    #[default]
    Value,
    /// A number not to be passed.
    Bound,
    /// An order or a trend.
    Shape,
}

impl Claim {
    /// The figure, or that of `field`; an error names the fields there are. Of several measurements, their mean.
    pub(crate) fn figure(&self, field: Option<&str>) -> Result<Option<f64>, String> {
        let Some(field) = field else {
            let mean = self.values.iter().sum::<f64>() / self.values.len() as f64;
            return Ok(self.value.or((!self.values.is_empty()).then_some(mean)));
        };
        let figures = self.table.as_ref().map(figures).unwrap_or_default();
        match figures.iter().find(|(name, _)| name == field) {
            Some((_, Some(number))) => Ok(Some(*number)),
            Some((_, None)) => Err(format!("`{field}` of `{}` is no number", self.id)),
            None => {
                let names: Vec<&str> = figures.iter().map(|(name, _)| name.as_str()).collect();
                Err(format!("`{}` has no `{field}`; it has: {}", self.id, names.join(", ")))
            }
        }
    }

    /// The least and the most of several measurements.
    pub(crate) fn range(&self) -> Option<(f64, f64)> {
        let least = self.values.iter().copied().reduce(f64::min)?;
        Some((least, self.values.iter().copied().reduce(f64::max)?))
    }

    /// The names of its figures; one without a name when there is but one, or a shape.
    pub(crate) fn fields(&self) -> Vec<Option<String>> {
        match &self.table {
            None => vec![None],
            Some(table) => {
                let numbers = figures(table).into_iter().filter(|(_, number)| number.is_some());
                numbers.map(|(name, _)| Some(name)).collect()
            }
        }
    }

    /// The document it stands in.
    pub(crate) fn document(&self) -> &str {
        self.id.split('.').next().unwrap_or_default()
    }
}

/// Names and numbers of a table, those of tables inside it as `outer.inner`.
fn figures(table: &BTreeMap<String, toml::Value>) -> Vec<(String, Option<f64>)> {
    let mut all = Vec::new();
    for (name, value) in table {
        match value {
            toml::Value::Table(inside) => {
                let inside = inside.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
                all.extend(
                    figures(&inside).into_iter().map(|(key, number)| (format!("{name}.{key}"), number)),
                );
            }
            other => {
                let number = other.as_float().or(other.as_integer().map(|whole| whole as f64));
                all.push((name.clone(), number));
            }
        }
    }
    all
}

/// The claims of a file; `path` names it in errors.
pub(crate) fn parse(text: &str, path: &str) -> Result<Published, String> {
    let mut published: Published =
        toml::from_str(text).map_err(|error| super::raw::said(text, path, &error))?;
    let own: Vec<&str> = published.document.iter().filter(|one| one.own).map(|one| one.id.as_str()).collect();
    for claim in &mut published.claim {
        claim.own = own.contains(&claim.document());
    }
    Ok(published)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_found_by_its_field() {
        let text = "[[claim]]\nid = \"a\"\ntable = { n = 4, word = \"x\", in = { m = 2 } }\n\
                    [[claim]]\nid = \"b\"\nvalue = 0.8\n[[claim]]\nid = \"c\"\nvalues = [3, 1, 5]\n";
        let claims = parse(text, "p.toml").expect("sound").claim;
        assert_eq!(claims[0].figure(Some("n")), Ok(Some(4.0)));
        assert_eq!(claims[0].figure(Some("in.m")), Ok(Some(2.0)));
        assert_eq!(claims[1].figure(None), Ok(Some(0.8)));
        assert_eq!(claims[0].figure(None), Ok(None));
        assert_eq!((claims[2].figure(None), claims[2].range()), (Ok(Some(3.0)), Some((1.0, 5.0))));
        assert_eq!(claims[0].fields(), [Some("in.m".to_owned()), Some("n".to_owned())]);
        assert_eq!(claims[1].fields(), [None]);
        assert!(claims[0].figure(Some("word")).expect_err("a word").contains("no number"));
        assert!(claims[0].figure(Some("m")).expect_err("missing").contains("it has: in.m, n, word"));
    }

    #[test]
    fn a_fault_is_said_with_its_line() {
        let error = parse("[[claim]]\nid = \"a\"\nvalu = 3\n", "p.toml").expect_err("misspelt");
        assert!(error.starts_with("p.toml:3: unknown field `valu`"), "{error}");
    }
}

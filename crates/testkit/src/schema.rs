//! Does a value hold with a JSON Schema? The words that our schemas are written in, and no others: a library that knows all of
//! them takes sixty crates.
//!
//! Stricter than a validator: a field that the schema does not describe is a fault here, since what is written would then be
//! documented nowhere.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Faults of the value, each with its place; nothing when it holds.
pub fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    Reader { root: schema }.check(schema, value, "", &mut found);
    found
}

/// Words that say nothing of a value.
const SILENT: &[&str] = &["$schema", "$id", "$defs", "title", "description", "default", "format", "$comment"];

struct Reader<'a> {
    root: &'a Value,
}

impl<'a> Reader<'a> {
    fn check(&self, schema: &'a Value, value: &Value, at: &str, found: &mut Vec<String>) {
        let Value::Object(rules) = schema else {
            assert_eq!(schema, &Value::Bool(true), "{at}: no schema");
            return;
        };
        for (word, rule) in rules {
            self.word(word, rule, value, at, found);
        }
        if let Value::Object(fields) = value {
            let described = self.described(schema, value);
            let unknown =
                fields.keys().filter(|name| described.as_ref().is_some_and(|all| !all.contains(*name)));
            found.extend(unknown.map(|name| format!("{at}.{name} is not described")));
        }
    }

    fn word(&self, word: &str, rule: &'a Value, value: &Value, at: &str, found: &mut Vec<String>) {
        let mut no = |what: String| found.push(format!("{at}: {what}"));
        match word {
            "type" if !types(rule).any(|name| is(value, name)) => no(format!("{value} is no {rule}")),
            "const" if rule != value => no(format!("{value} is not {rule}")),
            "enum" if !rule.as_array().is_some_and(|all| all.contains(value)) => {
                no(format!("{value} is not of {rule}"));
            }
            // Of a value of another type they say nothing.
            "required" => {
                let missing = rule.as_array().into_iter().flatten().filter_map(Value::as_str);
                let missing = missing.filter(|name| value.is_object() && value.get(name).is_none());
                found.extend(missing.map(|name| format!("{at}.{name} is missing")));
            }
            "properties" => {
                for (name, rule) in rule.as_object().into_iter().flatten() {
                    if let Some(value) = value.get(name) {
                        self.check(rule, value, &format!("{at}.{name}"), found);
                    }
                }
            }
            "items" => {
                for (index, each) in value.as_array().into_iter().flatten().enumerate() {
                    self.check(rule, each, &format!("{at}[{index}]"), found);
                }
            }
            "prefixItems" => {
                let pairs = value.as_array().into_iter().flatten().zip(rule.as_array().into_iter().flatten());
                for (index, (each, rule)) in pairs.enumerate() {
                    self.check(rule, each, &format!("{at}[{index}]"), found);
                }
            }
            "additionalProperties" if rule.is_object() => {
                for (name, each) in value.as_object().into_iter().flatten() {
                    self.check(rule, each, &format!("{at}.{name}"), found);
                }
            }
            "$ref" => self.check(self.target(rule), value, at, found),
            "allOf" => {
                rule.as_array().into_iter().flatten().for_each(|one| self.check(one, value, at, found));
            }
            "oneOf" | "anyOf" => {
                let holding = self.holding(rule, value).count();
                if holding == 0 || (word == "oneOf" && holding > 1) {
                    no(format!("{holding} of its forms hold for {value}"));
                }
            }
            "minimum" | "maximum" | "minItems" | "maxItems" => {
                bound(word, rule, value).into_iter().for_each(no);
            }
            "type" | "const" | "enum" | "additionalProperties" => {}
            silent => assert!(SILENT.contains(&silent), "{at}: `{silent}` is not known here"),
        }
    }

    fn target(&self, reference: &Value) -> &'a Value {
        let path = reference.as_str().and_then(|path| path.strip_prefix('#')).expect("a reference inside");
        self.root.pointer(path).unwrap_or_else(|| panic!("{reference} leads nowhere"))
    }

    fn holding(&self, forms: &'a Value, value: &Value) -> impl Iterator<Item = &'a Value> {
        forms.as_array().into_iter().flatten().filter(|form| {
            let mut found = Vec::new();
            self.check(form, value, "", &mut found);
            // Fields beside it are looked at by whoever has the forms.
            found.iter().all(|fault| fault.ends_with("is not described"))
        })
    }

    /// The fields that are described, here and in what is referred to; `None` where any may be.
    fn described(&self, schema: &'a Value, value: &Value) -> Option<BTreeSet<String>> {
        let none = Map::new();
        let rules = schema.as_object().unwrap_or(&none);
        if rules.get("additionalProperties").is_some_and(Value::is_object) {
            return None;
        }
        if !rules
            .keys()
            .any(|word| ["properties", "$ref", "oneOf", "anyOf", "allOf"].contains(&word.as_str()))
        {
            return None;
        }
        let mut all = BTreeSet::new();
        for (word, rule) in rules {
            match word.as_str() {
                "properties" => all.extend(rule.as_object()?.keys().cloned()),
                "$ref" => all.extend(self.described(self.target(rule), value)?),
                "oneOf" | "anyOf" => {
                    for form in self.holding(rule, value) {
                        all.extend(self.described(form, value)?);
                    }
                }
                "allOf" => {
                    for form in rule.as_array()? {
                        all.extend(self.described(form, value)?);
                    }
                }
                _ => {}
            }
        }
        Some(all)
    }
}

fn types(rule: &Value) -> impl Iterator<Item = &str> {
    let several = rule.as_array().into_iter().flatten();
    rule.as_str().into_iter().chain(several.filter_map(Value::as_str))
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("`{other}` is no type"),
    }
}

/// Fault of a value that is too little or too much; of a value of another type it says nothing.
fn bound(word: &str, rule: &Value, value: &Value) -> Option<String> {
    let (end, size, items) = (rule.as_f64()?, value.as_f64(), value.as_array().map(|all| all.len() as f64));
    match word {
        "minimum" if size? < end => Some(format!("{value} is below {rule}")),
        "maximum" if size? > end => Some(format!("{value} is above {rule}")),
        "minItems" if items? < end => Some(format!("fewer than {rule} items")),
        "maxItems" if items? > end => Some(format!("more than {rule} items")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_word_refuses_what_does_not_hold() {
        let schema = json!({
            "$defs": { "Side": { "oneOf": [{ "const": "a" }, { "type": "object", "properties": { "kind": { "const": "b" } }, "required": ["kind"] }] } },
            "type": "object",
            "properties": {
                "n": { "type": "integer", "minimum": 0, "maximum": 9 },
                "side": { "$ref": "#/$defs/Side" },
                "pair": { "type": "array", "prefixItems": [{ "type": "string" }, { "type": ["number", "null"] }], "minItems": 2, "maxItems": 2 },
                "list": { "type": "array", "items": { "enum": [1, 2] } },
            },
            "required": ["n"],
        });
        let good = json!({ "n": 9, "side": { "kind": "b" }, "pair": ["x", null], "list": [1, 2] });
        assert!(faults(&schema, &good).is_empty(), "{:?}", faults(&schema, &good));
        for (place, wrong, said) in [
            ("n", json!(10), ".n: 10 is above 9"),
            ("n", json!(-1), ".n: -1 is below 0"),
            ("n", json!(0.5), ".n: 0.5 is no \"integer\""),
            ("side", json!("b"), ".side: 0 of its forms"),
            ("side", json!({ "kind": "b", "other": 1 }), ".side.other is not described"),
            ("pair", json!(["x"]), "fewer than 2 items"),
            ("pair", json!([1, null]), ".pair[0]: 1 is no \"string\""),
            ("list", json!([3]), ".list[0]: 3 is not of [1,2]"),
            ("more", json!(1), ".more is not described"),
        ] {
            let mut changed = good.clone();
            changed[place] = wrong;
            let found = faults(&schema, &changed).join("; ");
            assert!(found.contains(said), "{place}: {found}");
        }
        assert_eq!(faults(&schema, &json!({})), [".n is missing"]);
    }
}

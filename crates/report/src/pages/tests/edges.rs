//! What must be said of answers that differ from a stored one in a few fields: the rows of `tests/data/parts/edges.json`.

use serde::Deserialize;
use serde_json::Value;

use super::sound::{assert_all, assert_fits, assert_says, assert_sound};
use super::stored::told;
use crate::fixture;

/// A stored answer with changed fields, and what its screen and its page must then say.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edge {
    /// The sentence that must hold.
    name: String,
    /// Name of the stored answer.
    answer: String,
    /// Paths and their new values: `*` is every element of a list, `+` a new one, `..2` cuts it to two.
    set: Vec<(String, Value)>,
    #[serde(default)]
    screen: Vec<String>,
    #[serde(default)]
    page: Vec<String>,
    /// Facts that neither may say.
    #[serde(default)]
    absent: Vec<String>,
}

fn set(value: &mut Value, path: &str, new: &Value) {
    let (first, rest) = path.split_once('/').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let found: Vec<&mut Value> = match value {
        Value::Array(all) if first == "*" => all.iter_mut().collect(),
        Value::Array(all) if first == "+" => {
            all.push(Value::Null);
            all.last_mut().into_iter().collect()
        }
        Value::Array(all) => match first.strip_prefix("..") {
            Some(most) => return all.truncate(most.parse().expect("a length")),
            None => vec![&mut all[first.parse::<usize>().expect("an index")]],
        },
        Value::Object(fields) => vec![fields.entry(first).or_insert(Value::Null)],
        other => panic!("no {path} in {other}"),
    };
    for each in found {
        match rest {
            Some(rest) => set(each, rest, new),
            None => each.clone_from(new),
        }
    }
}

#[test]
fn changed_answers_say_what_their_rows_want() {
    let edges: Vec<Edge> = fixture::answer("parts/edges");
    assert_all(edges.into_iter().map(|edge| (edge.name.clone(), edge)), |edge| {
        let mut answer: Value = fixture::answer(&edge.answer);
        for (path, new) in &edge.set {
            set(&mut answer, path, new);
        }
        let document = told(&answer).expect("it is an answer still").document();
        let (screen, page) = (document.text(), document.html());
        assert_fits(&screen);
        assert_sound(&page);
        let said = &page[page.find("<header>").expect("a head")..page.find("<script").expect("its data")];
        for (told, facts) in [(screen.as_str(), &edge.screen), (said, &edge.page)] {
            assert_says(told, &facts.iter().map(String::as_str).collect::<Vec<_>>());
        }
        for fact in &edge.absent {
            assert!(!screen.contains(fact) && !said.contains(fact), "`{fact}` is said\n{screen}");
        }
    });
}

//! The sampled call chains, for other programs that draw them: each begins with its layer, and its functions follow.
//!
//! The weight of a chain is its number of samples. One format, one file: [`folded`], [`speedscope`], [`firefox`].

mod firefox;
mod folded;
mod speedscope;

use std::collections::HashMap;

use iostack_model::{Layers, StackRow};

pub use firefox::firefox;
pub use folded::{folded, folded_sleeps};
pub use speedscope::speedscope;

/// Frames of a chain, outermost first: its layer, then its functions with the layer of each.
fn chain(stack: &StackRow) -> Vec<(&str, &str)> {
    let layer = stack.layers.last().map_or("", String::as_str);
    let functions = stack.frames.iter().zip(&stack.layers).map(|(name, own)| (name.as_str(), own.as_str()));
    // A sample outside the kernel is one frame, named as its layer.
    let only_layer = stack.frames.len() == 1 && stack.frames[0] == layer;
    std::iter::once((layer, layer)).chain(functions.filter(|_| !only_layer)).collect()
}

/// Numbers given to things in the order in which they first came.
#[derive(Default)]
struct Numbered<K> {
    places: HashMap<K, usize>,
    all: Vec<K>,
}

impl<K: Clone + Eq + std::hash::Hash> Numbered<K> {
    fn number(&mut self, key: K) -> usize {
        *self.places.entry(key.clone()).or_insert_with(|| {
            self.all.push(key);
            self.all.len() - 1
        })
    }
}

/// Name of a profile.
fn title(layers: &Layers) -> String {
    format!("kernel layers of {}", layers.subject)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn numbers(value: &Value) -> Vec<usize> {
        let list = value.as_array().unwrap_or_else(|| panic!("a list: {value}"));
        list.iter().map(|number| number.as_u64().expect("a number") as usize).collect()
    }

    #[test]
    fn every_form_holds_every_sample_under_its_layer() {
        let mut layers = crate::fixture::layers();
        layers.stacks.push(StackRow { frames: vec!["user".into()], layers: vec!["user".into()], samples: 3 });
        let all: u64 = layers.stacks.iter().map(|stack| stack.samples).sum();
        assert!(layers.stacks.len() > 2 && all > 3);
        let names =
            |stack: &StackRow| chain(stack).into_iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
        let wanted: Vec<(Vec<String>, u64)> =
            layers.stacks.iter().map(|stack| (names(stack), stack.samples)).collect();
        assert_eq!(wanted.last(), Some(&(vec!["user".to_owned()], 3)));
        assert_eq!(read_folded(&folded(&layers)), wanted);
        assert_eq!(read_speedscope(&speedscope(&layers)), wanted);
        assert_eq!(read_firefox(&firefox(&layers)), wanted);
    }

    #[test]
    fn long_sleeps_of_one_process_and_stack_are_one_line_of_microseconds() {
        use iostack_model::answers::{LongSleep, WatchSlice};
        let sleep = |name: &str, slept_us: u64, kernel| -> LongSleep {
            let text = format!(
                r#"{{"process":7,"name":"{name}","cgroup":"/","thread":7,"ended_unix_ns":1,"kernel":{kernel},
                    "slept_ns":{slept_us}000,"runnable_ns":1000,"waker":"","behind":"","stack":["inner","outer"]}}"#
            );
            serde_json::from_str(&text).expect("a sleep")
        };
        let sleeps = vec![sleep("a;b", 10, false), sleep("a;b", 20, false), sleep("k", 5, true)];
        let slices = [WatchSlice { sleeps, ..WatchSlice::default() }];
        assert_eq!(folded_sleeps(&slices), "a:b;outer;inner 32\n");
    }

    #[test]
    fn a_profile_without_samples_is_one_all_the_same() {
        let layers = Layers { stacks: Vec::new(), ..crate::fixture::layers() };
        assert_eq!(folded(&layers), "");
        assert_eq!(read_speedscope(&speedscope(&layers)), []);
        assert_eq!(read_firefox(&firefox(&layers)), []);
    }

    fn read_folded(text: &str) -> Vec<(Vec<String>, u64)> {
        let line = |line: &str| {
            let (chain, weight) = line.rsplit_once(' ').expect("a weight stands behind the chain");
            (chain.split(';').map(str::to_owned).collect(), weight.parse().expect("a number"))
        };
        text.lines().map(line).collect()
    }

    fn read_speedscope(text: &str) -> Vec<(Vec<String>, u64)> {
        let file: Value = serde_json::from_str(text).expect("JSON");
        let frames = file["shared"]["frames"].as_array().expect("a list");
        let name = |frame: usize| frames[frame]["name"].as_str().expect("a name").to_owned();
        let profile = &file["profiles"][0];
        let weights = numbers(&profile["weights"]);
        assert_eq!(profile["endValue"].as_u64(), Some(weights.iter().sum::<usize>() as u64));
        let samples = profile["samples"].as_array().expect("a list");
        assert_eq!(samples.len(), weights.len());
        let chains = samples.iter().map(|chain| numbers(chain).into_iter().map(name).collect());
        chains.zip(weights.iter().map(|&weight| weight as u64)).collect()
    }

    fn read_firefox(text: &str) -> Vec<(Vec<String>, u64)> {
        let file: Value = serde_json::from_str(text).expect("JSON");
        let (shared, thread) = (&file["shared"], &file["threads"][0]);
        for table in ["frameTable", "funcTable", "stackTable"] {
            let columns = shared[table].as_object().expect("a table");
            let length = columns["length"].as_u64().expect("a number") as usize;
            for (name, column) in columns.iter().filter(|(name, _)| *name != "length") {
                assert_eq!(column.as_array().map(Vec::len), Some(length), "{table} {name}");
            }
        }
        let categories = file["meta"]["categories"].as_array().expect("a list");
        assert!(numbers(&shared["frameTable"]["category"]).iter().all(|&number| number < categories.len()));
        let name = |stack: usize| {
            let frame = numbers(&shared["stackTable"]["frame"])[stack];
            let function = numbers(&shared["frameTable"]["func"])[frame];
            let text = numbers(&shared["funcTable"]["name"])[function];
            shared["stringArray"][text].as_str().expect("a name").to_owned()
        };
        let chain = |leaf: usize| {
            let above =
                |&stack: &usize| shared["stackTable"]["prefix"][stack].as_u64().map(|above| above as usize);
            let mut chain: Vec<String> = std::iter::successors(Some(leaf), above).map(name).collect();
            chain.reverse();
            chain
        };
        let samples = &thread["samples"];
        let weights = numbers(&samples["weight"]);
        assert_eq!(samples["timeDeltas"].as_array().map(Vec::len), Some(weights.len()));
        numbers(&samples["stack"]).into_iter().map(chain).zip(weights.iter().map(|&one| one as u64)).collect()
    }
}

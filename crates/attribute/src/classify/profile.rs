//! Classified samples, added up.
//!
//! Samples come in groups whose time is known exactly (the subject's threads, the interrupts, each kernel thread):
//! within a group the samples split the time, so a group that was sampled at another rate does not distort the rest.

use std::collections::HashMap;
use std::hash::Hash;

use iostack_model::{FunctionRow, LayerRow, Nanos, StackRow};

use super::classifier::{Classified, Classifier};
use super::rules::{KindId, LayerId};
use super::symbols::SymbolId;

/// Rows of functions that are kept.
const FUNCTIONS: usize = 64;

/// Rows of stacks that are kept.
const STACKS: usize = 2000;

/// Samples by group, layer, kind, function and stack.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Samples by group and layer.
    layers: HashMap<(usize, LayerId), u64>,
    kinds: HashMap<(LayerId, KindId), u64>,
    functions: HashMap<SymbolId, HashMap<(LayerId, KindId), u64>>,
    stacks: HashMap<Vec<SymbolId>, u64>,
}

impl Profile {
    /// Adds `count` samples of a stack to a group; groups are numbered as the caller likes.
    pub fn add(&mut self, group: usize, class: &Classified, count: u64) {
        let what = (class.layer, class.kind);
        *self.layers.entry((group, class.layer)).or_default() += count;
        *self.kinds.entry(what).or_default() += count;
        if let Some(&leaf) = class.frames.first() {
            *self.functions.entry(leaf).or_default().entry(what).or_default() += count;
        }
        *self.stacks.entry(class.frames.clone()).or_default() += count;
    }

    /// Adds all of another profile, its groups as they are numbered there.
    pub fn merge(&mut self, other: &Profile) {
        add_counts(&mut self.layers, &other.layers);
        add_counts(&mut self.kinds, &other.kinds);
        add_counts(&mut self.stacks, &other.stacks);
        for (&function, counts) in &other.functions {
            add_counts(self.functions.entry(function).or_default(), counts);
        }
    }

    /// Samples of a group.
    pub fn samples(&self, group: usize) -> u64 {
        self.layers.iter().filter(|((of, _), _)| *of == group).map(|(_, count)| count).sum()
    }

    /// Samples of all groups.
    pub fn total(&self) -> u64 {
        self.layers.values().sum()
    }

    /// Rows by layer, largest first. `times` is the exact time of each group, by its number; the rows' times add up to
    /// all of it. Time of a group that has no samples is `unclassified`.
    pub fn rows(&self, classifier: &Classifier, times: &[Nanos]) -> Vec<LayerRow> {
        let rules = classifier.rules();
        let mut shares: HashMap<LayerId, (u64, u64)> = HashMap::new();
        for (&(_, layer), &count) in &self.layers {
            shares.entry(layer).or_default().0 += count;
        }
        for (group, time) in times.iter().enumerate() {
            let mut counts: Vec<(LayerId, u64)> =
                self.layers.iter().filter(|((of, _), _)| *of == group).map(|((_, l), &n)| (*l, n)).collect();
            if counts.is_empty() && time.0 > 0 {
                counts.push((rules.unclassified(), 1));
            }
            counts.sort();
            for (layer, part) in split(time.0, &counts) {
                shares.entry(layer).or_default().1 += part;
            }
        }
        let row = |(&layer, &(samples, time)): (&LayerId, &(u64, u64))| LayerRow {
            layer: rules.layer_name(layer).to_owned(),
            meaning: rules.layers()[usize::from(layer.0)].1.clone(),
            samples,
            time: Nanos(time),
            kinds: self.kinds_of(layer, classifier),
        };
        let mut rows: Vec<LayerRow> = shares.iter().map(row).collect();
        rows.sort_by(|one, two| {
            (two.time.0, two.samples, &one.layer).cmp(&(one.time.0, one.samples, &two.layer))
        });
        rows
    }

    fn kinds_of(&self, wanted: LayerId, classifier: &Classifier) -> Vec<(String, u64)> {
        let of_layer = self.kinds.iter().filter(|((layer, _), _)| *layer == wanted);
        let mut kinds: Vec<(String, u64)> = of_layer
            .map(|((_, kind), &count)| (classifier.rules().kind_name(*kind).to_owned(), count))
            .collect();
        kinds.sort_by(|one, two| (two.1, &one.0).cmp(&(one.1, &two.0)));
        kinds
    }

    /// Rows by the function on top, largest first.
    pub fn functions(&self, classifier: &Classifier) -> Vec<FunctionRow> {
        let rules = classifier.rules();
        let mut rows: Vec<FunctionRow> = self
            .functions
            .iter()
            .filter_map(|(&function, counts)| {
                let (&(layer, kind), _) = counts.iter().max_by_key(|(what, count)| (**count, **what))?;
                Some(FunctionRow {
                    name: classifier.symbols().symbol(function).name.to_owned(),
                    layer: rules.layer_name(layer).to_owned(),
                    kind: rules.kind_name(kind).to_owned(),
                    samples: counts.values().sum(),
                })
            })
            .collect();
        rows.sort_by(|one, two| (two.samples, &one.name).cmp(&(one.samples, &two.name)));
        rows.truncate(FUNCTIONS);
        rows
    }

    /// Rows by stack, largest first, at most 2000; the rest is summed in the outermost frame.
    pub fn stacks(&self, classifier: &mut Classifier) -> Vec<StackRow> {
        let mut stacks: Vec<(&[SymbolId], u64)> =
            self.stacks.iter().map(|(stack, &count)| (stack.as_slice(), count)).collect();
        stacks.sort_by(|one, two| (two.1, one.0).cmp(&(one.1, two.0)));
        let mut rest: HashMap<&[SymbolId], u64> = HashMap::new();
        if stacks.len() > STACKS {
            // Outermost frames are few (entries of system calls, interrupts, threads); room is left for them.
            let entries: std::collections::HashSet<Option<&SymbolId>> =
                stacks.iter().map(|(stack, _)| stack.last()).collect();
            for (stack, count) in stacks.split_off(STACKS.saturating_sub(entries.len())) {
                *rest.entry(&stack[stack.len().saturating_sub(1)..]).or_default() += count;
            }
        }
        for (stack, count) in rest {
            match stacks.iter_mut().find(|(known, _)| *known == stack) {
                Some((_, samples)) => *samples += count,
                None => stacks.push((stack, count)),
            }
        }
        let mut rows: Vec<StackRow> =
            stacks.into_iter().map(|(stack, samples)| stack_row(stack, samples, classifier)).collect();
        rows.sort_by(|one, two| (two.samples, &one.frames).cmp(&(one.samples, &two.frames)));
        rows
    }
}

fn add_counts<K: Clone + Eq + Hash>(counts: &mut HashMap<K, u64>, more: &HashMap<K, u64>) {
    for (key, count) in more {
        *counts.entry(key.clone()).or_default() += count;
    }
}

/// A stack by names, outermost first; a sample outside the kernel is one frame of the layer `user`.
fn stack_row(stack: &[SymbolId], samples: u64, classifier: &mut Classifier) -> StackRow {
    if stack.is_empty() {
        let user = classifier.rules().layer_name(classifier.rules().user()).to_owned();
        return StackRow { frames: vec![user.clone()], layers: vec![user], samples };
    }
    let layers = classifier.layers_of(stack);
    let name = |&frame: &SymbolId| classifier.symbols().symbol(frame).name.to_owned();
    let layer = |&layer: &LayerId| classifier.rules().layer_name(layer).to_owned();
    StackRow {
        frames: stack.iter().rev().map(name).collect(),
        layers: layers.iter().rev().map(layer).collect(),
        samples,
    }
}

/// Splits a time by counts so that the parts add up to it: each part is a difference of rounded running sums.
fn split(time: u64, counts: &[(LayerId, u64)]) -> Vec<(LayerId, u64)> {
    let total: u128 = counts.iter().map(|(_, count)| u128::from(*count)).sum();
    let mut running = 0_u128;
    let mut given = 0_u64;
    counts
        .iter()
        .map(|&(layer, count)| {
            running += u128::from(count);
            let until = u64::try_from(u128::from(time) * running / total.max(1)).expect("at most `time`");
            let part = until - given;
            given = until;
            (layer, part)
        })
        .collect()
}

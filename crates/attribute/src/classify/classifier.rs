//! From a stack to a layer.
//!
//! Cost of a warm stack: look-ups in a table of addresses seen before (against a binary search over 64,000 symbols), then
//! flags of symbols judged before. Name patterns run once per function. Measured on a shared machine, built for tests:
//! 0.2 to 2.2 us a stack of the stored workloads' full samples.

use iostack_model::Quality;

use super::addresses;
use super::neighbours::Neighbours;
use super::rules::{KindId, LayerId, Owner, Rules, plain_name};
use super::symbols::{SymbolId, Symbols};
use super::table::{FileId, FunctionTable};

/// Places in the table of addresses seen; a workload has some thousand distinct ones.
const SEEN: usize = 1 << 13;

/// An unknown leaf may take the layer of a caller this many frames up.
const INFER_FRAMES: usize = 2;

/// Knowledge of one function.
#[derive(Clone, Copy, Debug)]
struct Judged {
    owner: Option<Owner>,
    kind: Option<KindId>,
    /// A name rule and a path rule both speak of a layer: do they disagree?
    disagrees: Option<bool>,
    route: Option<Route>,
}

/// Source of a function's layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Route {
    /// A rule on its name.
    Name,
    /// A rule on its module.
    Module,
    /// A rule on its source file.
    File,
    /// A rule on the file of the functions on both sides of it.
    Neighbours,
    /// A rule on the file, or the directory, that its address is nearest to.
    Address,
}

/// Layer and kind of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classified {
    /// The layer whose work it is.
    pub layer: LayerId,
    /// Sort of work.
    pub kind: KindId,
    /// The leaf is unknown, and the layer is a caller's.
    pub inferred: bool,
    /// Some frame is of a layer that serves I/O.
    pub io: bool,
    /// The functions of the stack, leaf first; empty for a sample outside the kernel.
    pub frames: Vec<SymbolId>,
}

/// Counts of samples, for the quality of the classification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Samples in the kernel.
    pub kernel: u64,
    /// Samples that nothing knows.
    pub unclassified: u64,
    /// Samples that took a caller's layer because the leaf is unknown.
    pub inferred: u64,
    /// Samples on which a name rule and a path rule both spoke.
    pub both: u64,
    /// Samples on which the two disagreed.
    pub disagreed: u64,
}

/// Classifies stacks of one kernel.
#[derive(Debug)]
pub struct Classifier {
    rules: Rules,
    symbols: Symbols,
    files: Vec<Option<FileId>>,
    file_paths: Vec<&'static str>,
    neighbours: Neighbours,
    /// Owners by address; empty unless [`Classifier::exact`] asked for them.
    addresses: Vec<Option<Owner>>,
    judged: Vec<Option<Judged>>,
    seen: Vec<(u64, Option<SymbolId>)>,
    tally: Tally,
}

impl Classifier {
    /// A classifier for the kernel of these symbols.
    pub fn new(rules: &Rules, symbols: &Symbols, table: &FunctionTable) -> Classifier {
        let files: Vec<Option<FileId>> =
            symbols.all().map(|id| table.file(plain_name(symbols.symbol(id).name))).collect();
        let neighbours = Neighbours::new(rules, symbols, table, &files);
        Classifier {
            rules: rules.clone(),
            symbols: symbols.clone(),
            judged: vec![None; files.len()],
            files,
            file_paths: table.files().to_vec(),
            neighbours,
            addresses: Vec::new(),
            seen: vec![(0, None); SEEN],
            tally: Tally::default(),
        }
    }

    /// A classifier for exact counts: a function that nothing else knows is placed by its address, unless the functions
    /// of this kernel are not in the order of their files.
    pub fn exact(rules: &Rules, symbols: &Symbols, table: &FunctionTable) -> Classifier {
        let mut classifier = Classifier::new(rules, symbols, table);
        if classifier.neighbours.used {
            classifier.addresses = addresses::owners(rules, symbols, table, &classifier.files);
        }
        classifier
    }

    /// Source of a function's layer; `None` when it has none.
    pub fn route(&mut self, id: SymbolId) -> Option<Route> {
        self.judge(id).route
    }

    /// The rules in use.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The kernel's functions.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Classifies one sample. `stack` is leaf first and holds kernel addresses only; `user` says that the sample was
    /// taken outside the kernel (an empty stack says so too).
    pub fn classify(&mut self, stack: &[u64], user: bool) -> Classified {
        self.classify_many(stack, user, 1)
    }

    /// Classifies `count` samples of one stack.
    pub fn classify_many(&mut self, stack: &[u64], user: bool, count: u64) -> Classified {
        if user || stack.is_empty() {
            let layer = self.rules.user();
            return Classified { layer, kind: KindId::CODE, inferred: false, io: false, frames: Vec::new() };
        }
        // An address that no symbol holds is left out, unless it is the leaf, which is then unknown.
        let leaf = self.find(stack[0]);
        // A call may be the last instruction of its function, so that it returns behind it.
        let callers = stack[1..].iter().filter_map(|&address| self.find(address.saturating_sub(1)));
        let frames: Vec<SymbolId> = leaf.into_iter().chain(callers).collect();
        let class = self.judge_stack(leaf, frames);
        self.count(&class, count);
        class
    }

    fn judge_stack(&mut self, leaf: Option<SymbolId>, frames: Vec<SymbolId>) -> Classified {
        let io = frames.iter().any(|&frame| self.is_io(frame));
        let mut kind = leaf.and_then(|leaf| self.judge(leaf).kind).unwrap_or(KindId::CODE);
        let mut layer = None;
        let mut fallback = None;
        // Unknown frames passed on the way; the leaf may be one without a symbol.
        let mut unknown = usize::from(leaf.is_none());
        for &frame in &frames {
            match self.judge(frame).owner {
                Some(Owner::Layer(owner)) => {
                    layer = Some(owner);
                    break;
                }
                Some(Owner::Caller(owner)) => fallback = fallback.or(Some(owner)),
                None => unknown += 1,
            }
            if unknown > INFER_FRAMES {
                break;
            }
        }
        let unclassified = self.rules.unclassified();
        let inferred = unknown > 0 && layer.is_some();
        let layer = layer.or(fallback.filter(|_| unknown == 0)).unwrap_or(unclassified);
        if inferred && kind == KindId::CODE {
            kind = KindId::INFERRED;
        }
        Classified { layer, kind, inferred, io, frames }
    }

    /// The layer of each of a stack's frames, leaf first: a frame without one of its own has that of its caller.
    pub fn layers_of(&mut self, frames: &[SymbolId]) -> Vec<LayerId> {
        let mut above = self.rules.unclassified();
        let mut layers: Vec<LayerId> = frames
            .iter()
            .rev()
            .map(|&frame| {
                match self.judge(frame).owner {
                    Some(Owner::Layer(layer)) => above = layer,
                    Some(Owner::Caller(fallback)) if above == self.rules.unclassified() => above = fallback,
                    Some(Owner::Caller(_)) | None => {}
                }
                above
            })
            .collect();
        layers.reverse();
        layers
    }

    /// The source file of a function, where the table knows it.
    pub fn path(&self, id: SymbolId) -> Option<&'static str> {
        self.files[id.0 as usize].map(|file| self.file_paths[usize::from(file.0)])
    }

    /// The counts of all that was classified.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Quality of the classification so far.
    pub fn quality(&self) -> Quality {
        self.tally.quality(self)
    }

    /// Sources of the names, in words.
    pub(crate) fn symbols_said(&self) -> String {
        let known = self.files.iter().flatten().count();
        let all = self.symbols.count();
        let beside = match self.neighbours.right {
            Some(right) if !self.neighbours.used => format!(
                "; their neighbours would place only {:.0} % rightly (link-time optimisation?) and are not used",
                right * 100.0
            ),
            Some(_) => ", others by their neighbours".to_owned(),
            None => String::new(),
        };
        format!("{all} functions of /proc/kallsyms, {known} of them by source file{beside}")
    }

    fn count(&mut self, class: &Classified, count: u64) {
        // Of the function whose layer the stack took.
        let mut judged = class.frames.iter().map(|&frame| self.judge(frame));
        let decider = judged.find(|judged| matches!(judged.owner, Some(Owner::Layer(_))));
        let disagrees = decider.and_then(|judged| judged.disagrees);
        let only = |is_so: bool| if is_so { count } else { 0 };
        self.tally.kernel += count;
        self.tally.unclassified += only(class.layer == self.rules.unclassified());
        self.tally.inferred += only(class.inferred);
        self.tally.both += only(disagrees.is_some());
        self.tally.disagreed += only(disagrees == Some(true));
    }

    fn is_io(&mut self, frame: SymbolId) -> bool {
        matches!(self.judge(frame).owner, Some(Owner::Layer(layer)) if self.rules.is_io(layer))
    }

    fn find(&mut self, address: u64) -> Option<SymbolId> {
        // Fibonacci hashing: the upper bits of the product depend on all of the address.
        let place = (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SEEN.trailing_zeros())) as usize;
        let (known, id) = self.seen[place];
        if known == address {
            return id;
        }
        let id = self.symbols.find(address);
        self.seen[place] = (address, id);
        id
    }

    fn judge(&mut self, id: SymbolId) -> Judged {
        let index = id.0 as usize;
        if let Some(judged) = self.judged[index] {
            return judged;
        }
        let judged = self.judge_anew(id);
        self.judged[index] = Some(judged);
        judged
    }

    fn judge_anew(&self, id: SymbolId) -> Judged {
        let symbol = self.symbols.symbol(id);
        let by_name = self.rules.by_name(plain_name(symbol.name));
        let by_module = symbol.module.and_then(|module| self.rules.by_module(module));
        let by_path = self.path(id).and_then(|path| self.rules.by_path(path));
        let by_place = by_module.or(by_path);
        let disagrees = match (by_name, by_place) {
            (Some((Owner::Layer(name), _)), Some(Owner::Layer(place))) => Some(name != place),
            _ => None,
        };
        let routes = [
            (Route::Name, by_name.map(|(owner, _)| owner)),
            (Route::Module, by_module),
            (Route::File, by_path),
            (Route::Neighbours, self.neighbours.owner(id)),
            (Route::Address, self.addresses.get(id.0 as usize).copied().flatten()),
        ];
        let decided = routes.into_iter().find_map(|(route, owner)| Some((route, owner?)));
        Judged {
            owner: decided.map(|(_, owner)| owner),
            kind: by_name.and_then(|(_, kind)| kind),
            disagrees,
            route: decided.map(|(route, _)| route),
        }
    }
}

impl Tally {
    /// Shares of the counts, with what the classifier says of its sources.
    pub fn quality(&self, classifier: &Classifier) -> Quality {
        let share = |count: u64| if self.kernel == 0 { 0.0 } else { count as f64 / self.kernel as f64 };
        Quality {
            unclassified: share(self.unclassified),
            inferred: share(self.inferred),
            disagreement: (self.both > 0).then(|| share(self.disagreed)),
            neighbours_right: classifier.neighbours.right.filter(|_| classifier.neighbours.used),
            symbols: classifier.symbols_said(),
        }
    }
}

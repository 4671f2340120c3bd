//! Functions by number, each address looked up once.

use std::collections::HashMap;

use super::Names;

/// Addresses below are user space's.
const USER_END: u64 = 0x0000_8000_0000_0000;

/// A function, by its place in the atlas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FunctionId(u32);

impl FunctionId {
    /// All of user space, which has no symbols here.
    pub(super) const USER: FunctionId = FunctionId(0);
    /// Kernel addresses without a symbol: trampolines.
    pub(super) const NAMELESS: FunctionId = FunctionId(1);
    /// Not a function: holds what another task did meanwhile.
    pub(super) const TASK: FunctionId = FunctionId(2);

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Name and address of a function.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) name: String,
    pub(super) module: Option<String>,
    pub(super) start: u64,
}

/// The functions that were met.
pub(super) struct Atlas<'a> {
    names: &'a dyn Names,
    functions: Vec<Known>,
    by_start: HashMap<u64, FunctionId>,
    by_pc: HashMap<u64, FunctionId>,
}

impl<'a> Atlas<'a> {
    pub(super) fn new(names: &'a dyn Names) -> Atlas<'a> {
        let pseudo = |name: &str| Known { name: name.to_owned(), module: None, start: USER_END };
        let functions = vec![pseudo("user"), pseudo("(no symbol)"), pseudo("(another task)")];
        Atlas { names, functions, by_start: HashMap::new(), by_pc: HashMap::new() }
    }

    /// The function that holds an address.
    pub(super) fn at(&mut self, pc: u64) -> FunctionId {
        if pc < USER_END {
            return FunctionId::USER;
        }
        if let Some(&id) = self.by_pc.get(&pc) {
            return id;
        }
        let id = self.look_up(pc);
        self.by_pc.insert(pc, id);
        id
    }

    fn look_up(&mut self, pc: u64) -> FunctionId {
        let Some(function) = self.names.function(pc) else { return FunctionId::NAMELESS };
        let next = FunctionId(self.functions.len() as u32);
        let id = *self.by_start.entry(function.start).or_insert(next);
        if id == next {
            self.functions.push(Known {
                name: function.name.to_owned(),
                module: function.module.map(str::to_owned),
                start: function.start,
            });
        }
        id
    }

    pub(super) fn known(&self, id: FunctionId) -> &Known {
        &self.functions[id.0 as usize]
    }

    pub(super) fn name(&self, id: FunctionId) -> &str {
        &self.known(id).name
    }

    /// The functions, without the names behind them.
    pub(super) fn into_functions(self) -> Vec<Known> {
        self.functions
    }
}

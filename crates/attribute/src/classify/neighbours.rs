//! Where is a function defined that the table does not know?
//!
//! ```text
//!   /proc/kallsyms:   known (fs/ext4/inode.c)   unknown   unknown   known (fs/ext4/inode.c)
//!                                  └──────────── both sides agree: fs/ext4/inode.c ───┘
//! ```
//!
//! A linker lays one object file behind the other, so an unknown function between two known ones of one layer belongs to
//! that layer. Where the two sides disagree nothing is said. This holds until link-time optimisation mixes the files;
//! therefore it is tried first on the functions that are known, each from its neighbours alone, and switched off when
//! too many would have been placed wrongly.

use super::rules::{Owner, Rules};
use super::symbols::{SymbolId, Symbols};
use super::table::{FileId, FunctionTable};

/// A neighbour further away than this says nothing: 64 KiB is the text of a large object file.
const REACH_BYTES: u64 = 64 << 10;

/// Fewer known functions than this prove nothing.
const ANCHORS_LEAST: u32 = 50;

/// Below this share of right placements neighbours are not used. Measured: 0.998 on 6.18 without link-time optimisation.
/// No kernel with it was at hand; the tests shuffle functions instead.
const RIGHT_LEAST: f64 = 0.9;

/// Owners of functions by the files around them.
#[derive(Debug)]
pub(crate) struct Neighbours {
    owners: Vec<Option<Owner>>,
    /// Share of known functions that would be placed in the right layer; `None` when there are too few to tell.
    pub(crate) right: Option<f64>,
    /// False when the self-check failed.
    pub(crate) used: bool,
}

/// A known function.
#[derive(Clone, Copy)]
struct Anchor {
    index: usize,
    address: u64,
    owner: Owner,
}

impl Neighbours {
    /// Places every function; `files` is the file of each symbol, where it is known.
    pub(crate) fn new(
        rules: &Rules,
        symbols: &Symbols,
        table: &FunctionTable,
        files: &[Option<FileId>],
    ) -> Neighbours {
        let of_file: Vec<Option<Owner>> = table.files().iter().map(|path| rules.by_path(path)).collect();
        let anchors: Vec<Anchor> = symbols
            .all()
            .filter_map(|id| {
                let index = id.0 as usize;
                let owner = of_file[usize::from(files[index]?.0)]?;
                symbols.symbol(id).module.is_none().then_some(Anchor {
                    index,
                    address: symbols.address(id),
                    owner,
                })
            })
            .collect();
        let right = self_check(&anchors);
        let used = right.is_none_or(|right| right >= RIGHT_LEAST);
        let mut owners = vec![None; symbols.count()];
        if used {
            for pair in anchors.windows(2) {
                for (index, owner) in
                    owners.iter_mut().enumerate().take(pair[1].index).skip(pair[0].index + 1)
                {
                    let address = symbols.address(SymbolId(index as u32));
                    let near =
                        address - pair[0].address <= REACH_BYTES && pair[1].address - address <= REACH_BYTES;
                    *owner = agreed(pair[0], pair[1]).filter(|_| near);
                }
            }
        }
        Neighbours { owners, right, used }
    }

    /// Owner of the work of an unknown function.
    pub(crate) fn owner(&self, id: SymbolId) -> Option<Owner> {
        self.owners[id.0 as usize]
    }
}

/// Owner on which two sides agree.
fn agreed(before: Anchor, after: Anchor) -> Option<Owner> {
    (before.owner == after.owner).then_some(before.owner)
}

/// The share of known functions whose neighbours place them rightly, among those that they place.
fn self_check(anchors: &[Anchor]) -> Option<f64> {
    let (mut placed, mut right) = (0_u32, 0_u32);
    for three in anchors.windows(3) {
        let near = three[2].address - three[0].address <= REACH_BYTES;
        if let Some(owner) = agreed(three[0], three[2]).filter(|_| near) {
            placed += 1;
            right += u32::from(owner == three[1].owner);
        }
    }
    (placed >= ANCHORS_LEAST).then(|| f64::from(right) / f64::from(placed))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str =
        "fs/ext4/inode.c e0 e1 e2 e3 e4 e5 e6 e7 e8 e9\nblock/bio.c b0 b1 b2 b3 b4 b5 b6 b7 b8 b9\n";

    fn neighbours(names: &[String]) -> (Neighbours, Symbols) {
        let lines: Vec<String> = names
            .iter()
            .enumerate()
            .map(|(index, name)| format!("{:x} t {name}\n", 0x1000 + index * 16))
            .collect();
        let symbols = Symbols::parse(&lines.concat()).expect("well-formed");
        let table = FunctionTable::parse(TABLE);
        let files: Vec<_> = symbols.all().map(|id| table.file(symbols.symbol(id).name)).collect();
        (Neighbours::new(Rules::built_in(), &symbols, &table, &files), symbols)
    }

    fn layer_of(names: &[&str], wanted: &str) -> Option<String> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let (neighbours, symbols) = neighbours(&names);
        let id = symbols.all().find(|&id| symbols.symbol(id).name == wanted).expect("it is in the list");
        match neighbours.owner(id)? {
            Owner::Layer(layer) => Some(Rules::built_in().layer_name(layer).to_owned()),
            Owner::Caller(_) => Some("@caller".to_owned()),
        }
    }

    #[test]
    fn an_unknown_function_between_two_of_one_layer_is_of_that_layer() {
        assert_eq!(layer_of(&["e0", "new", "newer", "e1"], "newer").as_deref(), Some("fs"));
        assert_eq!(layer_of(&["b0", "new", "b1"], "new").as_deref(), Some("block"));
    }

    #[test]
    fn between_two_layers_and_at_the_ends_nothing_is_said() {
        assert_eq!(layer_of(&["e0", "new", "b1"], "new"), None);
        assert_eq!(layer_of(&["new", "b1"], "new"), None);
        assert_eq!(layer_of(&["b1", "new"], "new"), None);
    }

    #[test]
    fn shuffled_functions_switch_neighbours_off() {
        let ordered: Vec<String> =
            (0..200).map(|n| format!("{}{}", if n < 100 { 'e' } else { 'b' }, n % 10)).collect();
        let (sound, _) = neighbours(&ordered);
        assert!(sound.used && sound.right.expect("there are enough") > 0.98, "{:?}", sound.right);
        // A sequence without a period that the check could fall in step with.
        let mut state = 1_u64;
        let shuffled: Vec<String> = (0..400)
            .map(|n| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                format!("{}{}", if state >> 63 == 0 { 'e' } else { 'b' }, n % 10)
            })
            .collect();
        let (mixed, symbols) = neighbours(&shuffled);
        assert!(!mixed.used && mixed.right.expect("there are enough") < 0.7, "{:?}", mixed.right);
        assert!(symbols.all().all(|id| mixed.owner(id).is_none()));
    }
}

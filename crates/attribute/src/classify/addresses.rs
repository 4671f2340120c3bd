//! Where is a function defined that neither the table nor two agreeing neighbours know?
//!
//! ```text
//!   .text in link order:  init | arch | kernel | mm | fs | security | crypto | block | io_uring | lib | drivers | net
//!                               ▲ functions that the table knows are the posts between these fields
//! ```
//!
//! The linker takes one top directory after the other, so an unknown function lies in the field between two known ones.
//! Near a known function its file decides; far from all, as in the middle of drivers that the table leaves out, the top
//! directory that both sides share; where those differ too, the nearer side. This is a guess more often than
//! [`super::neighbours`] is, so samples never use it: it is for exact counts, in which each instruction must be somewhere.

use super::rules::{Owner, Rules};
use super::symbols::{SymbolId, Symbols};
use super::table::{FileId, FunctionTable};

/// A neighbour further away than this says nothing about the file.
const REACH_BYTES: u64 = 64 << 10;

/// A known function.
#[derive(Clone, Copy)]
struct Post {
    index: usize,
    address: u64,
    file: FileId,
}

/// Owners of the kernel's functions by address; `None` for modules, and for all without a table.
pub(crate) fn owners(
    rules: &Rules,
    symbols: &Symbols,
    table: &FunctionTable,
    files: &[Option<FileId>],
) -> Vec<Option<Owner>> {
    let in_kernel = |id: SymbolId| symbols.symbol(id).module.is_none();
    let posts: Vec<Post> = symbols
        .all()
        .filter(|&id| in_kernel(id))
        .filter_map(|id| {
            let index = id.0 as usize;
            Some(Post { index, address: symbols.address(id), file: files[index]? })
        })
        .collect();
    let path = |post: Post| table.files()[usize::from(post.file.0)];
    symbols
        .all()
        .map(|id| {
            let after = posts.partition_point(|post| post.index <= id.0 as usize);
            let before = after.checked_sub(1).map(|index| posts[index]);
            let place = place(symbols.address(id), before, posts.get(after).copied(), path)?;
            in_kernel(id).then(|| rules.by_path(place)).flatten()
        })
        .collect()
}

/// The file, or the top directory, that an address belongs to.
fn place(
    address: u64,
    before: Option<Post>,
    after: Option<Post>,
    path: impl Fn(Post) -> &'static str,
) -> Option<&'static str> {
    let far = |post: Post| post.address.abs_diff(address);
    let Some((before, after)) = before.zip(after) else {
        return before.or(after).map(path);
    };
    let near = if far(before) <= far(after) { before } else { after };
    let top = |post: Post| path(post).split_inclusive('/').next();
    if far(near) > REACH_BYTES && top(before) == top(after) { top(near) } else { Some(path(near)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "block/mq-deadline.c deadline\nblock/bio.c bio\ndrivers/nvme/host/pci.c nvme\n\
                         drivers/scsi/sd.c sd\nnet/socket.c sock\n";

    fn layers(text: &str) -> Vec<String> {
        let symbols = Symbols::parse(text).expect("well-formed");
        let table = FunctionTable::parse(TABLE);
        let files: Vec<_> = symbols.all().map(|id| table.file(symbols.symbol(id).name)).collect();
        let rules = Rules::built_in();
        let name = |owner: Option<Owner>| match owner {
            Some(Owner::Layer(layer)) => rules.layer_name(layer).to_owned(),
            Some(Owner::Caller(_)) => "@caller".to_owned(),
            None => "none".to_owned(),
        };
        owners(rules, &symbols, &table, &files).into_iter().map(name).collect()
    }

    #[test]
    fn the_nearer_of_two_files_that_disagree_decides() {
        let text = "1000 t deadline\n1010 t one\n1080 t two\n1090 t bio\n";
        assert_eq!(layers(text), ["elevator", "elevator", "block", "block"]);
    }

    #[test]
    fn far_from_both_the_directory_that_they_share_decides() {
        let text = "1000 t nvme\n100000 t unknown_driver\n200000 t sd\n300000 t further\n400000 t sock\n";
        assert_eq!(layers(text), ["nvme", "other", "scsi", "scsi", "net"]);
    }

    #[test]
    fn before_the_first_and_behind_the_last_there_is_one_side() {
        assert_eq!(layers("1000 t first\n1010 t bio\n1020 t last\n"), ["block", "block", "block"]);
    }

    #[test]
    fn modules_are_not_placed_by_address() {
        let text = "1000 t bio\nffffffffc0000000 t mine\t[my_module]\n";
        assert_eq!(layers(text), ["block", "none"]);
    }
}

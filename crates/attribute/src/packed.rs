//! What does the library bring? Files that `build.rs` packed.

use std::io::Read;

use lzma_rust2::XzReader;

/// Source files of the kernel and their functions.
pub(crate) const FUNCTIONS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/functions.xz"));
/// The BPF programs that follow requests.
pub(crate) const STAGES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stages.xz"));
/// The BPF programs that add clocks up.
pub(crate) const TOTALS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/totals.xz"));

/// The BPF programs that watch the whole host.
pub(crate) const WATCH: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/watch.xz"));

/// One of them as it lay in the tree.
pub(crate) fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    XzReader::new(packed, false).read_to_end(&mut plain).expect("the build packed it");
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_comes_out_as_it_lay_in_the_tree() {
        for (packed, plain) in [
            (FUNCTIONS, &include_bytes!("../data/functions.txt")[..]),
            (STAGES, include_bytes!("../bpf/stages.bpf.o")),
            (TOTALS, include_bytes!("../bpf/totals.bpf.o")),
            (WATCH, include_bytes!("../bpf/watch.bpf.o")),
        ] {
            assert!(unpacked(packed) == plain && packed.len() * 3 < plain.len());
        }
    }
}

//! Packs what the library embeds and seldom reads: as it lies in the tree it would be an eighth of the program.

use std::io::Write;
use std::path::PathBuf;
use std::{env, fs};

use lzma_rust2::{XzOptions, XzWriter};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for (from, to) in [
        ("data/functions.txt", "functions.xz"),
        ("bpf/stages.bpf.o", "stages.xz"),
        ("bpf/totals.bpf.o", "totals.xz"),
        ("bpf/watch.bpf.o", "watch.xz"),
    ] {
        println!("cargo::rerun-if-changed={from}");
        let plain = fs::read(from).unwrap_or_else(|error| panic!("cannot read {from}: {error}"));
        let mut options = XzOptions::with_preset(9);
        // Whoever unpacks it clears as much memory: the preset's 64 MiB took a quarter of a second.
        options.lzma_options.dict_size = u32::try_from(plain.len()).expect("small").next_power_of_two();
        let mut packed = XzWriter::new(Vec::new(), options).expect("a known preset");
        packed.write_all(&plain).expect("memory takes all");
        fs::write(out.join(to), packed.finish().expect("memory takes all")).expect("cargo made the folder");
    }
}

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
        let mut packed = XzWriter::new(Vec::new(), XzOptions::with_preset(9)).expect("a known preset");
        packed.write_all(&plain).expect("memory takes all");
        fs::write(out.join(to), packed.finish().expect("memory takes all")).expect("cargo made the folder");
    }
}

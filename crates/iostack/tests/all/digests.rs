//! Is what only the book holds still what it was? A digest of each print stands in `docs/digests.txt`; `IOSTACK_PAGES=overwrite` writes it.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::shared::root;

/// Compares prints, by name, with the digests that are kept of them.
pub(crate) fn compare(prints: &BTreeMap<String, Vec<u8>>) {
    let path = root().join("docs/digests.txt");
    let text = std::fs::read_to_string(&path).expect("the digests");
    let line = |line: &str| line.split_once(' ').map(|(digest, name)| (name.to_owned(), digest.to_owned()));
    let mut kept: BTreeMap<String, String> = text.lines().filter_map(line).collect();
    let mut stale = Vec::new();
    for (name, print) in prints {
        let digest: Vec<String> = Sha256::digest(print).iter().map(|byte| format!("{byte:02x}")).collect();
        let digest = digest.concat();
        if kept.insert(name.clone(), digest.clone()) != Some(digest) {
            stale.push(name);
        }
    }
    if std::env::var_os("IOSTACK_PAGES").is_some_and(|wish| wish == "overwrite") {
        let lines: Vec<String> = kept.iter().map(|(name, digest)| format!("{digest} {name}\n")).collect();
        std::fs::write(&path, lines.concat()).expect("the digests can be written");
    }
    assert!(
        stale.is_empty(),
        "docs/digests.txt: another print of {stale:?}; IOSTACK_PAGES=overwrite writes its digest"
    );
}

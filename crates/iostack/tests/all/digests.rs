//! Is what only the book holds still what it was? A digest of each print stands in `docs/digests.txt`; `IOSTACK_PAGES=overwrite` writes it.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::shared::root;

/// Compares prints, by name, with the digests that are kept of them.
pub(crate) fn compare(prints: &BTreeMap<String, Vec<u8>>) {
    let path = root().join("docs/digests.txt");
    let text = std::fs::read_to_string(&path).expect("the digests");
    let line = |line: &str| line.split_once(' ').map(|(digest, name)| (name.to_owned(), digest.to_owned()));
    let kept: BTreeMap<String, String> = text.lines().filter_map(line).collect();
    let hex =
        |print: &[u8]| Sha256::digest(print).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let now: BTreeMap<String, String> =
        prints.iter().map(|(name, print)| (name.clone(), hex(print))).collect();
    let stale: Vec<&String> =
        now.iter().filter(|(name, digest)| kept.get(*name) != Some(*digest)).map(|(name, _)| name).collect();
    if std::env::var_os("IOSTACK_PAGES").is_some_and(|wish| wish == "overwrite") {
        let all: BTreeMap<&String, &String> = kept.iter().chain(&now).collect();
        let lines: String = all.iter().map(|(name, digest)| format!("{digest} {name}\n")).collect();
        std::fs::write(&path, lines).expect("the digests can be written");
    }
    assert!(
        stale.is_empty(),
        "docs/digests.txt: another print of {stale:?}; IOSTACK_PAGES=overwrite writes its digest"
    );
}

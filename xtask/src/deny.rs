//! What does cargo-deny say of the whole tree of dependencies? Licences, doubles, sources; and advisories, where their list can be had.

use anyhow::Result;

use crate::chore::Finished;
use crate::process;
use crate::tree::Tree;

/// Asks for all; a list of advisories that cannot be fetched is said, and is no failure.
pub(crate) fn look(tree: &Tree) -> Result<Finished> {
    if !process::succeeds(process::cargo().args(["deny", "--version"])) {
        return Ok(Finished::Skipped("no cargo-deny: cargo install cargo-deny".to_owned()));
    }
    let ask = |what: &[&str]| {
        let words = ["deny", "--all-features", "check"];
        process::output(process::cargo().args(words).args(what).current_dir(&tree.root))
    };
    let known = ask(&["bans", "licenses", "sources"])?;
    if !known.status.success() {
        return Ok(refused(process::said(&known)));
    }
    let advisories = ask(&["advisories"])?;
    let said = process::said(&advisories);
    match (advisories.status.success(), said.contains("failed to fetch")) {
        (true, _) => Ok(Finished::Passed("licences, doubles, sources, advisories".to_owned())),
        (false, true) => Ok(Finished::Passed(
            "licences, doubles, sources; the advisories cannot be fetched here".to_owned(),
        )),
        (false, false) => Ok(refused(said)),
    }
}

fn refused(details: String) -> Finished {
    Finished::refused("cargo deny refuses a dependency", details)
}

//! How large is the house? Lines, crates, arrows, circles, names, docs: counted, and refused where one grew.
//!
//!   tree ──► lines, names, circles (pure) ──► counts ──► beside `house.json`, which only goes down
//!
//! Build and test seconds are those of the last `cargo build --timings` and the last `cargo xtask test`: shown, never gated.

mod circles;
mod lines;
mod names;

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, ensure};

use crate::chore::Finished;
use crate::finding::Finding;
use crate::test::programs;
use crate::tidy::arrows;
use crate::tree::Tree;

/// The largest that each count may be.
const LIMITS: &str = "xtask/house.json";

/// Counts by name, in the order of the alphabet.
type Counts = BTreeMap<String, usize>;

/// `cargo xtask house [--lower]`: prints all counts; `--lower` stores those that fell.
pub(crate) fn chore(arguments: &[String]) -> Result<bool> {
    let lower = arguments == ["--lower"];
    ensure!(lower || arguments.is_empty(), "`{}` is not known here; there is --lower", arguments.join(" "));
    let tree = Tree::read()?;
    println!("{:<16} {:>7} {:>7}", "crate", "lines", "shipped");
    for (name, of_crate) in lines::by_crate(&tree) {
        println!("{name:<16} {:>7} {:>7}", of_crate.all, of_crate.shipped);
    }
    for (path, number) in circles::all(&tree).iter().zip(1..) {
        println!("circle {number}: {}", path.join(" "));
    }
    let (now, limits) = (counts(&tree), limits(&tree)?);
    println!("\n{:<34} {:>7} {:>7}", "count", "now", "at most");
    for (name, count) in &now {
        println!("{name:<34} {count:>7} {:>7}", limits.get(name).map_or("-".to_owned(), usize::to_string));
    }
    println!("\n{}", seconds(&tree));
    if lower {
        let least = |(name, count): (&String, &usize)| {
            let kept = limits.get(name).map_or(*count, |limit| *limit.min(count));
            (name.clone(), kept)
        };
        let least: Counts = now.iter().map(least).collect();
        fs::write(tree.root.join(LIMITS), serde_json::to_string_pretty(&least)? + "\n").context(LIMITS)?;
    }
    Ok(grown(&now, &limits).is_empty())
}

/// Findings of what grew past its limit.
pub(crate) fn look(tree: &Tree) -> Result<Finished> {
    let now = counts(tree);
    let grown = grown(&now, &limits(tree)?);
    Ok(if grown.is_empty() {
        Finished::Passed(format!("{} lines, {} shipped", now["lines"], now["lines, shipped"]))
    } else {
        Finished::Failed(grown)
    })
}

/// Everything that is gated.
fn counts(tree: &Tree) -> Counts {
    let crates = lines::by_crate(tree);
    let (house, names) = (arrows::house(tree), names::count(tree));
    let sum = |part: fn(&lines::Lines) -> usize| crates.values().map(part).sum();
    [
        ("lines", sum(|lines| lines.all)),
        ("lines, shipped", sum(|lines| lines.shipped)),
        ("crates", house.0),
        ("arrows between crates", house.1),
        ("circles of files", circles::all(tree).len()),
        ("docs of two words or less", names.short),
        ("docs that begin with half a sentence", names.halves),
        ("`fn of`", names.fn_of),
        ("renames on import", names.renames),
        ("type names defined four times", names.common.len()),
        ("words of hand-written pages", lines::words(tree, false)),
        ("words of generated pages", lines::words(tree, true)),
    ]
    .map(|(name, count)| (name.to_owned(), count))
    .into()
}

fn limits(tree: &Tree) -> Result<Counts> {
    let file = tree.file(LIMITS).with_context(|| format!("{LIMITS} is missing"))?;
    serde_json::from_str(&file.text).context(LIMITS)
}

/// A finding for each count above its limit, and for each without one.
fn grown(now: &Counts, limits: &Counts) -> Vec<Finding> {
    let above = now.iter().filter(|(name, count)| limits.get(*name).is_none_or(|limit| *count > limit));
    above
        .map(|(name, count)| {
            let limit = limits.get(name).map_or("no limit".to_owned(), usize::to_string);
            let wrong = format!("{name}: {count}, and at most {limit} may be");
            Finding::new(LIMITS.as_ref(), 1, wrong, "make it less; CONTRIBUTING.md says how to lower a limit")
        })
        .collect()
}

/// Seconds of the last timed build and of the last test run.
fn seconds(tree: &Tree) -> String {
    let page = fs::read_to_string(tree.root.join("target/cargo-timings/cargo-timing.html"));
    let build = page.ok().and_then(|page| {
        let row = page.split("Total time:").nth(1)?.split("<td>").nth(1)?;
        Some(row.split("</td>").next()?.to_owned())
    });
    let tests: f64 = programs::times(&tree.root).values().fold(0.0, |sum, one| sum + one);
    format!(
        "last build with --timings: {}; test programs, one after the other: {tests:.0} s",
        build.as_deref().unwrap_or("none here")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_equals_its_limit_may_be_and_one_more_may_not() {
        let counts = |count| Counts::from([("lines".to_owned(), count)]);
        assert!(grown(&counts(10), &counts(10)).is_empty());
        let found = grown(&counts(11), &counts(10));
        assert_eq!(found[0].wrong, "lines: 11, and at most 10 may be");
        assert_eq!(grown(&counts(0), &Counts::new()).len(), 1, "no limit is no leave");
    }
}

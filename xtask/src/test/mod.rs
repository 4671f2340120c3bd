//! Does everything hold? Set-up, check, then every test of the workspace, summed in one line.
//!
//!   setup ──► check (6 chores) ──► every test binary, two at a time; examples in docs among them; what measures time alone
//!                                   └──► benchmarks, rehearsed ──► N passed, N failed, N skipped
//!
//! A test says on its own output `SKIPPED name: why` when the machine lacks what it needs; it then counts as skipped, not
//! as passed, and its reason is shown at the end. `--slow` also runs the tests marked `#[ignore = "slow: .."]`, and some under Miri
//! and the thread sanitizer, feeds damaged files to every reader for an hour each, and counts mutants that no test notices. A test that only serves others, as their load, is marked `#[ignore = "helper: .."]` and is not counted.

mod cargo;
mod changed;
mod lanes;
pub(crate) mod programs;
mod tally;
mod watched;

use std::path::Path;
use std::time::Instant;

use anyhow::Result;

use crate::chore::only;
use crate::{bench, check, fuzz, mutants, setup, tree};
use tally::{Skip, Tally};

/// `cargo xtask test [--slow] [--no-setup] [--changed]`; true when nothing failed.
pub(crate) fn chore(arguments: &[String]) -> Result<bool> {
    only(arguments, &["--slow", "--no-setup", "--changed"])?;
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    if has("--changed") {
        anyhow::ensure!(arguments.len() == 1, "--changed is for work in progress; leave the other words out");
        return of_the_change(&tree::root());
    }
    let began = Instant::now();
    let mut tally = Tally::default();
    if !has("--no-setup") {
        setup::all()?;
    }
    tally.count(check::each()?);
    let (root, slow) = (tree::root(), has("--slow"));
    tally.absorb(all(&root, slow)?);
    if slow {
        tally.count(watched::each(&root));
        tally.count(fuzz::each(&root, fuzz::SECONDS_SLOW, &[]));
        tally.count(mutants::each(&root, &[]));
    }
    tally.count(bench::rehearse());
    println!("\n{}took {} s", tally.notes(), began.elapsed().as_secs());
    println!("{tally}");
    Ok(tally.failed.is_empty())
}

/// Every test of the workspace, the slow ones only when asked.
fn all(root: &Path, slow: bool) -> Result<Tally> {
    let programs = match programs::built(root) {
        Ok(programs) => programs,
        Err(error) => return Ok(Tally { failed: vec![format!("{error:#}")], ..Tally::default() }),
    };
    let before = programs::times(root);
    let parts = programs.iter().cloned().flat_map(programs::Program::parts);
    let parts: Vec<programs::Program> = parts.chain([programs::Program::examples(root)]).collect();
    let (mut sum, times) = lanes::run(&parts, &[], &before)?;
    programs::keep(root, &times);
    let is_slow = |skip: &&Skip| skip.why.starts_with("slow");
    let names: Vec<String> = sum.skipped.iter().filter(is_slow).map(|skip| skip.name.clone()).collect();
    if slow && !names.is_empty() {
        sum.skipped.retain(|skip| !names.contains(&skip.name));
        sum.absorb(lanes::run(&programs, &names, &before)?.0);
    }
    Ok(sum)
}

/// Those of what was changed since the last commit, for about a minute.
fn of_the_change(root: &Path) -> Result<bool> {
    let (times, paths) = (programs::times(root), changed::paths(root)?);
    let chosen = changed::choose(
        programs::built(root)?.into_iter().flat_map(programs::Program::parts).collect(),
        &paths,
        &times,
    );
    let (tally, _) = lanes::run(&chosen.now, &[], &times)?;
    if chosen.now.is_empty() {
        println!("no test binary is of what was changed: {}", paths.join(", "));
    }
    for program in &chosen.later {
        println!("later     {}: for `make test`", program.name);
    }
    println!("\n{}{tally}, of {} changed files", tally.notes(), paths.len());
    Ok(tally.failed.is_empty())
}

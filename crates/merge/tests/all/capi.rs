//! Does a C program get what `include/iostack_merge.h` says?

use std::collections::BTreeSet;
use std::process::Command;

use iostack_testkit::{folder, or_skip};

use crate::c;

#[test]
fn a_c_program_gets_what_the_header_says_under_every_policy() {
    let folder = folder!("capi");
    let program = folder.join("library");
    let built = c::compile(&c::own("tests/c/library.c"), &[], &program);
    if or_skip("a_c_program_gets_what_the_header_says_under_every_policy", built).is_none() {
        return;
    }
    let output = Command::new(&program).arg(&*folder).output().expect("it was just built");
    assert!(output.status.success(), "{}\n{}", output.status, c::said(&output));
    println!("{}", c::said(&output));
}

#[test]
fn the_header_is_also_cplusplus() {
    let mut command = Command::new("c++");
    command.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-x", "c++"]);
    let checked = c::run(command.arg(c::own("include/iostack_merge.h")));
    let Some(output) = or_skip("the_header_is_also_cplusplus", checked) else { return };
    let said = c::said(&output);
    // GCC warns that what it looks at is a header and no program.
    let is_fine = output.status.success() || said.lines().all(|line| line.contains("pragma once"));
    assert!(is_fine, "{said}");
}

#[test]
fn what_the_header_declares_is_what_the_library_exports() {
    let header = std::fs::read_to_string(c::own("include/iostack_merge.h")).expect("it is in the crate");
    let declared: BTreeSet<&str> = header
        .lines()
        .filter(|line| line.ends_with(");") && !line.starts_with([' ', '\t']))
        .filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next())
        .collect();
    assert!(declared.len() >= 10, "{declared:?}");
    let listed = c::run(Command::new("nm").args(["-D", "--defined-only"]).arg(c::library()));
    let Some(output) = or_skip("what_the_header_declares_is_what_the_library_exports", listed) else {
        return;
    };
    let said = c::said(&output);
    let exported: BTreeSet<&str> = said.lines().filter_map(|line| line.rsplit(' ').next()).collect();
    assert_eq!(declared, exported);
}

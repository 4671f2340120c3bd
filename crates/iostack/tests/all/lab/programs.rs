//! Databases on a simulated drive: do their own conditions hold, is a broken one found, does every boot say the same?

use std::process::Output;

use crate::shared::{iostack, printed, root, said};
use crate::turn::{LabTurn, turn_or_skip};

/// A small TPC-C-like run, with SQL of ours before its database is checked; nothing where the packages cannot be had.
fn tpcc(_turn: &LabTurn, database: &str, package: &str, before_check: &str) -> Option<Output> {
    let programs = root().join("jobs/programs");
    let names = ["tpcc.sh", "tpcc.sql", "tpcc-report.sql", &format!("tpcc-{database}.sql")];
    let copies = names.map(|name| programs.join(name).display().to_string());
    let before_check = format!("BEFORE_CHECK={before_check}");
    let mut typed: Vec<&str> =
        "lab exec --on sim:x25e --file-system ext4 --memory-mib 1024 --with".split(' ').collect();
    typed.push(package);
    for copy in &copies {
        typed.extend(["--copy", copy]);
    }
    typed.extend("-- env SCALE=1 USERS=4 RUNTIME=2 WARM_UP=0 POOL_MIB=16".split(' '));
    typed.extend([&before_check, "sh", "tpcc.sh", database]);
    let output = iostack(&typed);
    let excuses = ["no package `", "apt-get", "MiB free"];
    let no_package =
        output.status.code() == Some(2) && excuses.iter().any(|excuse| said(&output).contains(excuse));
    (!no_package).then_some(output)
}

/// Its conditions hold, it did something of each kind, and a second boot says the same to the last digit.
fn holds_and_repeats(turn: &LabTurn, database: &str, package: &str) {
    let runs = [(); 2].map(|()| tpcc(turn, database, package, ""));
    let [Some(first), Some(second)] = &runs else {
        return println!("SKIPPED {database}: `{package}` cannot be fetched here");
    };
    let text = printed(first);
    assert_eq!(first.status.code(), Some(0), "{text}{}", said(first));
    assert_eq!(text.matches("holds: ").count(), 5, "{text}");
    for kind in ["new_order", "payment", "order_status", "delivery", "stock_level"] {
        let line =
            text.lines().find(|line| line.starts_with(kind)).unwrap_or_else(|| panic!("no {kind}: {text}"));
        let committed: u64 = line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect(line);
        assert!(committed > 10, "{line}");
    }
    assert_eq!(text, printed(second), "two boots differ");
}

#[test]
#[ignore = "slow: two minutes"]
fn mariadb_keeps_the_conditions_of_tpcc_and_every_boot_gives_the_same() {
    let turn = turn_or_skip!("mariadb_keeps_the_conditions_of_tpcc_and_every_boot_gives_the_same", "6.1");
    holds_and_repeats(&turn, "mariadb", "mariadb-server");
}

#[test]
#[ignore = "slow: two minutes"]
fn postgresql_keeps_the_conditions_of_tpcc_and_every_boot_gives_the_same() {
    let turn = turn_or_skip!("postgresql_keeps_the_conditions_of_tpcc_and_every_boot_gives_the_same", "6.1");
    holds_and_repeats(&turn, "postgresql", "postgresql-15");
}

#[test]
#[ignore = "slow: a minute"]
fn a_run_of_tpcc_that_counted_nothing_fails_and_says_so() {
    let name = "a_run_of_tpcc_that_counted_nothing_fails_and_says_so";
    let turn = turn_or_skip!("a_run_of_tpcc_that_counted_nothing_fails_and_says_so", "6.1");
    let Some(output) = tpcc(&turn, "postgresql", "postgresql-15", "DELETE FROM done") else {
        return println!("SKIPPED {name}: `postgresql-15` cannot be fetched here");
    };
    let text = printed(&output);
    assert_eq!(output.status.code(), Some(1), "{text}{}", said(&output));
    assert!(text.contains("NOTHING COUNTED: 0 of 4 users did anything"), "{text}");
    assert!(text.contains("NOTHING COUNTED: no new order was committed in these 2 s"), "{text}");
    assert!(!text.contains("tpmC-like    "), "{text}");
}

#[test]
#[ignore = "slow: a minute"]
fn a_condition_of_tpcc_that_is_broken_is_found() {
    let name = "a_condition_of_tpcc_that_is_broken_is_found";
    let turn = turn_or_skip!("a_condition_of_tpcc_that_is_broken_is_found", "6.1");
    // A payment that the warehouse lost; an order that is missing; one from long ago; a lost line; an order that nobody counted.
    let breaks = "UPDATE warehouse SET w_ytd = w_ytd + 1; \
                  UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 7; \
                  INSERT INTO new_order VALUES (1, 3, 0); \
                  DELETE FROM order_line WHERE ol_o_id = 3 AND ol_number = 1; \
                  INSERT INTO orders SELECT o_w_id, o_d_id, 0, o_c_id, o_entry_d, 1, 0, 1 FROM orders WHERE o_id = 3";
    let Some(output) = tpcc(&turn, "mariadb", "mariadb-server", breaks) else {
        return println!("SKIPPED {name}: `mariadb-server` cannot be fetched here");
    };
    let text = printed(&output);
    assert_eq!(output.status.code(), Some(1), "{text}{}", said(&output));
    assert_eq!((text.matches("BROKEN in ").count(), text.matches("holds: ").count()), (5, 0), "{text}");
}

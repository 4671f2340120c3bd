//! Writes the pages of the fixture to look at them:
//! `cargo run -p iostack-report --features fixture --example page -- DIRECTORY`.

use std::path::PathBuf;

use iostack_report::{CostDetail, fixture};

fn main() -> std::io::Result<()> {
    let directory = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    let pages = [
        ("check.html", iostack_report::check(&fixture::check()).html()),
        ("quick.html", iostack_report::check(&fixture::check_quick()).html()),
        ("interrupted.html", iostack_report::check(&fixture::check_interrupted()).html()),
        (
            "attribution.html",
            iostack_report::attribution(
                Some(&fixture::stages_of_process()),
                Some(&fixture::layers_of_process()),
            )
            .html(),
        ),
        ("ladder.html", iostack_report::ladder(&fixture::layers_of_process().ladder).html()),
        ("iocost.html", iostack_report::iocost(&fixture::iocosts()[4..], None, CostDetail::default()).html()),
        ("iocosts.html", iostack_report::iocost(&fixture::iocosts(), None, CostDetail::default()).html()),
        (
            "costdiff.html",
            iostack_report::iocost(&[], Some(&fixture::costdiff()), CostDetail::default()).html(),
        ),
        ("iolat.html", iostack_report::iolat(&fixture::iolat_slower()).html()),
        ("published.html", iostack_report::iolat(&fixture::iolat_published()).html()),
        ("ab.html", iostack_report::ab(&fixture::ab()).html()),
        ("merge.html", iostack_report::merge(&fixture::merge()).html()),
        ("history.html", iostack_report::history(&fixture::history()).html()),
        ("run.html", iostack_report::run(&fixture::outcome_file()).html()),
        ("simulated.html", iostack_report::run(&fixture::simulated_file()).html()),
    ];
    for (name, page) in pages {
        std::fs::write(directory.join(name), &page)?;
        println!("{} {} KiB", directory.join(name).display(), page.len() / 1024);
    }
    Ok(())
}

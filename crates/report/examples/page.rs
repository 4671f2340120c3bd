//! Writes the pages of the fixture to look at them:
//! `cargo run -p iostack-report --features fixture --example page -- DIRECTORY`.

use std::path::PathBuf;

use iostack_report::{fixture, html};

fn main() -> std::io::Result<()> {
    let directory = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    let pages = [
        ("check.html", html::check(&fixture::check())),
        ("quick.html", html::check(&fixture::check_quick())),
        ("interrupted.html", html::check(&fixture::check_interrupted())),
        (
            "attribution.html",
            html::attribution(
                "iostack stages and layers",
                Some(&fixture::stages_of_process()),
                Some(&fixture::layers_of_process()),
                Some(&fixture::ladder()),
            ),
        ),
        ("stages.html", html::attribution("iostack stages", Some(&fixture::stages()), None, None)),
        ("layers.html", html::attribution("iostack layers", None, Some(&fixture::layers()), None)),
        (
            "ladder.html",
            html::attribution("iostack doctor", None, None, Some(&fixture::layers_of_process().ladder)),
        ),
        ("iocost.html", html::iocost_html(&[fixture::iocosts().swap_remove(4)], None)),
        ("iocosts.html", html::iocost_html(&fixture::iocosts(), None)),
        ("costdiff.html", html::iocost_html(&[], Some(&fixture::costdiff()))),
        ("run.html", html::outcomes(&fixture::outcome_file())),
        ("simulated.html", html::outcomes(&fixture::simulated_file())),
    ];
    for (name, page) in pages {
        std::fs::write(directory.join(name), &page)?;
        println!("{} {} KiB", directory.join(name).display(), page.len() / 1024);
    }
    Ok(())
}

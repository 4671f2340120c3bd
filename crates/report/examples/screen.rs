//! Prints the reports of the fixture, to look at them: `cargo run -p iostack-report --features fixture --example screen`.

fn main() {
    let check = iostack_report::fixture::check();
    println!("{}", check.verdict.answer);
}

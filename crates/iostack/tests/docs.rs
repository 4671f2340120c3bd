//! The reference pages say what the program does: generated from it, or compared with it.

use std::path::Path;
use std::process::Command;

use iostack_model::{Bytes, Caveat, Nanos};

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_page_of_options_is_what_the_program_prints() {
    let output = Command::new(env!("CARGO_BIN_EXE_iostack")).args(["options", "--markdown"]).output();
    let printed = String::from_utf8(output.expect("the binary was built").stdout).expect("UTF-8");
    assert!(printed.lines().count() > 100, "{printed}");
    let table = page("options.md");
    assert!(
        table.ends_with(&printed),
        "docs/options.md is out of date: keep its first lines and append `iostack options --markdown`"
    );
}

#[test]
fn the_page_of_devices_ends_with_what_the_program_prints() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_iostack")).args(["sim", "keys", "--markdown", "--drives"]).output();
    let printed = String::from_utf8(output.expect("the binary was built").stdout).expect("UTF-8");
    assert!(printed.lines().count() > 100, "{printed}");
    assert!(
        page("devices.md").ends_with(&printed),
        "docs/devices.md is out of date: keep all before its first table of keys and append `iostack sim keys --markdown --drives`"
    );
}

#[test]
fn the_page_of_platforms_ends_with_what_the_program_prints() {
    let output = Command::new(env!("CARGO_BIN_EXE_iostack"))
        .args(["sim", "keys", "--markdown", "--platforms"])
        .output();
    let printed = String::from_utf8(output.expect("the binary was built").stdout).expect("UTF-8");
    assert!(printed.lines().count() > 40, "{printed}");
    assert!(
        page("platforms.md").ends_with(&printed),
        "docs/platforms.md is out of date: keep all before its first table of keys and append `iostack sim keys --markdown \
         --platforms`"
    );
}

/// One of each variant.
fn all() -> Vec<Caveat> {
    let bytes = Bytes(1);
    let at = Nanos(1);
    vec![
        Caveat::UnwrittenExtents { unwritten: bytes, region: bytes },
        Caveat::CachedReads { asked: bytes, device: bytes },
        Caveat::BufferedWrites { asked: bytes, device: bytes },
        Caveat::CompressibleData { storage: String::new() },
        Caveat::DepthBelowAsked { asked: 2.0, achieved: 1.0, reason: String::new() },
        Caveat::LoadNotFull { in_flight: 2.0, little: 1.0, residual: 0.5, full: 0.0 },
        Caveat::GeneratorBound { busy: 1.0 },
        Caveat::Punted { workers: 1, cpu_share: 0.5 },
        Caveat::DeviceCountDiffers { device: String::new(), ours: 1, theirs: 2, what: String::new() },
        Caveat::ForeignIo { device: String::new(), bytes, share: 0.5 },
        Caveat::Steal { share: 0.5 },
        Caveat::ForeignCpu { share: 0.5 },
        Caveat::RateStep { at, before: 1.0, after: 2.0 },
        Caveat::Cliff { at, before: 2.0, after: 1.0 },
        Caveat::Slope { per_minute: 0.1 },
        Caveat::Unstable { relative: 0.5 },
        Caveat::Drift { low: 1.0, high: 2.0, runs: 3 },
        Caveat::FewSamples { percentile: 99.0, samples: 1, needed: 2 },
        Caveat::ClockNotInvariant { source: String::new() },
        Caveat::CacheBelow { claim: String::new(), latency: at },
        Caveat::SmallRegion { region: bytes, memory: bytes },
        Caveat::Failed { count: 1, message: String::new() },
        Caveat::Interrupted { after: at, asked: None },
        Caveat::Stall { at, longest: at, waiting: at },
        Caveat::RateMissed { asked: 2.0, achieved: 1.0 },
        Caveat::IoLimit { line: String::new() },
        Caveat::NoDeviceCount { reason: String::new() },
        Caveat::Traced { ns_per_io: 1.0, share: 0.5 },
        Caveat::EventsLost { lost: 1, seen: 2 },
        Caveat::Unmatched { unmatched: 1, ios: 2 },
        Caveat::Unclassified { share: 0.5 },
        Caveat::InexactClocks { how: String::new() },
        Caveat::Simulated { device: String::new(), sourced: 1, fitted: 2, assumed: 3 },
        Caveat::TraceLeap { line: 1, after: at },
        Caveat::NotSimulated { what: String::new() },
        Caveat::Lab { device: String::new(), kernel: String::new(), clock: String::new() },
        Caveat::StateByFormula { how: String::new() },
        Caveat::NotLinear { residual: 0.5, bend: 2.0 },
        Caveat::CostOverlapped { callers: 8, times: 4.0 },
    ]
}

#[test]
fn every_caveat_has_its_line_in_the_docs_and_no_line_is_of_none() {
    let page = page("caveats.md");
    let kinds: Vec<String> = all()
        .iter()
        .map(|caveat| {
            serde_json::to_value(caveat).expect("plain data")["kind"].as_str().expect("tagged").to_owned()
        })
        .collect();
    for kind in &kinds {
        assert!(page.contains(&format!("| `{kind}` |")), "docs/caveats.md does not explain `{kind}`");
    }
    assert_eq!(page.lines().filter(|line| line.starts_with("| `")).count(), kinds.len());
}

#[test]
fn every_page_is_on_one_shelf() {
    let shelves = page("README.md");
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")).expect("docs/") {
        let name = entry.expect("read").file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") && name != "README.md" {
            let rows = shelves
                .lines()
                .filter(|line| line.starts_with("| [") && line.contains(&format!("]({name})")));
            assert_eq!(rows.count(), 1, "docs/README.md: `{name}` belongs on exactly one shelf");
        }
    }
}

#[test]
fn the_readme_fits_and_names_every_command() {
    let readme = page("../README.md");
    assert!(readme.lines().count() <= 120, "README.md: {} lines", readme.lines().count());
    let output = Command::new(env!("CARGO_BIN_EXE_iostack")).arg("--help").output();
    let help = String::from_utf8(output.expect("the binary was built").stdout).expect("UTF-8");
    let list = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a list");
    for line in list.lines().filter(|line| !line.starts_with("   ") && !line.starts_with("  help")) {
        let name = line.split_whitespace().next().expect("a name");
        assert!(
            readme.contains(&format!("`iostack {name}")) || readme.contains(&format!("`sudo iostack {name}")),
            "README.md: no row of its table has `iostack {name}`"
        );
    }
}

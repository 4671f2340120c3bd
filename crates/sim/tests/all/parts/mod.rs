//! Single devices against their closed forms.

use iostack_sim::devices;
use iostack_sim::engine::World;
use iostack_sim::sheet::Sheet;

mod cloud;
mod dram;
mod guide;
mod hdd;
mod hdd_smr;
mod hdd_tracks;
mod raid;
mod raid0;

#[test]
fn impossible_numbers_are_refused_by_name() {
    let wrong = [
        ("cloud.iops", "0/s"),
        ("cloud.iops_burst", "10/s"),
        ("cloud.unit", "0"),
        ("cloud.read_p99", "1us"),
        ("cloud.queue_depth", "0"),
        ("dram.queue_depth", "0"),
        ("dram.rate", "0/s"),
        ("dram.page", "100"),
        ("dram.banks", "0"),
        ("hdd.rpm", "0"),
        ("hdd.sector", "1000B"),
        ("hdd.sectors_inner", "100"),
        ("hdd.capacity", "100GB"),
        ("hdd.read_ahead", "1MiB"),
        ("hdd.seek_short", "none"),
        ("hdd.zones", "5000"),
        ("hdd.zone_table", "1962:9"),
        ("hdd.seek", "table"),
        ("raid0.members", "0"),
        ("raid0.stripe", "1000B"),
        ("raid0.stripe", "2GiB"),
        ("raid0.write", "back"),
        ("raid0.member", "raid0-p410i"),
    ];
    let raid = raid0::numbers("2", &[]);
    for (key, value) in wrong {
        let kind = key.split('.').next().expect("a table");
        let plain = match kind {
            "cloud" => &cloud::PLAIN[..],
            "dram" => &dram::SLIDES,
            "hdd" => &hdd::HP_97560,
            _ if key == "raid0.member" => &[("raid0.members", "2")],
            _ => &raid,
        };
        let sheet = Sheet::from_values(kind, &[plain, &[(key, value)]].concat());
        let built = sheet.and_then(|sheet| devices::build(&sheet, &mut World::new(), 1));
        let error = built.expect_err("impossible numbers").to_string();
        assert!(error.contains(key.trim_end_matches("_burst")), "{key} = {value}: {error}");
    }
}

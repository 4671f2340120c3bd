//! Does a device lose nothing, whatever is asked of it and however it is built?

use std::collections::BTreeMap;

use iostack_sim::devices;
use iostack_sim::engine::World;
use iostack_sim::sheet::Sheet;
use iostack_workload::Rng;

use crate::load::Mixed;

/// Numbers of something of this kind by chance, each of `data/choices.toml` one way or another.
pub(crate) fn choices(kind: &str, rng: &mut Rng) -> Vec<(String, String)> {
    let file = include_str!("../data/choices.toml");
    let mut file: BTreeMap<&str, BTreeMap<String, Vec<String>>> =
        toml::from_str(file).expect("lists of choices");
    let mut all = Vec::new();
    for (key, choices) in file.remove(kind).expect("a table of choices") {
        let chosen = format!("{key}={}", choices[rng.below(choices.len() as u64) as usize]);
        for (key, value) in chosen.split(';').filter_map(|pair| pair.split_once('=')) {
            let range =
                value.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
            let number =
                range.map(|range: std::ops::Range<u64>| range.start + rng.below(range.end - range.start));
            all.push((key.to_owned(), number.map_or(value.to_owned(), |number| number.to_string())));
        }
    }
    all
}

/// Devices of so many seeds under so many requests each; how many of them were refused.
fn refused_of(kind: &str, seeds: u64, requests: u32) -> u64 {
    let mut refused = 0;
    for seed in 0..seeds {
        let values = choices(kind, &mut Rng::from_seed(seed));
        println!("seed {seed}: {values:?}");
        let values: Vec<_> = values.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let mut world = World::new();
        world.sim.keep_stamps();
        let sheet = Sheet::from_values(kind, &values).expect("a kind");
        match devices::build(&sheet, &mut world, seed) {
            Ok(device) => {
                world.set_root(device);
                Mixed::new(world, seed).run(requests);
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("over-provision") || text.contains("give buffer.size"), "{text}");
                refused += 1;
            }
        }
    }
    refused
}

#[test]
fn nothing_is_lost_on_random_ssds() {
    let refused = refused_of("flash", 150, 3000);
    assert!(refused < 75, "{refused} of 150 were refused");
}

#[test]
fn nothing_is_lost_on_random_devices_without_flash() {
    for (kind, seeds, requests) in
        [("cloud", 20, 2000), ("dram", 40, 2000), ("hdd", 150, 600), ("raid", 40, 400), ("raid0", 120, 1000)]
    {
        assert_eq!(refused_of(kind, seeds, requests), 0, "{kind}");
    }
}

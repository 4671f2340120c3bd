//! Does an SSD lose nothing, whatever is asked of it and however it is built?

use iostack_sim::devices;
use iostack_sim::engine::World;
use iostack_sim::sheet::Sheet;
use iostack_workload::Rng;

use crate::load::Mixed;

/// A random device: every switch of the table is thrown one way or another.
fn device(rng: &mut Rng) -> Vec<(&'static str, String)> {
    let mut pick = |choices: &[&str]| choices[rng.below(choices.len() as u64) as usize].to_owned();
    let page = pick(&["4KiB", "4KiB", "8KiB", "16KiB"]);
    let mapping = if page == "4KiB" { pick(&["4KiB", "2KiB"]) } else { pick(&["4KiB", "8KiB"]) };
    vec![
        ("flash.capacity", pick(&["2MiB", "4MiB", "6MiB"])),
        ("flash.over_provisioning", pick(&["60%", "110%", "200%"])),
        ("flash.channels", pick(&["1", "2"])),
        ("flash.chips", pick(&["1", "2"])),
        ("flash.dies", pick(&["1", "2"])),
        ("flash.planes", pick(&["1", "2"])),
        ("flash.page", page),
        ("flash.mapping", mapping),
        ("flash.pages_per_block", pick(&["2", "4", "8"])),
        ("flash.read", "25us".into()),
        ("flash.program", "200us".into()),
        ("flash.erase", "1500us".into()),
        ("flash.multi_plane", pick(&["none", "writes", "matching", "independent"])),
        ("flash.cache_register", pick(&["no", "yes"])),
        ("flash.read_priority", pick(&["no", "yes"])),
        ("flash.overtake", pick(&["1", "16"])),
        ("flash.suspend", pick(&["none", "erase", "program", "both"])),
        ("flash.suspend_time", pick(&["0", "5us"])),
        ("flash.queue_depth", pick(&["1", "4", "32", "1024"])),
        ("flash.allocation", pick(&["dynamic", "static"])),
        ("flash.order", pick(&["cwdp", "pdwc", "wcpd"])),
        ("flash.state", pick(&["fresh", "filled", "steady"])),
        ("channel.rate", pick(&["40MB/s", "800MB/s"])),
        ("channel.command", pick(&["0", "1us"])),
        ("controller.cores", pick(&["1", "2"])),
        ("controller.read", pick(&["0", "3us"])),
        ("controller.write", pick(&["0", "5us"])),
        ("controller.write_delay", pick(&["0", "7us"])),
        ("link.rate", pick(&["none", "300MB/s"])),
        ("link.latency", pick(&["0", "2us"])),
        ("link.duplex", pick(&["half", "full"])),
        ("buffer.size", pick(&["none", "16KiB", "64KiB", "1MiB"])),
        ("buffer.acknowledge", pick(&["early", "early", "programmed"])),
        ("gc.policy", pick(&["greedy", "choices", "fifo", "random", "cost-benefit"])),
        ("gc.hot_cold", pick(&["no", "yes"])),
        ("slc.size", pick(&["none", "none", "512KiB"])),
        ("slc.read", "20us".into()),
        ("slc.program", "100us".into()),
        ("slc.erase", "1ms".into()),
        ("slc.full", pick(&["direct", "fold"])),
    ]
}

#[test]
fn nothing_is_lost_on_random_devices_under_random_loads() {
    let mut refused = 0;
    for seed in 0..150 {
        let values = device(&mut Rng::from_seed(seed));
        println!("seed {seed}: {values:?}");
        let values: Vec<_> = values.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let mut world = World::new();
        world.sim.keep_stamps();
        let sheet = Sheet::from_values("flash", &values).expect("a kind");
        match devices::build(&sheet, &mut world, seed) {
            Ok(device) => {
                world.set_root(device);
                Mixed::new(world, seed).run(3000);
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("over-provision") || text.contains("give buffer.size"), "{text}");
                refused += 1;
            }
        }
    }
    assert!(refused < 75, "{refused} of 150 were refused");
}

//! Cores as stations: programs compute for exponential times, then think or read, as chance has it. With delays elsewhere,
//! of whatever distribution, the cores are an M/M/c//N queue, whose throughput is known.

use iostack_model::Engine;
use iostack_sim::engine::{CALLER_SHIFT, Caller, Happened, Kind, World};
use iostack_workload::Rng;

use crate::host::machine::{round_numbers, sheet};
use crate::load::assert_near;
use crate::run::parts::exponential;

/// Computations per second of programs that compute, then read or think.
fn cycles(cores: u32, programs: u32, slice: &str, [compute, read, think]: [f64; 3]) -> f64 {
    let (cores, read) = (cores.to_string(), format!("{read}ns"));
    let own = [
        ("platform.cores", cores.as_str()),
        ("platform.os.os.slice", slice),
        ("platform.drive.zero.latency", &read),
    ];
    let is_clocks = |key: &str| key.starts_with("platform.os.") || key.starts_with("platform.adapter.");
    let free = round_numbers().filter(|(key, _)| is_clocks(key)).map(|(key, _)| (key, "0"));
    let mut world = World::new();
    let root =
        iostack_sim::build(&sheet(&free.chain(own).collect::<Vec<_>>()), &mut world, 1).expect("complete");
    world.set_root(root);
    let caller = |number| Caller {
        engine: Engine::Psync,
        direct: true,
        queue_depth: 1,
        batch_submit: 1,
        complete_min: 1,
        number,
        cpus: None,
    };
    world.meet(&(0..programs).map(caller).collect::<Vec<_>>());
    world.begin();
    let mut rng = Rng::from_seed(u64::from(programs));
    (0..programs).for_each(|program| world.sim.alarm_at(u64::from(program), program));
    let (mut done, most) = (0u64, 1_500_000);
    while done < most {
        let (program, kind, length) = match world.next() {
            Happened::Alarm(program) => (program, Kind::Compute, exponential(compute, &mut rng) as u32),
            Happened::Completed(id) => {
                let request = world.sim.request(id);
                let (program, kind) = (request.user >> CALLER_SHIFT, request.kind);
                world.sim.release(id);
                if kind == Kind::Read {
                    (program, Kind::Compute, exponential(compute, &mut rng) as u32)
                } else {
                    done += 1;
                    if rng.below(2) == 0 {
                        let thought = world.now() + exponential(think, &mut rng);
                        world.sim.alarm_at(thought, program);
                        continue;
                    }
                    (program, Kind::Read, 4096)
                }
            }
            Happened::Quiet => panic!("programs never end"),
        };
        let id = world.sim.submit(kind, 0, length);
        world.sim.request_mut(id).user = program << CALLER_SHIFT;
    }
    world.resources();
    done as f64 * 1e9 / world.now() as f64
}

/// The same in closed form: M/M/c//N.
fn repairmen(cores: u32, programs: u32, compute: f64, away: f64) -> f64 {
    let (mut weight, mut sum, mut busy) = (1.0, 0.0, 0.0);
    for at_cores in 0..=programs {
        let served = f64::from(at_cores.min(cores));
        sum += weight;
        busy += weight * served;
        weight *= f64::from(programs - at_cores) / away * compute / f64::from((at_cores + 1).min(cores));
    }
    busy / sum * 1e9 / compute
}

#[test]
fn cores_with_think_time_and_a_drive_meet_the_closed_form() {
    for (cores, programs, slice) in [
        (1, 1, "1s"),
        (1, 4, "1s"),
        (1, 12, "1s"),
        (2, 8, "1s"),
        (4, 24, "1s"),
        (4, 24, "10us"),
        (8, 60, "1s"),
    ] {
        let (compute, read, think) = (20_000.0, 60_000.0, 180_000.0);
        let found = cycles(cores, programs, slice, [compute, read, think]);
        let exact = repairmen(cores, programs, compute, f64::midpoint(read, think));
        assert_near(&format!("{cores} cores, {programs} programs, slice {slice}"), found, exact, 0.005);
    }
}

//! Does the engine agree with what is known of queues in closed form?
//!
//! Open queues are checked twice: each customer's time exactly, against the recursion of Lindley (Kiefer and Wolfowitz for
//! several servers), and the mean against the closed form. The mean of a finite sample strays, above all because the sample's
//! own load is not the one that was meant; so it is compared with the closed form at the rate and the moments that were
//! drawn, which takes most of that away (a control variate).

use iostack_model::{Engine, Job, Nanos, Think};
use iostack_sim::engine::{Happened, Kind, World};
use iostack_workload::Rng;

use crate::load::assert_near;
use crate::run::parts::{Service, Station, exponential, outcome_of};

/// Sums over a run of an open queue, all in ns.
struct Drawn {
    customers: f64,
    arrivals: f64,
    services: f64,
    squares: f64,
    sojourns: f64,
}

impl Drawn {
    fn rate(&self) -> f64 {
        self.customers / self.arrivals
    }

    fn service(&self) -> f64 {
        self.services / self.customers
    }

    fn sojourn(&self) -> f64 {
        self.sojourns / self.customers
    }
}

/// Poisson arrivals with this mean distance at so many servers; every sojourn is checked against the recursion.
fn open_queue(servers: usize, distance: f64, service: Service, customers: u64, seed: u64) -> Drawn {
    let mut world = World::new();
    Station::add(&mut world, servers, Service::Asked, 0);
    let mut rng = Rng::from_seed(seed);
    let mut drawn = Drawn { customers: 0.0, arrivals: 0.0, services: 0.0, squares: 0.0, sojourns: 0.0 };
    let mut free_at = vec![0u64; servers];
    // By place of the request: when it must be through.
    let mut due: Vec<u64> = Vec::new();
    world.sim.alarm_at(0, 0);
    let mut left = customers;
    loop {
        match world.next() {
            Happened::Completed(id) => {
                let (now, request) = (world.now(), world.sim.request(id));
                assert_eq!(now, due[id.0 as usize], "customer {} of seed {seed}", request.serial);
                drawn.sojourns += (now - request.submitted) as f64;
                world.sim.release(id);
            }
            Happened::Alarm(_) => {
                let now = world.now();
                let time = service.draw(&mut rng);
                let id = world.sim.submit(Kind::Read, 0, 4096);
                world.sim.request_mut(id).user = u32::try_from(time).expect("services are short");
                let first = free_at.iter_mut().min().expect("a server");
                *first = now.max(*first) + time;
                due.resize(due.len().max(id.0 as usize + 1), 0);
                due[id.0 as usize] = *first;
                let next = exponential(distance, &mut rng);
                drawn.customers += 1.0;
                drawn.arrivals += next as f64;
                drawn.services += time as f64;
                drawn.squares += (time as f64).powi(2);
                left -= 1;
                if left > 0 {
                    world.sim.alarm_at(now + next, 0);
                }
            }
            Happened::Quiet => return drawn,
        }
    }
}

/// Mean sojourn in M/M/c (Erlang C).
fn mmc(servers: u32, rate: f64, service: f64) -> f64 {
    let (c, load) = (f64::from(servers), rate * service);
    let rho = load / c;
    // The sum of load^k/k! over the last term, from the first term down.
    let (mut term, mut sum) = (1.0, 0.0);
    for k in (1..=servers).rev() {
        term *= f64::from(k) / load;
        sum += term;
    }
    let waits = 1.0 / (1.0 - rho) / (1.0 / (1.0 - rho) + sum);
    service + waits * service / (c * (1.0 - rho))
}

/// Mean sojourn in M/G/1 (Pollaczek and Khinchine).
fn mg1(rate: f64, service: f64, square: f64) -> f64 {
    service + rate * square / (2.0 * (1.0 - rate * service))
}

#[test]
fn m_m_c_has_erlangs_sojourn() {
    let cases = [
        (1u32, 0.8, 500.0, 6_000_000, 1),
        (4, 0.8, 174.554, 3_000_000, 1),
        (8, 0.95, 311.042, 12_000_000, 1),
        (32, 0.9, 114.319, 3_000_000, 1),
    ];
    for (servers, load, exact_us, customers, seed) in cases {
        let service = 100_000.0;
        let distance = service / f64::from(servers) / load;
        let exact = mmc(servers, 1.0 / distance, service);
        assert!((exact / 1e3 - exact_us).abs() < 0.001, "the formula gives {exact}");
        let drawn = open_queue(servers as usize, distance, Service::Exponential(service), customers, seed);
        let expected = mmc(servers, drawn.rate(), drawn.service());
        assert_near(&format!("M/M/{servers} at {load}"), drawn.sojourn(), expected, 0.005);
    }
}

#[test]
fn m_d_1_and_m_g_1_have_pollaczeks_wait() {
    let (fixed, mixed) = (Service::Fixed(100_000), Service::Mixed(50_000, 1_000_000));
    let square = 0.9 * 50_000f64.powi(2) + 0.1 * 1_000_000f64.powi(2);
    for (what, service, mean, square, load, exact_us, customers) in [
        ("M/D/1", fixed, 1e5, 1e10, 0.5, 150.0, 1_000_000),
        ("M/D/1", fixed, 1e5, 1e10, 0.8, 300.0, 4_000_000),
        ("M/D/1", fixed, 1e5, 1e10, 0.95, 1050.0, 12_000_000),
        ("M/G/1", mixed, 145_000.0, square, 0.5, 497.59, 2_000_000),
        ("M/G/1", mixed, 145_000.0, square, 0.8, 1555.34, 6_000_000),
    ] {
        let distance = mean / load;
        assert!((mg1(1.0 / distance, mean, square) / 1e3 - exact_us).abs() < 0.01);
        let drawn = open_queue(1, distance, service, customers, 1);
        let expected = mg1(drawn.rate(), drawn.service(), drawn.squares / drawn.customers);
        assert_near(&format!("{what} at {load}"), drawn.sojourn(), expected, 0.005);
    }
}

#[test]
fn a_closed_balanced_network_has_its_throughput() {
    for (depth, servers, exact) in [(8u32, 8usize, 4.26667), (64, 32, 21.55789), (128, 256, 85.55614)] {
        let mut world = World::new();
        Station::add_named(&mut world, "server", servers, Service::Exponential(100_000.0), (3, true), None);
        let job =
            Job { engine: Engine::IO_URING, queue_depth: depth, io_count: Some(1_000_000), ..Job::default() };
        let outcome = outcome_of(world, &job);
        let (n, m) = (f64::from(depth), servers as f64);
        let formula = n * m / (n + m - 1.0);
        assert!((formula - exact).abs() < 1e-5);
        assert_near(&format!("{depth} at {servers} dies"), outcome.rate() * 1e-4, formula, 0.005);
        let inside = outcome.inside.expect("simulated");
        assert_near("their utilisation", inside.resources[0].busy, formula / m, 0.005);
        assert!(inside.limit.expect("busy").why.starts_with("Chance"));
    }
}

/// Throughput and mean response of a closed network by exact mean value analysis (Reiser and Lavenberg 1980): demands of
/// single servers and a think time, in ns.
fn mva(demands: &[f64], think: f64, customers: u32) -> (f64, f64) {
    let mut queues = vec![0.0; demands.len()];
    let mut told = (0.0, 0.0);
    for n in 1..=customers {
        let times: Vec<f64> =
            demands.iter().zip(&queues).map(|(demand, queue)| demand * (1.0 + queue)).collect();
        let response: f64 = times.iter().sum();
        let rate = f64::from(n) / (think + response);
        queues = times.iter().map(|time| rate * time).collect();
        told = (rate, response);
    }
    told
}

#[test]
fn a_closed_network_of_unlike_stations_follows_mean_value_analysis() {
    for (threads, think_us) in [(1, 100), (4, 100), (16, 300), (16, 0)] {
        let means = [10_000.0, 60_000.0, 12_000.0];
        let [firmware, die, link] = means.map(Service::Exponential);
        let mut world = World::new();
        let link = Station::add_named(&mut world, "link", 1, link, (5, false), None);
        let dies = Station::add_named(&mut world, "die", 4, die, (6, true), Some(link));
        Station::add_named(&mut world, "firmware", 1, firmware, (7, false), Some(dies));
        let think =
            (think_us > 0).then_some(Think { time: Nanos::micros(think_us), every: 1, spin: Nanos(0) });
        let job = Job { threads, think, io_count: Some(800_000 / u64::from(threads)), ..Job::default() };
        let outcome = outcome_of(world, &job);
        let demands = [means[0], means[1] / 4.0, means[1] / 4.0, means[1] / 4.0, means[1] / 4.0, means[2]];
        let (rate, response) = mva(&demands, think_us as f64 * 1e3, threads);
        assert_near(&format!("rate of {threads} threads"), outcome.rate() / 1e9, rate, 0.005);
        assert_near(
            &format!("latency of {threads} threads"),
            outcome.read.latency.mean_ns(),
            response,
            0.005,
        );
    }
}

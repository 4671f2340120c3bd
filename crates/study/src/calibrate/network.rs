//! How fast is a closed network? Mean value analysis (Reiser and Lavenberg 1980), with a part for times that are fixed.
//!
//! ```text
//!   n in flight ──► host ──► controller ──► dies ──► link ──► delay ──┐
//!        ▲───────────────────────────────────────────────────────────┘
//! ```
//!
//! What arrives finds what is there with one fewer in flight. At a station with exponential times it waits for all of that
//! in full; where each use takes the same, the one in service is on average half through.

/// A place where requests wait for each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Station {
    /// Time of a request that finds it empty, ns.
    pub(crate) service: f64,
    /// Servers, each with a line of its own or all with one.
    pub(crate) servers: f64,
    /// Servers that a request uses.
    pub(crate) used: f64,
    /// All servers have one line.
    pub(crate) pooled: bool,
}

impl Station {
    /// A station with one server.
    pub(crate) fn one(service: f64) -> Station {
        Station { service, servers: 1.0, used: 1.0, pooled: false }
    }

    /// Time that a request takes of each server.
    fn demand(&self) -> f64 {
        self.service * self.used / self.servers
    }
}

/// Requests a nanosecond with `in_flight`; `fixed` times are deterministic.
pub(crate) fn rate(stations: &[Station], delay: f64, in_flight: u32, fixed: bool) -> f64 {
    let slowest = stations.iter().map(Station::demand).fold(0.0, f64::max);
    let mut queues = [0.0; 8];
    let mut rate = 0.0;
    for n in 1..=in_flight {
        let mut around = delay;
        let mut times = [0.0; 8];
        for ((station, queue), time) in stations.iter().zip(queues).zip(&mut times) {
            let demand = station.demand();
            let half = if fixed { (rate * demand).min(1.0) / 2.0 } else { 0.0 };
            *time = if station.pooled {
                around += station.service - demand;
                demand * (1.0 + (queue - half).max(0.0))
            } else {
                station.service * (1.0 + (queue * station.used / station.servers - half).max(0.0))
            };
            around += *time;
        }
        rate = f64::from(n) / around.max(1e-3);
        if slowest > 0.0 {
            rate = rate.min(1.0 / slowest);
        }
        for (queue, time) in queues.iter_mut().zip(times) {
            *queue = rate * time;
        }
    }
    rate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_balanced_network_has_its_known_rate() {
        // X = N M/((N + M - 1) S).
        for (servers, in_flight, times) in
            [(8.0, 8, 4.266_67), (64.0, 32, 21.557_89), (128.0, 256, 85.556_14)]
        {
            let dies = Station { service: 100.0, servers, used: 1.0, pooled: false };
            let found = rate(&[dies], 0.0, in_flight, false) * 100.0;
            assert!((found - times).abs() < 1e-4, "{found}");
        }
    }

    #[test]
    fn one_alone_takes_the_sum_and_many_take_the_slowest() {
        let stations = [Station::one(10.0), Station::one(30.0)];
        assert!((1.0 / rate(&stations, 60.0, 1, true) - 100.0).abs() < 1e-9);
        assert!((1.0 / rate(&stations, 60.0, 1000, true) - 30.0).abs() < 0.5);
    }
}

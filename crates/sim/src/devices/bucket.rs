//! What does a volume in a cloud do? What its token buckets let through.
//!
//! ```text
//!   command queue ──► bucket of I/Os ──► bucket of bytes ──► latency drawn from its distribution
//!       admit                     throttle                              medium
//! ```
//!
//! Tokens flow into a bucket at a steady rate until it is full. An I/O goes when no bucket is in debt, and then takes its
//! tokens, even into debt: without credits I/Os go evenly, each as far behind the last as that one cost; with credits they
//! go at once until the credits are spent. A second rate may cap what goes at once. So in any stretch of T seconds go at
//! most `credits + rate x T` and one I/O.
//!
//! The latency is drawn by chance from a distribution given by its own figures: shortest, median, 99th percentile, longest,
//! and even in between. Its mean is (min + p50) / 4 + 0.49 (p50 + p99) / 2 + 0.01 (p99 + max) / 2.

use std::collections::VecDeque;

use crate::sheet::{Sheet, SheetError};
use iostack_model::{Bytes, ResourceUse, Stage};
use iostack_workload::Rng;

use super::parameter::{queue_depth, time_or, whole_bytes};
use crate::engine::{Account, Kind, Part, PartId, RequestId, Shape, Sim, Stamps, Time, World, token, usage};

/// The buckets let the first of those that wait go; a request's latency is over.
const READY: u8 = 0;
const END: u8 = 1;

/// Parts of a token: with 10^12 of them, a rate of whole thousandths a second is whole parts a nanosecond.
const PARTS: i128 = 1_000_000_000_000;

/// Tokens that flow in, are kept up to a size, and are taken.
#[derive(Clone, Debug)]
struct Bucket {
    /// Parts a nanosecond.
    rate: i128,
    size: i128,
    level: i128,
    at: Time,
}

impl Bucket {
    fn new(rate: f64, size: u64, full: f64) -> Bucket {
        let size = i128::from(size) * PARTS;
        let level = (size as f64 * full).round() as i128;
        Bucket { rate: (rate * 1e3).round() as i128, size, level: level.min(size), at: 0 }
    }

    /// Moment from which on the bucket is not in debt.
    fn ready(&mut self, now: Time) -> Time {
        self.level = self.size.min(self.level + self.rate * i128::from(now - self.at));
        self.at = now;
        let debt = (-self.level).max(0);
        now + ((debt + self.rate - 1) / self.rate) as Time
    }

    fn take(&mut self, tokens: u64) {
        self.level -= i128::from(tokens) * PARTS;
    }
}

/// A limit: a bucket for the rate that lasts, perhaps one for the burst, and their account.
struct Limit {
    name: &'static str,
    gauge: &'static str,
    buckets: Vec<Bucket>,
    account: Account,
}

impl Limit {
    fn ready(&mut self, now: Time) -> Time {
        self.buckets.iter_mut().map(|bucket| bucket.ready(now)).max().unwrap_or(now)
    }

    /// Takes tokens at `now` for what came at `arrived`; the limit is busy until the next may go.
    fn take(&mut self, tokens: u64, arrived: Time, now: Time) {
        self.buckets.iter_mut().for_each(|bucket| bucket.take(tokens));
        let next = self.ready(now);
        self.account.book(arrived, now, next);
    }
}

/// Distribution of latencies: even between known figures.
#[derive(Clone, Debug)]
struct LatencyCurve([(f64, f64); 4]);

impl LatencyCurve {
    fn draw(&self, rng: &mut Rng) -> u64 {
        let share = rng.unit();
        let upper = self.0.iter().position(|&(at, _)| share < at).expect("a share is below 1");
        let ((from, low), (to, high)) = (self.0[upper - 1], self.0[upper]);
        (low + (high - low) * ((share - from) / (to - from))).round() as u64
    }
}

struct Volume {
    capacity: Bytes,
    unit: u64,
    merges: bool,
    limits: Vec<Limit>,
    latency: [LatencyCurve; 2],
    /// Places in the command queue that are free.
    free: u64,
    waiting: VecDeque<RequestId>,
    throttled: VecDeque<RequestId>,
    /// Kind and end of the last I/O, and the bytes left of its last unit.
    last: (Kind, u64, u64),
    rng: Rng,
    stamps: Stamps,
}

pub(super) fn build(sheet: &Sheet, world: &mut World, seed: u64) -> Result<PartId, SheetError> {
    let volume = Volume {
        capacity: Bytes(whole_bytes(sheet, "cloud.capacity", 512)?),
        unit: whole_bytes(sheet, "cloud.unit", 512)?,
        merges: sheet.word("cloud.merge")? == "on",
        limits: limits(sheet)?,
        latency: [
            curve(sheet, ["cloud.read_min", "cloud.read_p50", "cloud.read_p99", "cloud.read_max"])?,
            curve(sheet, ["cloud.write_min", "cloud.write_p50", "cloud.write_p99", "cloud.write_max"])?,
        ],
        free: queue_depth(sheet, "cloud.queue_depth")?,
        waiting: VecDeque::new(),
        throttled: VecDeque::new(),
        last: (Kind::Flush, 0, 0),
        rng: Rng::from_seed(seed),
        stamps: Stamps::of_device(&world.sim),
    };
    Ok(world.add(Box::new(volume)))
}

fn limits(sheet: &Sheet) -> Result<Vec<Limit>, SheetError> {
    let full = sheet.share("cloud.credits_start")?;
    let mut limits = Vec::new();
    let mut add = |name, gauge, rate: f64, size, burst: Option<f64>, key| {
        if rate < 1e-3 {
            return Err(sheet.refuse(key, "nothing would ever go", "write at least 1/s"));
        }
        if burst.is_some_and(|burst| burst < rate) {
            return Err(sheet.refuse(key, "the burst is slower than the rate that lasts", "raise the burst"));
        }
        let mut buckets = vec![Bucket::new(rate, size, full)];
        buckets.extend(burst.map(|burst| Bucket::new(burst, 0, full)));
        limits.push(Limit { name, gauge, buckets, account: Account::default() });
        Ok(())
    };
    let optional = |key, value: fn(&Sheet, &str) -> Result<f64, SheetError>| {
        sheet.has(key).then(|| value(sheet, key)).transpose()
    };
    let burst = optional("cloud.iops_burst", Sheet::per_second)?;
    let rate = sheet.per_second("cloud.iops")?;
    add("bucket", "credits", rate, sheet.count("cloud.credits")?, burst, "cloud.iops")?;
    if let Some(rate) = optional("cloud.rate", Sheet::rate)? {
        let burst = optional("cloud.rate_burst", Sheet::rate)?;
        let size = sheet.bytes("cloud.rate_credits")?.0;
        add("byte bucket", "byte credits", rate, size, burst, "cloud.rate")?;
    }
    Ok(limits)
}

/// The distribution of latencies that these keys give: shortest, median, 99th percentile, longest.
fn curve(sheet: &Sheet, keys: [&str; 4]) -> Result<LatencyCurve, SheetError> {
    let median = sheet.time(keys[1])?.0;
    let high = time_or(sheet, keys[2], median)?;
    let figures = [time_or(sheet, keys[0], median)?, median, high, time_or(sheet, keys[3], high)?];
    if let Some(at) = (1..4).find(|&at| figures[at] < figures[at - 1]) {
        let what = format!("it is shorter than `{}`", keys[at - 1]);
        return Err(sheet.refuse(keys[at], &what, "write min <= p50 <= p99 <= max"));
    }
    let [min, p50, p99, max] = figures.map(|figure| figure as f64);
    Ok(LatencyCurve([(0.0, min), (0.5, p50), (0.99, p99), (1.0, max)]))
}

impl Volume {
    fn admit(&mut self, sim: &mut Sim) {
        while self.free > 0
            && let Some(id) = self.waiting.pop_front()
        {
            self.free -= 1;
            sim.spend(id, Stage::Admit);
            sim.request_mut(id).scratch = sim.now();
            if sim.request(id).kind == Kind::Flush {
                self.go(id, sim);
                continue;
            }
            self.throttled.push_back(id);
            if self.throttled.len() == 1 {
                self.let_through(sim);
            }
        }
    }

    /// Lets go what the buckets let go, in order of arrival.
    fn let_through(&mut self, sim: &mut Sim) {
        let now = sim.now();
        while let Some(&id) = self.throttled.front() {
            let ready = self.limits.iter_mut().map(|limit| limit.ready(now)).max().unwrap_or(now);
            if ready > now {
                return sim.wake_at(ready, token(READY, 0));
            }
            self.throttled.pop_front();
            let (tokens, bytes) = self.cost(id, sim);
            let arrived = sim.request(id).scratch;
            for (limit, tokens) in self.limits.iter_mut().zip([tokens, bytes]) {
                limit.take(tokens, arrived, now);
            }
            sim.spend(id, Stage::Throttle);
            self.go(id, sim);
        }
    }

    /// Tokens and bytes that a request costs. A trim moves no data.
    fn cost(&mut self, id: RequestId, sim: &Sim) -> (u64, u64) {
        let request = sim.request(id);
        let (kind, offset, bytes) = (request.kind, request.offset, u64::from(request.length));
        if kind == Kind::Trim {
            return (1, 0);
        }
        let follows = self.merges && (self.last.0, self.last.1) == (kind, offset);
        let room = if follows { self.last.2 } else { 0 };
        let tokens = bytes.saturating_sub(room).div_ceil(self.unit);
        self.last = (kind, offset + bytes, room + tokens * self.unit - bytes);
        (tokens, bytes)
    }

    fn go(&mut self, id: RequestId, sim: &mut Sim) {
        let curve = &self.latency[usize::from(sim.request(id).kind != Kind::Read)];
        let latency = curve.draw(&mut self.rng);
        sim.wake_at(sim.now() + latency, token(END, id.0));
    }
}

impl Part for Volume {
    fn name(&self) -> &'static str {
        "volume"
    }

    fn arrive(&mut self, id: RequestId, sim: &mut Sim) {
        self.waiting.push_back(id);
        self.admit(sim);
    }

    fn wake(&mut self, token: u32, sim: &mut Sim) {
        if (token >> 24) as u8 == READY {
            return self.let_through(sim);
        }
        let id = RequestId(token & 0xff_ffff);
        sim.spend(id, Stage::Medium);
        self.stamps.keep(sim.request_mut(id));
        sim.finish(id);
        self.free += 1;
        self.admit(sim);
    }

    fn begin(&mut self, now: Time) {
        self.limits.iter_mut().for_each(|limit| limit.account.begin(now));
    }

    fn resources(&self, now: Time, list: &mut Vec<ResourceUse>) {
        list.extend(self.limits.iter().map(|limit| usage(limit.name, [&limit.account], now)));
    }

    fn gauges(&self, list: &mut Vec<(&'static str, f64)>) {
        for limit in self.limits.iter().filter(|limit| limit.buckets[0].size > 0) {
            list.push((limit.gauge, limit.buckets[0].level.max(0) as f64 / PARTS as f64));
        }
    }

    fn shape(&self) -> Option<Shape> {
        Some(Shape { capacity: self.capacity, block: Bytes(512) })
    }
}

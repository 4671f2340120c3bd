//! What does kyber do? Reads and writes have tokens; who is slow takes tokens from the others.
//!
//! Each domain is first come, first served, and has as many I/Os in the drive as it has tokens. Ten times a second: a domain
//! of which too many were later than its target keeps or regains its tokens, and the others lose half of theirs (Linux,
//! `block/kyber-iosched.c`, which reckons with histograms of four steps; this does with one).

use std::collections::VecDeque;

use super::{NextIo, QueuedIo, Scheduler, SchedulerSpec};
use crate::engine::Time;

/// Tokens at most: reads, writes that somebody waits for, other writes.
const DEPTHS: [u64; 3] = [256, 128, 64];
/// I/Os of a domain in a row.
const BATCHES: [u64; 3] = [16, 8, 8];
const WINDOW: u64 = 100_000_000;
/// More than this share late is too many: the 90th percentile.
const LATE: f64 = 0.1;

#[derive(Default)]
struct Domain {
    queue: VecDeque<QueuedIo>,
    tokens: u64,
    in_flight: u64,
    ended: u64,
    late: u64,
}

pub(super) struct Kyber {
    spec: SchedulerSpec,
    domains: [Domain; 3],
    current: usize,
    batched: u64,
    window_until: Time,
}

fn domain_of(entry: &QueuedIo) -> usize {
    match (entry.write, entry.sync) {
        (false, _) => 0,
        (true, true) => 1,
        (true, false) => 2,
    }
}

impl Kyber {
    pub(super) fn new(spec: SchedulerSpec) -> Kyber {
        let domain = |tokens| Domain { tokens, ..Domain::default() };
        Kyber { spec, domains: DEPTHS.map(domain), current: 0, batched: 0, window_until: WINDOW }
    }

    /// A window is over: who was late, who gives.
    fn judge(&mut self, now: Time) {
        self.window_until = now + WINDOW;
        let bad: Vec<bool> = (self.domains.iter())
            .map(|domain| domain.ended > 0 && domain.late as f64 > LATE * domain.ended as f64)
            .collect();
        let any = bad.contains(&true);
        for ((domain, most), bad) in self.domains.iter_mut().zip(DEPTHS).zip(bad) {
            domain.tokens =
                if any && !bad { (domain.tokens / 2).max(1) } else { (domain.tokens * 2).min(most) };
            (domain.ended, domain.late) = (0, 0);
        }
    }

    fn may_go(&self, index: usize) -> bool {
        let domain = &self.domains[index];
        !domain.queue.is_empty() && domain.in_flight < domain.tokens
    }
}

impl Scheduler for Kyber {
    fn add(&mut self, entry: QueuedIo, _: Time) {
        self.domains[domain_of(&entry)].queue.push_back(entry);
    }

    fn next(&mut self, _: Time) -> NextIo {
        if self.batched >= BATCHES[self.current] || !self.may_go(self.current) {
            let turn = (1..=3).map(|step| (self.current + step) % 3).find(|&index| self.may_go(index));
            let Some(next) = turn else { return NextIo::Nothing };
            (self.current, self.batched) = (next, 0);
        }
        self.batched += 1;
        let domain = &mut self.domains[self.current];
        domain.in_flight += 1;
        domain.queue.pop_front().map_or(NextIo::Nothing, |entry| NextIo::Go(entry.slot))
    }

    fn completed(&mut self, entry: &QueuedIo, now: Time) {
        let index = domain_of(entry);
        let domain = &mut self.domains[index];
        let target = if entry.write { self.spec.write_target } else { self.spec.read_target };
        domain.in_flight -= 1;
        domain.ended += 1;
        domain.late += u64::from(now - entry.since > target);
        if now >= self.window_until {
            self.judge(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::entry;
    use super::*;

    #[test]
    fn late_reads_take_tokens_from_writes() {
        let mut kyber = Kyber::new(SchedulerSpec::plain("kyber", false));
        for round in 1..=3 {
            let read = entry(round, 0, false, 0);
            kyber.add(read, 0);
            assert_eq!(kyber.next(0), NextIo::Go(read.slot));
            kyber.completed(&read, round * WINDOW);
        }
        assert_eq!(kyber.domains.each_ref().map(|domain| domain.tokens), [256, 16, 8]);
        let read = entry(4, 0, false, 4 * WINDOW);
        kyber.add(read, 4 * WINDOW);
        kyber.next(4 * WINDOW);
        kyber.completed(&read, 4 * WINDOW + 1000);
        assert_eq!(kyber.domains[1].tokens, 32);
    }

    #[test]
    fn no_domain_has_more_in_the_drive_than_tokens() {
        let mut kyber = Kyber::new(SchedulerSpec::plain("kyber", false));
        kyber.domains[1].tokens = 3;
        (0..10).for_each(|number| kyber.add(entry(number, 0, true, 0), 0));
        assert_eq!((0..10).filter(|_| kyber.next(0) != NextIo::Nothing).count(), 3);
        kyber.completed(&entry(0, 0, true, 0), 5);
        assert_eq!((kyber.next(5), kyber.next(5)), (NextIo::Go(3), NextIo::Nothing));
    }
}

//! How busy was a resource?
//!
//! A resource serves one request at a time. Its account needs no events of its own: what is booked beyond the present is
//! one stretch without gaps, so that the busy time until any moment is what was booked less what lies behind it.

use iostack_model::ResourceUse;

use super::Time;

/// Account of a resource since [`Account::begin`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    from: Time,
    /// End of the last service that was booked.
    until: Time,
    busy: u64,
    visits: u64,
    /// Sum of the waits, ns; by Little's law also the integral of the queue's length.
    wait: u64,
}

impl Account {
    /// Books a service from `start` to `finish` of something that came at `arrived`. Services do not overlap.
    #[inline]
    pub fn book(&mut self, arrived: Time, start: Time, finish: Time) {
        debug_assert!(arrived <= start && start <= finish && start >= self.until);
        self.wait += start - arrived;
        self.busy += finish - start;
        self.visits += 1;
        self.until = finish;
    }

    /// The service that was booked last goes on until `finish`: what follows without a gap was not known before.
    #[inline]
    pub fn extend(&mut self, finish: Time) {
        debug_assert!(finish >= self.until);
        self.busy += finish - self.until;
        self.until = finish;
    }

    /// The service that was booked last ends at `at` instead: it was suspended. The rest is booked anew.
    pub fn cut(&mut self, at: Time) {
        assert!(at <= self.until, "a service that ended at {} cannot be cut at {at}", self.until);
        self.busy -= self.until - at;
        self.until = at;
    }

    /// Measuring starts: forgets what was, except for the rest of what is being served.
    pub fn begin(&mut self, now: Time) {
        *self = Account {
            from: now,
            until: self.until,
            busy: self.until.saturating_sub(now),
            ..Account::default()
        };
    }

    /// Busy time until `now`, ns.
    pub fn busy(&self, now: Time) -> u64 {
        let busy = self.busy - self.until.saturating_sub(now).min(self.busy);
        assert!(busy <= now - self.from, "a resource was busy for {busy} of {} ns", now - self.from);
        busy
    }

    /// All that was booked since [`Account::begin`], also beyond the present, ns.
    pub fn booked(&self) -> u64 {
        self.busy
    }

    /// End of what was booked last.
    #[inline]
    pub fn until(&self) -> Time {
        self.until
    }
}

/// A resource that serves in order of arrival: its next free moment is all it needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// Account of its services.
    pub account: Account,
}

impl Server {
    /// Something arrives at `now` and takes `service` ns; when it is through.
    #[inline]
    pub fn serve(&mut self, now: Time, service: u64) -> Time {
        let start = now.max(self.account.until);
        let finish = start + service;
        self.account.book(now, start, finish);
        finish
    }

    /// The moment from which on it is free.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.account.until
    }
}

/// The accounts of resources that are alike, as one line of the report.
pub fn usage<'a>(name: &str, accounts: impl IntoIterator<Item = &'a Account>, now: Time) -> ResourceUse {
    let (mut count, mut busy, mut busiest, mut visits, mut wait, mut window) = (0u32, 0, 0, 0, 0, 0);
    for account in accounts {
        let each = account.busy(now);
        count += 1;
        busy += each;
        busiest = busiest.max(each);
        visits += account.visits;
        wait += account.wait;
        window = now - account.from;
    }
    let (span, uses) = (window.max(1) as f64, visits.max(1) as f64);
    ResourceUse {
        name: name.to_owned(),
        count,
        busy: busy as f64 / span / f64::from(count.max(1)),
        busiest: busiest as f64 / span,
        visits,
        service_ns: busy as f64 / uses,
        wait_ns: wait as f64 / uses,
        waiting: wait as f64 / span,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_serves_in_order_and_knows_its_waits() {
        let mut server = Server::default();
        assert_eq!([server.serve(10, 100), server.serve(20, 100), server.serve(500, 7)], [110, 210, 507]);
        let account = &server.account;
        assert_eq!((account.visits, account.wait, account.busy(507)), (3, 90, 207));
    }

    #[test]
    fn what_is_booked_beyond_the_present_does_not_count_yet() {
        let mut server = Server::default();
        server.serve(0, 100);
        server.serve(0, 100);
        assert_eq!(server.account.busy(150), 150);
        server.account.begin(150);
        assert_eq!((server.account.busy(150), server.account.busy(300)), (0, 50));
    }

    #[test]
    fn a_suspended_service_counts_what_it_had() {
        let mut account = Account::default();
        account.book(0, 0, 1000);
        account.cut(300);
        account.book(300, 300, 350);
        account.book(300, 350, 1050);
        assert_eq!((account.busy(1050), account.visits), (1050, 3));
    }
}

//! How does data get in and out? Link, firmware cores and channels: each serves in order of arrival.

use crate::devices::parameter::Pace;
use crate::engine::{Account, Server, Time};

/// Time of a transfer: a fixed one, and that of its bytes.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    rate: Option<Pace>,
    pub(super) command: u64,
    /// The size that nearly all have, and its time without the command.
    page: (u64, u64),
}

impl Transfer {
    /// A transfer at this rate; without one, bytes take no time.
    pub(super) fn new(rate: Option<Pace>, command: u64, page: u64) -> Transfer {
        let time = rate.map_or(0, |rate| rate.time(page));
        Transfer { rate, command, page: (page, time) }
    }

    /// ns of data alone.
    #[inline]
    pub(super) fn data(&self, bytes: u64) -> u64 {
        if bytes == self.page.0 { self.page.1 } else { self.rate.map_or(0, |rate| rate.time(bytes)) }
    }

    /// ns of a transfer with its command.
    #[inline]
    pub(super) fn time(&self, bytes: u64) -> u64 {
        self.command + self.data(bytes)
    }
}

/// The link between host and device: one lane for both ways, or one for each.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) transfer: Transfer,
    /// A delay of each command that keeps nothing busy.
    pub(super) latency: u64,
    down: Server,
    /// `None`: half duplex.
    up: Option<Server>,
}

impl Link {
    pub(super) fn new(transfer: Transfer, latency: u64, full_duplex: bool) -> Link {
        Link { transfer, latency, down: Server::default(), up: full_duplex.then(Server::default) }
    }

    /// A command and its data come from the host: when they are there.
    #[inline]
    pub(super) fn down(&mut self, now: Time, bytes: u64) -> Time {
        match self.transfer.time(bytes) {
            0 => now + self.latency,
            time => self.down.serve(now, time) + self.latency,
        }
    }

    /// Data goes to the host, the first of a command (`with_command`) or more of it: when it is there.
    #[inline]
    pub(super) fn up(&mut self, now: Time, bytes: u64, with_command: bool) -> Time {
        let fixed = if with_command { self.transfer.command } else { 0 };
        match fixed + self.transfer.data(bytes) {
            0 => now + self.latency,
            time => self.up.as_mut().unwrap_or(&mut self.down).serve(now, time) + self.latency,
        }
    }

    pub(super) fn accounts(&self) -> impl Iterator<Item = &Account> {
        std::iter::once(&self.down).chain(&self.up).map(|server| &server.account)
    }

    pub(super) fn begin(&mut self, now: Time) {
        self.down.account.begin(now);
        self.up.iter_mut().for_each(|server| server.account.begin(now));
    }
}

/// The firmware's cores: one queue, the first that is free takes the next.
#[derive(Clone, Debug)]
pub(super) struct Cores(Vec<Server>);

impl Cores {
    pub(super) fn new(count: usize) -> Cores {
        Cores(vec![Server::default(); count])
    }

    /// Work of `service` ns arrives: when it is done.
    #[inline]
    pub(super) fn serve(&mut self, now: Time, service: u64) -> Time {
        if service == 0 {
            return now;
        }
        let (mut first, mut least) = (0, Time::MAX);
        for (index, core) in self.0.iter().enumerate() {
            (first, least) = if core.free_at() < least { (index, core.free_at()) } else { (first, least) };
        }
        self.0[first].serve(now, service)
    }

    pub(super) fn accounts(&self) -> impl Iterator<Item = &Account> {
        self.0.iter().map(|server| &server.account)
    }

    pub(super) fn begin(&mut self, now: Time) {
        self.0.iter_mut().for_each(|server| server.account.begin(now));
    }
}

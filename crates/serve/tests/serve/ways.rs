//! Each way to a disk, held to the oracle: in virtual time, in real time, and through two connections of NBD.

use std::sync::mpsc::{Receiver, Sender, channel};

use iostack_model::Bytes;
use iostack_serve::{Disk, Drive, Reply, Server, Stepped, Store};
use iostack_sim::sheet::Sheet;
use iostack_workload::Rng;

use crate::nbd::{Client, Export, export_of};
use crate::oracle::{
    Answer, CutTally, CutWay, OracleRequest, SECTOR, SECTORS, What, assert_all, seeds, trial,
};
use crate::{read, reading, serve, zero_of};

/// A drive of the oracle's sectors that answers after some time.
fn zero(latency: &str) -> Sheet {
    zero_of(latency, (SECTORS * SECTOR) as u64)
}

fn memory(drive: &Drive) -> Store {
    Store::memory(drive.shape().capacity).expect("there is memory").volatile()
}

fn ask(disk: &Disk, op: &OracleRequest, data: &[u8], reply: Reply) {
    let (offset, length) = op.bytes();
    match op.what {
        What::Write => disk.write(offset, data, op.through, reply),
        What::Trim => disk.trim(offset, length, op.through, reply),
        What::Zero => disk.write_zeros(offset, length, op.through, reply),
        What::Flush => disk.flush(reply),
    }
}

struct Ear(Sender<Answer>, Receiver<Answer>);

impl Ear {
    fn new() -> Ear {
        let (tell, told) = channel();
        Ear(tell, told)
    }

    fn reply(&self, id: usize) -> Reply {
        let tell = self.0.clone();
        Box::new(move |answer| tell.send((id, answer.is_ok())).expect("the test waits"))
    }
}

/// Drive under a clock that the test moves, as the lab does.
struct ToldDrive {
    stepped: Stepped,
    now: u64,
    ear: Ear,
}

impl CutWay for ToldDrive {
    fn ask(&mut self, id: usize, op: &OracleRequest, data: &[u8]) {
        ask(self.stepped.disk(), op, data, self.ear.reply(id));
    }

    fn go_on(&mut self, random: &mut Rng) -> Vec<Answer> {
        self.now += random.below(400_000);
        self.stepped.set(self.now);
        self.stepped.pass();
        self.ear.1.try_iter().collect()
    }

    fn cut(&mut self, seed: u64) -> Vec<Answer> {
        self.stepped.cut(seed).expect("the store is brought back");
        self.now = 0;
        self.stepped.set(0);
        self.ear.1.try_iter().collect()
    }

    fn content(&mut self) -> Vec<u8> {
        let told = reading(self.stepped.disk(), 0, SECTORS * SECTOR);
        self.now += 60_000_000_000;
        self.stepped.pass();
        self.stepped.set(self.now);
        self.stepped.pass();
        told.try_recv().expect("a minute is enough").expect("it is read")
    }
}

#[test]
fn in_virtual_time_a_cut_leaves_what_it_must_and_nothing_that_it_may_not() {
    let loaded = |name, keys: &[&str]| {
        let changes: Vec<_> = keys.iter().map(|key| ((*key).to_owned(), "8KiB".to_owned())).collect();
        Sheet::load(name, &changes).expect("it is one")
    };
    let x25e = loaded("x25e", &["flash.mapping", "flash.page"]);
    for (sheet, atom) in [(zero("80us"), 4096), (loaded("wd5000aaks", &[]), 512), (x25e, 8192)] {
        let mut tally = CutTally::new();
        for seed in seeds(0..150) {
            let stack = iostack_serve::layers::parse("delay(300us, 30%) | x").expect("layers");
            let drive = Drive::open(&sheet, seed).expect("a sheet");
            assert_eq!(drive.atom(), atom);
            let store = memory(&drive);
            let stepped = Stepped::new(drive, store, stack.layers);
            trial(seed, &mut ToldDrive { stepped, now: 0, ear: Ear::new() }, atom, &mut tally);
        }
        assert_all(&tally);
    }
}

/// Drive in this process, at the wall's time.
struct Live {
    server: Server,
    ear: Ear,
    waiting: usize,
}

fn live() -> Server {
    let sheet = zero("20us");
    let store = memory(&Drive::open(&sheet, 1).expect("a sheet"));
    serve(&sheet, store, "delay(200us, 30%) | zero")
}

impl CutWay for Live {
    fn ask(&mut self, id: usize, op: &OracleRequest, data: &[u8]) {
        self.waiting += 1;
        ask(&self.server.disk(), op, data, self.ear.reply(id));
    }

    fn go_on(&mut self, _: &mut Rng) -> Vec<Answer> {
        let told = self.ear.1.iter().take(self.waiting.min(1)).collect::<Vec<_>>();
        self.waiting -= told.len();
        told
    }

    fn cut(&mut self, seed: u64) -> Vec<Answer> {
        self.server.disk().cut(seed).expect("the store is brought back");
        let told = self.ear.1.iter().take(std::mem::take(&mut self.waiting)).collect();
        self.server.disk().power_on();
        told
    }

    fn content(&mut self) -> Vec<u8> {
        read(&self.server.disk(), 0, SECTORS * SECTOR).expect("there is power")
    }
}

#[test]
fn in_real_time_a_cut_leaves_what_it_must_and_nothing_that_it_may_not() {
    // What is lost hangs on the machine's haste here.
    let mut tally = CutTally::new();
    for seed in seeds(0..100) {
        trial(seed, &mut Live { server: live(), ear: Ear::new(), waiting: 0 }, 4096, &mut tally);
    }
}

/// Two clients: what one was answered is safe when the other's flush is.
struct Wire {
    export: Export,
    clients: [Client; 2],
    /// Client, request and sectors of each that waits.
    waiting: Vec<(usize, usize, OracleRequest)>,
    turn: usize,
    early: Vec<Answer>,
}

impl Wire {
    fn new(name: &str) -> Wire {
        let export = export_of(name, live());
        let clients = [Client::go(&export.socket), Client::go(&export.socket)];
        Wire { export, clients, waiting: Vec::new(), turn: 0, early: Vec::new() }
    }

    fn hear(&mut self, client: usize) {
        let (error, cookie) = self.clients[client].told();
        self.waiting.retain(|(_, id, _)| *id as u64 != cookie);
        self.early.push((cookie as usize, error == 0));
    }
}

impl CutWay for Wire {
    fn ask(&mut self, id: usize, op: &OracleRequest, data: &[u8]) {
        self.turn = 1 - self.turn;
        let meets =
            |other: &OracleRequest| other.first < op.first + op.count && op.first < other.first + other.count;
        // Nobody says which of two clients comes first.
        while self.waiting.iter().any(|(whose, _, other)| *whose != self.turn && meets(other)) {
            self.hear(1 - self.turn);
        }
        let command = match op.what {
            What::Write => 1,
            What::Flush => 3,
            What::Trim => 4,
            What::Zero => 6,
        };
        let (offset, length) = if op.what == What::Flush { (0, 0) } else { op.bytes() };
        let flags = u16::from(op.through) | u16::from(op.what == What::Zero) << 1;
        self.clients[self.turn].ask((flags, command), id as u64, (offset, length as u32), data);
        self.waiting.push((self.turn, id, op.clone()));
    }

    fn go_on(&mut self, random: &mut Rng) -> Vec<Answer> {
        if !self.waiting.is_empty() {
            let whose = self.waiting[random.below(self.waiting.len() as u64) as usize].0;
            self.hear(whose);
        }
        std::mem::take(&mut self.early)
    }

    fn cut(&mut self, seed: u64) -> Vec<Answer> {
        let disk = self.export.server.disk();
        disk.cut(seed).expect("the store is brought back");
        while let Some(&(whose, ..)) = self.waiting.first() {
            self.hear(whose);
        }
        disk.power_on();
        std::mem::take(&mut self.early)
    }

    fn content(&mut self) -> Vec<u8> {
        self.clients[0].ask((1, 0), 1 << 40, (0, (SECTORS * SECTOR) as u32), b"");
        assert_eq!(self.clients[0].told(), (0, 1 << 40));
        self.clients[0].take(SECTORS * SECTOR)
    }
}

#[test]
fn through_two_connections_a_cut_leaves_what_it_must_and_nothing_that_it_may_not() {
    let mut tally = CutTally::new();
    for seed in seeds(0..100) {
        trial(seed, &mut Wire::new("nbd-oracle"), 4096, &mut tally);
    }
}

#[test]
fn each_length_to_1_mib_at_each_alignment_is_safe_when_it_is_answered_through() {
    let server = serve(&crate::zero("0us"), crate::memory().volatile(), "zero");
    let disk = server.disk();
    for (number, count) in (0..12).flat_map(|power| [1_u64 << power, (1 << power) + 1]).enumerate() {
        for first in 0..9 {
            let content = (number as u64 * 16 + first + 1).to_le_bytes().repeat(count as usize * 64);
            crate::done(|reply| disk.write(first * 512, &content, true, reply)).expect("it is written");
            disk.cut(first).expect("the store is brought back");
            disk.power_on();
            assert!(read(&disk, first * 512, content.len()) == Ok(content), "{count} sectors at {first}");
        }
    }
    assert_eq!(disk.capacity(), Bytes::mib(16).0);
}

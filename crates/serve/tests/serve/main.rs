//! A served drive: its times are the model's, its data are real, and nobody can make it lie or fall.

mod disk;
mod durable;
mod fuse;
mod layers;
mod nbd;
mod oracle;
mod stepped;
mod store;
mod ways;

use std::sync::mpsc::{Receiver, channel};

use iostack_model::Bytes;
use iostack_serve::{Disk, Drive, Errno, Server, Store};
use iostack_sim::sheet::Sheet;

const MIB: u64 = 1 << 20;

/// A drive of 16 MiB that answers after this.
fn zero(latency: &str) -> Sheet {
    zero_of(latency, 16 * MIB)
}

fn zero_of(latency: &str, bytes: u64) -> Sheet {
    let capacity = format!("{bytes}B");
    Sheet::from_values("zero", &[("zero.latency", latency), ("zero.capacity", &capacity)]).expect("a kind")
}

fn memory() -> Store {
    Store::memory(Bytes(16 * MIB)).expect("there is memory")
}

/// A served drive with layers over it: `error(EIO) | x`.
fn serve(sheet: &Sheet, store: Store, typed: &str) -> Server {
    let stack = iostack_serve::layers::parse(typed).expect("layers");
    Server::start(Drive::open(sheet, 1).expect("a sheet"), store, stack.layers).expect("a thread")
}

/// Disk of a served drive of 16 MiB in memory.
fn disk_of(latency: &str, typed: &str) -> Disk {
    serve(&zero(latency), memory(), typed).disk()
}

type ReadAnswer = Result<Vec<u8>, Errno>;

fn reading(disk: &Disk, offset: u64, length: usize) -> Receiver<ReadAnswer> {
    let (tell, told) = channel();
    disk.read(offset, vec![0; length], move |answer| tell.send(answer).expect("the test waits"));
    told
}

fn read(disk: &Disk, offset: u64, length: usize) -> ReadAnswer {
    reading(disk, offset, length).recv().expect("it is answered")
}

fn asking(ask: impl FnOnce(iostack_serve::Reply)) -> Receiver<Result<(), Errno>> {
    let (tell, told) = channel();
    ask(Box::new(move |answer| tell.send(answer).expect("the test waits")));
    told
}

fn done(ask: impl FnOnce(iostack_serve::Reply)) -> Result<(), Errno> {
    asking(ask).recv().expect("it is answered")
}

fn write(disk: &Disk, offset: u64, data: &[u8]) -> Result<(), Errno> {
    done(|reply| disk.write(offset, data, false, reply))
}

fn flush(disk: &Disk) -> Result<(), Errno> {
    done(|reply| disk.flush(reply))
}

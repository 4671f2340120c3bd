//! The other end of the guest's `sim_disk`: what its driver asks, whoever answers.
//!
//! ```text
//!   guest: sim_disk ──mailbox──► NOP ──plugin──► a byte ──► ring ──► Drives
//!   its memory is a file of ours ◄──────── data, completions ──┘
//!
//!   guest: this program ─────► NOP ──plugin──► a byte ──► order ─► Drives
//!   its memory ◄──────────────────── what it is to do next ──┘
//! ```
//!
//! The guest stands still from its NOP to our byte, and so do its clocks: what happens here takes none of its time. The
//! layout is that of `kernel/sim_disk/mailbox.h`.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::memory::Memory;
use crate::layout::{ADDRESS, BYTES, ORDER};

/// Bytes of an order, with its length.
const ORDER_BYTES: u64 = 65536;
/// The byte of who asks for an order (`DOOR_ORDER` of the plugin).
const ASKS_FOR_ORDER: u8 = 1;

const ANSWERED: u64 = 0x786f_426c_6961_4d20;
const COMPLETIONS_MOST: usize = 256;
const REPLY: u64 = 16;
const COMPLETIONS: u64 = 40;
const REQUESTS: u64 = COMPLETIONS + COMPLETIONS_MOST as u64 * 8;
/// Bytes of a request with data, at most: more than the driver ever asks.
const LENGTH_MOST: u64 = 16 << 20;
/// u64 of a request before its places.
const REQUEST_WORDS: usize = 4;

/// Disks that the driver has room for, `DISKS_MAX` of `sim_disk.c`.
pub const DISKS_MOST: usize = 8;

/// A disk of the guest's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskShape {
    /// Capacity of the disk, bytes.
    pub capacity: u64,
    /// Bytes of its logical block.
    pub block: u32,
    /// Bytes that a power cut leaves whole.
    pub atom: u64,
    /// It is a disk that rotates.
    pub rotates: bool,
}

/// Operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Data come back.
    Read,
    /// Data are given.
    Write,
    /// The range may be forgotten.
    Trim,
    /// The range is zeros.
    Zero,
    /// Earlier writes become safe.
    Flush,
}

/// A request of the guest's.
#[derive(Debug)]
pub struct DriveRequest {
    /// Number of the disk, from 0.
    pub disk: u32,
    /// Its name until it is through, of this disk.
    pub tag: u32,
    /// Operation that is asked for.
    pub operation: Operation,
    /// It is safe when it is through (FUA).
    pub through: bool,
    /// First byte of the range.
    pub offset: u64,
    /// Length of the range, bytes.
    pub length: u64,
    /// Data of a write.
    pub data: Vec<u8>,
}

/// A request that is through.
#[derive(Debug)]
pub struct Through {
    /// Disk of the request.
    pub disk: u32,
    /// Tag of the request.
    pub tag: u32,
    /// Moment at which it was through.
    pub at: u64,
    /// Data of a read, nothing of others; or an error number.
    pub answer: Result<Vec<u8>, i32>,
}

/// Drives that answer, also where there is not one. Moments are the guest's, ns since it booted; none passes while one of
/// these runs.
pub trait Drives: Send {
    /// Shape of each disk.
    fn shapes(&self) -> Vec<DiskShape>;

    /// Fills the first disk from this file, before the guest starts.
    fn hold(&mut self, image: &Path) -> io::Result<()>;

    /// A measurement begins.
    fn begin(&mut self, now: u64);

    /// A request has come.
    fn ask(&mut self, now: u64, request: DriveRequest);

    /// All that is through by now.
    fn through(&mut self, now: u64, into: &mut VecDeque<Through>);

    /// The driver heard of one of this disk that went well, so much after it was through.
    fn heard(&mut self, disk: u32, late: u64);

    /// Moment at which something is due next.
    fn due(&mut self) -> Option<u64>;

    /// The power is gone by `now`, and with it the machine.
    fn is_cut(&mut self, now: u64) -> io::Result<bool>;

    /// Waits for the guest's next order; empty when it is to end.
    fn order(&mut self) -> Vec<u8> {
        Vec::new()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    ToTheEnd,
    UntilCut,
}

/// A place of a request's data: physical address, bytes.
type DataPlaces = Vec<(u64, u64)>;

/// Answers doorbells until the emulator ends.
pub(crate) struct Mailbox<'a> {
    memory: Memory,
    drives: &'a mut dyn Drives,
    /// Places for the data of reads.
    reads: HashMap<(u32, u32), DataPlaces>,
    through: VecDeque<Through>,
    disks: usize,
}

impl<'a> Mailbox<'a> {
    pub(crate) fn new(memory: Memory, drives: &'a mut dyn Drives) -> Mailbox<'a> {
        let disks = drives.shapes().len();
        Mailbox { memory, drives, reads: HashMap::new(), through: VecDeque::new(), disks }
    }

    /// Each byte is a ring; one goes back, as long as there is power.
    pub(crate) fn serve(mut self, mut door: UnixStream) -> io::Result<Served> {
        let mut byte = [0];
        while door.read(&mut byte)? == 1 {
            if byte[0] == ASKS_FOR_ORDER {
                self.order()?;
            } else if self.ring()? == Served::UntilCut {
                return Ok(Served::UntilCut);
            }
            door.write_all(&byte)?;
        }
        Ok(Served::ToTheEnd)
    }

    fn order(&mut self) -> io::Result<()> {
        let order = self.drives.order();
        let length = order.len() as u64;
        if length > ORDER_BYTES - 8 {
            return Err(io::Error::other(format!(
                "an order of {length} bytes is longer than the guest reads"
            )));
        }
        self.memory.write(ORDER + 8, &order)?;
        self.memory.write(ORDER, &length.to_le_bytes())
    }

    fn ring(&mut self) -> io::Result<Served> {
        let head = self.memory.words(ADDRESS, 2)?;
        let (now, takes, words) = (head[0], head[1] as u32 != 0, (head[1] >> 32) as usize);
        let asked = self.memory.words(ADDRESS + REQUESTS, words)?;
        let mut rest = &asked[..];
        while !rest.is_empty() {
            rest = self.take(now, rest)?;
        }
        self.drives.through(now, &mut self.through);
        if self.drives.is_cut(now)? {
            return Ok(Served::UntilCut);
        }
        let count = if takes { self.hand_over(now)? } else { 0 };
        let next = if self.through.is_empty() { self.drives.due().unwrap_or(u64::MAX) } else { now };
        let reply = [ANSWERED, next, count].map(u64::to_le_bytes).concat();
        self.memory.write(ADDRESS + REPLY, &reply).map(|()| Served::ToTheEnd)
    }

    /// The first of the requests; gives the others.
    fn take<'w>(&mut self, now: u64, words: &'w [u64]) -> io::Result<&'w [u64]> {
        let broken = || io::Error::other("the guest's driver wrote a request that is none");
        let (head, rest) = words.split_at_checked(REQUEST_WORDS).ok_or_else(broken)?;
        let operation = match head[0] & 0xFFFF {
            1 => Operation::Read,
            2 => Operation::Write,
            3 => Operation::Trim,
            4 => Operation::Zero,
            5 => Operation::Flush,
            6 => {
                self.drives.begin(now);
                return Ok(rest);
            }
            _ => return Err(broken()),
        };
        let (disk, tag, places) = ((head[0] >> 32) as u32, head[1] as u32, (head[1] >> 32) as usize);
        let (listed, rest) = rest.split_at_checked(places * 2).ok_or_else(broken)?;
        let places: DataPlaces = listed.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        let sum = places.iter().fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes));
        let with_data = matches!(operation, Operation::Read | Operation::Write);
        if disk as usize >= self.disks || with_data && (sum != head[3] || sum > LENGTH_MOST) {
            return Err(broken());
        }
        let mut data = Vec::new();
        if operation == Operation::Write {
            data.resize(head[3] as usize, 0);
            let mut into = &mut data[..];
            for &(address, bytes) in &places {
                let (here, more) = into.split_at_mut(bytes as usize);
                self.memory.read(address, here)?;
                into = more;
            }
        } else if operation == Operation::Read {
            self.reads.insert((disk, tag), places);
        }
        let (through, offset, length) = (head[0] >> 16 & 0xFFFF != 0, head[2], head[3]);
        self.drives.ask(now, DriveRequest { disk, tag, operation, through, offset, length, data });
        Ok(rest)
    }

    /// Tells the driver what is through, as much as the mailbox holds; how many that were.
    fn hand_over(&mut self, now: u64) -> io::Result<u64> {
        let lacking = || io::Error::other("a drive answered a read with less than was asked; this is a bug");
        let count = self.through.len().min(COMPLETIONS_MOST);
        let mut told = Vec::with_capacity(count * 8);
        for one in self.through.drain(..count) {
            let places = self.reads.remove(&(one.disk, one.tag)).unwrap_or_default();
            let error = match one.answer {
                Ok(data) => {
                    self.drives.heard(one.disk, now.saturating_sub(one.at));
                    let mut rest = &data[..];
                    for (address, bytes) in places {
                        let (here, more) = rest.split_at_checked(bytes as usize).ok_or_else(lacking)?;
                        self.memory.write(address, here)?;
                        rest = more;
                    }
                    0
                }
                Err(error) => error as u16,
            };
            told.extend((one.disk as u16).to_le_bytes());
            told.extend(error.to_le_bytes());
            told.extend(one.tag.to_le_bytes());
        }
        self.memory.write(ADDRESS + COMPLETIONS, &told)?;
        Ok(count as u64)
    }
}

/// Words for the kernel that keep it out of the mailbox.
pub(crate) fn reserved() -> String {
    format!(" memmap={:#x}${ADDRESS:#x}", BYTES + ORDER_BYTES)
}

/// Parameters of the driver.
pub(crate) fn options(shapes: &[DiskShape], depth: Option<u32>) -> String {
    let list = |of: &dyn Fn(&DiskShape) -> u64| {
        shapes.iter().map(|shape| of(shape).to_string()).collect::<Vec<_>>().join(",")
    };
    let depth = depth.map(|depth| format!(" queue_depth={depth}")).unwrap_or_default();
    format!(
        "mailbox={ADDRESS} capacity={} block={} rotates={}{depth}",
        list(&|shape| shape.capacity),
        list(&|shape| u64::from(shape.block)),
        list(&|shape| u64::from(shape.rotates)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_host::memory_file;

    /// Remembers what it is asked, and is through with it when it is told.
    #[derive(Default)]
    struct Recorded {
        asked: Vec<(u64, DriveRequest)>,
        ready: Vec<Through>,
        began: Vec<u64>,
        late: Vec<u64>,
        cut: Option<u64>,
    }

    impl Drives for Recorded {
        fn shapes(&self) -> Vec<DiskShape> {
            vec![DiskShape { capacity: 1 << 30, block: 512, atom: 4096, rotates: true }]
        }

        fn hold(&mut self, _: &Path) -> io::Result<()> {
            Ok(())
        }

        fn begin(&mut self, now: u64) {
            self.began.push(now);
        }

        fn ask(&mut self, now: u64, request: DriveRequest) {
            self.asked.push((now, request));
        }

        fn through(&mut self, _: u64, into: &mut VecDeque<Through>) {
            into.extend(self.ready.drain(..));
        }

        fn heard(&mut self, _: u32, late: u64) {
            self.late.push(late);
        }

        fn due(&mut self) -> Option<u64> {
            None
        }

        fn is_cut(&mut self, now: u64) -> io::Result<bool> {
            Ok(self.cut.is_some_and(|cut| cut <= now))
        }
    }

    /// 256 MiB, of which pages are there when they are touched.
    fn memory() -> Memory {
        let file = memory_file(c"test").expect("memory");
        file.set_len(256 << 20).expect("it grows");
        Memory::new(file, 256 << 20)
    }

    /// Writes to the mailbox as the driver does: now, whether it takes what is through, and requests of u64.
    fn put(memory: &Memory, now: u64, takes: bool, requests: &[u64]) {
        let head = [now, u64::from(takes) | (requests.len() as u64) << 32].map(u64::to_le_bytes).concat();
        memory.write(ADDRESS, &head).expect("it is there");
        let requests: Vec<u8> = requests.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.write(ADDRESS + REQUESTS, &requests).expect("it is there");
    }

    #[test]
    fn data_of_several_places_are_one_and_are_put_back_in_their_places() {
        let (memory, mut drives) = (memory(), Recorded::default());
        memory.write(0x1000, b"abcd").expect("it is there");
        memory.write(0x5000, b"efgh").expect("it is there");
        // A write through of two places, a read into one, a mark.
        let write = [2 | 1 << 16, 7 | 2 << 32, 4096, 8, 0x1000, 4, 0x5000, 4];
        let read = [1, 9 | 1 << 32, 0, 3, 0x9000, 3];
        put(&memory, 77, false, &[&write[..], &read, &[6, 0, 0, 0]].concat());
        let mut mailbox = Mailbox::new(memory, &mut drives);
        mailbox.ring().expect("it is answered");
        assert_eq!(mailbox.memory.words(ADDRESS, 5).expect("it is there")[2..], [ANSWERED, u64::MAX, 0]);
        let memory = mailbox.memory;
        let reads = mailbox.reads;
        assert_eq!(drives.began, [77]);
        let [(77, first), (77, second)] = &drives.asked[..] else { panic!("{:?}", drives.asked) };
        assert_eq!((first.operation, first.through, first.tag), (Operation::Write, true, 7));
        assert_eq!((&first.data[..], first.offset, first.length), (&b"abcdefgh"[..], 4096, 8));
        assert_eq!((second.operation, second.through, second.tag), (Operation::Read, false, 9));

        drives.ready.push(Through { disk: 0, tag: 9, at: 95, answer: Ok(b"xyz".to_vec()) });
        drives.ready.push(Through { disk: 0, tag: 7, at: 96, answer: Err(5) });
        put(&memory, 99, false, &[]);
        let mut mailbox = Mailbox { memory, drives: &mut drives, reads, through: VecDeque::new(), disks: 1 };
        mailbox.ring().expect("it is answered");
        // They are kept until the driver takes them, which it is to do at once.
        assert_eq!(mailbox.memory.words(ADDRESS, 5).expect("it is there")[2..], [ANSWERED, 99, 0]);
        put(&mailbox.memory, 100, true, &[]);
        mailbox.ring().expect("it is answered");
        assert_eq!(mailbox.memory.words(ADDRESS, 5).expect("it is there")[2..], [ANSWERED, u64::MAX, 2]);
        let told = mailbox.memory.words(ADDRESS + COMPLETIONS, 2).expect("it is there");
        assert_eq!(told, [9 << 32, 5 << 16 | 7 << 32]);
        let mut read = [0; 3];
        mailbox.memory.read(0x9000, &mut read).expect("it is there");
        assert_eq!(&read, b"xyz");
        assert_eq!(drives.late, [5], "when it is handed over, and not of one that failed");
    }

    #[test]
    fn the_mailbox_holds_256_completions_and_the_257th_comes_with_the_next_ring() {
        assert_eq!(REQUESTS, 40 + 256 * 8, "as mailbox.h has it");
        let (memory, mut drives) = (memory(), Recorded::default());
        let one = |tag| Through { disk: 0, tag, at: 1, answer: Err(5) };
        drives.ready.extend((0..257).map(one));
        put(&memory, 7, true, &[5, 300, 0, 0]);
        let asked = memory.words(ADDRESS + REQUESTS, 4).expect("it is there");
        let mut mailbox = Mailbox::new(memory, &mut drives);
        mailbox.ring().expect("it is answered");
        let reply = |mailbox: &Mailbox<'_>| mailbox.memory.words(ADDRESS, 5).expect("it is there");
        assert_eq!(reply(&mailbox)[2..], [ANSWERED, 7, 256], "more is there at once");
        assert_eq!(
            mailbox.memory.words(ADDRESS + REQUESTS, 4).expect("it is there"),
            asked,
            "none lies over it"
        );
        put(&mailbox.memory, 8, true, &[]);
        mailbox.ring().expect("it is answered");
        assert_eq!(reply(&mailbox)[2..], [ANSWERED, u64::MAX, 1]);
        let last = mailbox.memory.words(ADDRESS + COMPLETIONS, 1).expect("it is there");
        assert_eq!(last, [5 << 16 | 256 << 32]);
    }

    #[test]
    fn a_request_that_is_none_ends_it() {
        let long = LENGTH_MOST + 1;
        for words in [
            &[8, 0, 0, 0][..],
            &[1, 0, 0],
            &[2, 1 << 32, 0, 8, 0x1000, 4],
            &[1, u64::MAX, 0, 0],
            &[1, 2 << 32, 0, 3, 0, u64::MAX, 0, 4],
            &[2, 1 << 32, 0, long, 0, long],
            &[5 | 1 << 32, 0, 0, 0],
        ] {
            let (memory, mut drives) = (memory(), Recorded::default());
            put(&memory, 1, false, words);
            let mut mailbox = Mailbox::new(memory, &mut drives);
            assert!(mailbox.ring().is_err(), "{words:?}");
        }
    }

    #[test]
    fn who_rings_when_the_power_is_gone_is_not_answered() {
        let (memory, mut drives) = (memory(), Recorded { cut: Some(50), ..Recorded::default() });
        let (mut theirs, ours) = UnixStream::pair().expect("two ends");
        put(&memory, 49, false, &[5, 0, 0, 0]);
        let serving = Mailbox::new(memory.again(), &mut drives);
        let served = std::thread::scope(|scope| {
            let serving = scope.spawn(|| serving.serve(ours));
            let mut byte = [7];
            theirs.write_all(&byte).expect("it is heard");
            theirs.read_exact(&mut byte).expect("it is answered");
            put(&memory, 50, false, &[5, 1, 0, 0]);
            theirs.write_all(&byte).expect("it is heard");
            assert_eq!(theirs.read(&mut byte).expect("nobody is there any more"), 0);
            serving.join().expect("it ends").expect("without an error")
        });
        assert_eq!((served, drives.asked.len()), (Served::UntilCut, 2));
    }
}

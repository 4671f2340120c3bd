//! The protocol, byte by byte; clients of others; and clients that mean harm.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iostack_serve::Server;
use iostack_serve::nbd::{Nbd, Place};
use iostack_testkit::{Folder, folder, or_skip, tool};
use proptest::prelude::*;

use crate::{MIB, memory, serve, zero};

const OPTION: u64 = 0x4948_4156_454f_5054;
const GO: u32 = 7;

pub(crate) struct Export {
    pub(crate) socket: PathBuf,
    nbd: Nbd,
    pub(crate) server: Server,
    _folder: Folder,
}

fn export(name: &str) -> Export {
    export_of(name, serve(&zero("0us"), memory(), "zero"))
}

pub(crate) fn export_of(name: &str, server: Server) -> Export {
    let folder = folder!(name);
    let socket = folder.join("disk.sock");
    let nbd = Nbd::start(server.disk(), "disk", &Place::Unix(socket.clone()), |_| {}).expect("it listens");
    Export { socket, nbd, server, _folder: folder }
}

/// A client of our own, that says what it likes.
pub(crate) struct Client(UnixStream);

impl Client {
    fn greet(socket: &Path) -> Client {
        let mut client = Client(UnixStream::connect(socket).expect("it is let in"));
        let hello = client.take(18);
        assert_eq!(&hello[..16], b"NBDMAGICIHAVEOPT");
        client.send(&3_u32.to_be_bytes());
        client
    }

    fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("it is sent");
    }

    pub(crate) fn take(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes).expect("it is answered");
        bytes
    }

    /// Sends an option; its replies until the last: type and content.
    fn option(&mut self, option: u32, data: &[u8]) -> Vec<(u32, Vec<u8>)> {
        self.send(&[&OPTION.to_be_bytes()[..], &option.to_be_bytes(), &len(data), data].concat());
        let mut replies = Vec::new();
        loop {
            let head = self.take(20);
            let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().expect("four bytes"));
            let content = self.take(number(16) as usize);
            assert_eq!((&head[..8], number(8)), (&0x0003_e889_0455_65a9_u64.to_be_bytes()[..], option));
            replies.push((number(12), content));
            if !matches!(number(12), 2 | 3) {
                return replies;
            }
        }
    }

    pub(crate) fn go(socket: &Path) -> Client {
        let mut client = Client::greet(socket);
        let replies = client.option(GO, &[&[0; 4][..], &[0; 2]].concat());
        assert_eq!(replies.last().map(|(kind, _)| *kind), Some(1));
        client
    }

    /// Flags and kind; first byte and length.
    pub(crate) fn ask(
        &mut self,
        (flags, kind): (u16, u16),
        cookie: u64,
        (offset, length): (u64, u32),
        data: &[u8],
    ) {
        let head = [&0x2560_9513_u32.to_be_bytes()[..], &flags.to_be_bytes(), &kind.to_be_bytes()].concat();
        let rest = [&cookie.to_be_bytes()[..], &offset.to_be_bytes(), &length.to_be_bytes(), data].concat();
        self.send(&[head, rest].concat());
    }

    /// A simple reply: error and cookie.
    pub(crate) fn told(&mut self) -> (u32, u64) {
        let reply = self.take(16);
        assert_eq!(&reply[..4], 0x6744_6698_u32.to_be_bytes());
        let error = u32::from_be_bytes(reply[4..8].try_into().expect("four bytes"));
        (error, u64::from_be_bytes(reply[8..].try_into().expect("eight bytes")))
    }

    /// Asks, and is told that it is done.
    pub(crate) fn done(&mut self, request: (u16, u16), cookie: u64, range: (u64, u32), data: &[u8]) {
        self.ask(request, cookie, range, data);
        assert_eq!(self.told(), (0, cookie));
    }

    /// The server has hung up.
    fn is_over(&mut self) -> bool {
        matches!(self.0.read(&mut [0]), Ok(0))
    }
}

fn len(data: &[u8]) -> [u8; 4] {
    (data.len() as u32).to_be_bytes()
}

#[test]
fn options_are_answered_as_the_specification_says() {
    let export = export("nbd-options");
    let mut client = Client::greet(&export.socket);
    let unsupported = |number: u32| 1 << 31 | number;
    assert_eq!(client.option(3, b""), [(2, [&len(b"disk")[..], b"disk"].concat()), (1, Vec::new())]);
    assert_eq!(client.option(3, b"x")[0].0, unsupported(3));
    assert_eq!(client.option(5, b"")[0].0, unsupported(1), "no TLS");
    assert_eq!(client.option(99, b"anything")[0].0, unsupported(1));
    assert_eq!(client.option(99, &vec![0; 10_000])[0].0, unsupported(9));
    assert_eq!(client.option(6, b"abc")[0].0, unsupported(3));
    let other = [&len(b"other")[..], b"other", &[0; 2]].concat();
    assert_eq!(client.option(GO, &other)[0].0, unsupported(6));
    let info = client.option(6, &[&len(b"disk")[..], b"disk", &[0; 2]].concat());
    assert_eq!(info.len(), 3);
    assert_eq!(info[0].1[2..10], (16 * MIB).to_be_bytes());
    assert_eq!(
        info[1].1,
        [
            &3_u16.to_be_bytes()[..],
            &512_u32.to_be_bytes(),
            &4096_u32.to_be_bytes(),
            &(32_u32 << 20).to_be_bytes()
        ]
        .concat()
    );
    assert_eq!(client.option(2, b""), [(1, Vec::new())]);
    assert!(client.is_over());
}

#[test]
fn requests_are_answered_each_under_its_cookie() {
    let export = export("nbd-requests");
    let mut client = Client::go(&export.socket);
    let data = vec![7; 4096];
    client.done((1, 1), 11, (8192, 4096), &data);
    client.done((0, 0), 12, (8192, 4096), b"");
    assert_eq!(client.take(4096), data);
    client.done((0, 3), 13, (0, 0), b"");
    client.done((0, 4), 14, (8192, 4096), b"");
    client.done((3, 6), 15, (0, 4096), b"");
    client.done((0, 0), 16, (8192, 512), b"");
    assert_eq!(client.take(512), vec![0; 512]);
    assert_eq!(export.server.disk().look().expect("it serves").ios, [2, 2, 1, 1]);
    client.ask((0, 2), 17, (0, 0), b"");
    assert!(client.is_over());
}

#[test]
fn structured_reads_come_in_a_chunk_with_their_offset() {
    let export = export("nbd-structured");
    let mut client = Client::greet(&export.socket);
    assert_eq!(client.option(8, b""), [(1, Vec::new())]);
    assert_eq!(client.option(GO, &[0; 6]).last().map(|(kind, _)| *kind), Some(1));
    client.ask((0, 0), 5, (512, 1024), b"");
    let head = client.take(20);
    assert_eq!(
        head[..8],
        [&0x668e_33ef_u32.to_be_bytes()[..], &1_u16.to_be_bytes(), &1_u16.to_be_bytes()].concat()
    );
    assert_eq!((&head[8..16], &head[16..]), (&5_u64.to_be_bytes()[..], &1032_u32.to_be_bytes()[..]));
    assert_eq!(client.take(1032)[..8], 512_u64.to_be_bytes());
    // Beyond the end: an error chunk.
    client.ask((0, 0), 6, (16 * MIB, 512), b"");
    let head = client.take(20);
    assert_eq!(head[6..8], 0x8001_u16.to_be_bytes());
    let length = u32::from_be_bytes(head[16..].try_into().expect("four bytes"));
    assert_eq!(client.take(length as usize)[..4], 22_u32.to_be_bytes());
}

#[test]
fn what_may_not_be_is_refused_and_the_next_request_is_answered() {
    const EINVAL: u32 = 22;
    const ENOSPC: u32 = 28;
    let export = export("nbd-refused");
    let mut client = Client::go(&export.socket);
    let end = 16 * MIB;
    for (flags, kind, offset, length, error) in [
        (0, 0, end - 512, 512, 0),
        (0, 0, end, 512, EINVAL),
        (0, 0, u64::MAX - 511, 512, EINVAL),
        (0, 0, 0, u32::MAX, EINVAL),
        (0, 0, 0, 0, EINVAL),
        (0, 0, 1, 512, EINVAL),
        (0, 4, end - 512, 1024, EINVAL),
        (0, 6, end - 512, 1024, ENOSPC),
        (0x100, 3, 0, 0, EINVAL),
        (0, 99, 0, 512, EINVAL),
        // FUA is taken of each, and says nothing of these.
        (1, 3, 0, 0, 0),
        (1, 0, 0, 512, 0),
        (0, 4, 0, 16 << 20, 0),
    ] {
        client.ask((flags, kind), 1, (offset, length), b"");
        assert_eq!(client.told(), (error, 1), "{flags} {kind} {offset} {length}");
        if kind == 0 && error == 0 {
            client.take(length as usize);
        }
    }
    client.ask((0, 1), 2, (end, 512), &[1; 512]);
    assert_eq!(client.told(), (ENOSPC, 2));
    // More than a request may have: whatever follows cannot be told from requests.
    client.ask((0, 1), 3, (0, (32 << 20) + 512), b"");
    assert!(client.is_over());
    Client::go(&export.socket);
}

#[test]
fn two_clients_see_one_disk_and_one_that_vanishes_harms_nobody() {
    let export = export("nbd-two");
    let (mut one, mut two) = (Client::go(&export.socket), Client::go(&export.socket));
    one.ask((0, 1), 1, (0, 512), &[5; 512]);
    assert_eq!(one.told(), (0, 1));
    // It leaves with a read of 32 MiB under way, of which it takes nothing.
    let mut gone = Client::go(&export.socket);
    gone.ask((0, 0), 1, (0, 16 << 20), b"");
    gone.ask((0, 1), 2, (0, 4096), b"only half of it");
    drop(gone);
    two.done((0, 0), 2, (0, 512), b"");
    assert_eq!(two.take(512), [5; 512]);
    export.nbd.drop_clients();
    assert!(two.is_over());
    Client::go(&export.socket);
}

#[test]
fn a_client_that_takes_no_answers_holds_up_itself_alone() {
    let export = export("nbd-slow");
    let (mut slow, mut quick) = (Client::go(&export.socket), Client::go(&export.socket));
    for cookie in 0..12 {
        slow.ask((0, 0), cookie, (0, 8 << 20), b"");
    }
    for cookie in 0..50 {
        quick.done((0, 0), cookie, (0, 4096), b"");
        quick.take(4096);
    }
    for _ in 0..12 {
        assert_eq!(slow.told().0, 0);
        slow.take(8 << 20);
    }
}

#[test]
fn a_client_that_takes_nothing_has_so_much_in_flight_and_what_it_asked_goes_with_it() {
    const MOST: usize = 16 << 20;
    const EACH: usize = 256;
    let export = export("nbd-hog");
    let until = |bytes: usize| {
        for _ in 0..3000 {
            if export.nbd.bytes_in_flight() == bytes {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("{} bytes are in flight, not {bytes}", export.nbd.bytes_in_flight());
    };
    let block = 512;
    let half = MOST as u32 / 2;
    let large = (1 << 20) + EACH;
    for (asks, bytes) in [
        (vec![1 << 20; 100], MOST / large * large),
        // To the byte what a client may have, and a block more.
        (vec![half - block, half, block], MOST),
        (vec![half, half, block], half as usize + EACH),
        // Longer than that, it goes alone.
        (vec![2 * half, block], MOST + EACH),
        (vec![64 << 10; 300], 128 * ((64 << 10) + EACH)),
    ] {
        let mut hog = Client::go(&export.socket);
        for (cookie, length) in (0..).zip(&asks) {
            hog.ask((0, 0), cookie, (0, *length), b"");
        }
        until(bytes);
        std::thread::sleep(std::time::Duration::from_millis(100));
        until(bytes);
        drop(hog);
        until(0);
    }
    let before = export.server.disk().look().expect("it serves").ios[0];
    let mut other = Client::go(&export.socket);
    other.done((0, 0), 7, (0, 512), b"");
    assert_eq!(export.server.disk().look().expect("it serves").ios[0], before + 1);
    // 15, 2, 1, 1, and 128 beside the few that the socket took.
    assert!((147..177).contains(&before), "{before} reads");
}

#[test]
fn a_name_that_is_anothers_by_the_end_is_left_and_a_live_socket_of_another_kind_is_too() {
    let export = export("nbd-name");
    std::fs::remove_file(&export.socket).expect("it is there");
    let other = std::os::unix::net::UnixListener::bind(&export.socket).expect("it is free");
    drop(export.nbd);
    let _still_there = UnixStream::connect(&export.socket).expect("it listens");
    drop(other);
    std::fs::remove_file(&export.socket).expect("it is there");
    let datagrams = std::os::unix::net::UnixDatagram::bind(&export.socket).expect("it is free");
    let place = Place::Unix(export.socket.clone());
    assert!(Nbd::start(export.server.disk(), "disk", &place, |_| {}).is_err());
    assert!(export.socket.exists());
    drop(datagrams);
    drop(Nbd::start(export.server.disk(), "disk", &place, |_| {}).expect("it was left"));
}

#[test]
fn a_live_socket_of_packets_is_left_and_a_dead_one_is_not() {
    const BIND: &str = "import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); \
                        s.bind(sys.argv[1]); s.listen(); print(flush=True); sys.stdin.read()";
    let export = export("nbd-packets");
    let socket = export.socket.with_file_name("packets");
    let mut python = Command::new("python3");
    python.args(["-c", BIND]).arg(&socket).stdin(Stdio::piped()).stdout(Stdio::piped());
    let started = python.spawn().map_err(|error| format!("python3: {error}"));
    let Some(mut other) = or_skip("a_live_socket_of_packets_is_left_and_a_dead_one_is_not", started) else {
        return;
    };
    other.stdout.as_mut().expect("it is piped").read_exact(&mut [0]).expect("it listens");
    let start = || Nbd::start(export.server.disk(), "disk", &Place::Unix(socket.clone()), |_| {});
    let said = start().err().expect("it is another's").to_string();
    let place = socket.display();
    assert_eq!(
        said,
        format!("cannot listen on `{place}`; end who listens there, or choose another with --listen")
    );
    assert!(socket.exists() && other.try_wait().expect("it is ours").is_none());
    drop(other.stdin.take());
    other.wait().expect("it is ours");
    drop(start().expect("nobody has it any more"));
    assert!(!socket.exists());
}

#[test]
fn a_socket_that_is_used_is_not_taken_and_one_that_was_left_is() {
    let export = export("nbd-place");
    let disk = export.server.disk();
    let place = Place::Unix(export.socket.clone());
    let again = || Nbd::start(disk.clone(), "disk", &place, |_| {});
    let said = again().err().expect("it is used").to_string();
    assert!(said.contains("cannot listen on") && said.contains("--listen"), "{said}");
    drop(export.nbd);
    assert!(!export.socket.exists());
    // Left by one that was killed: a socket nobody answers at.
    drop(std::os::unix::net::UnixListener::bind(&export.socket).expect("it is free"));
    drop(again().expect("nobody uses it"));
    std::fs::write(&export.socket, "a file").expect("it is written");
    assert!(again().is_err());
    assert_eq!(std::fs::read_to_string(&export.socket).expect("it is there"), "a file");
    // A port.
    let tcp = |place: &str| Nbd::start(disk.clone(), "disk", &place.parse().expect("a place"), |_| {});
    let first = tcp("0").expect("any port");
    let port = first.url.trim_start_matches("nbd://").trim_end_matches("/disk").to_owned();
    assert!(port.starts_with("127.0.0.1:"), "{port}");
    assert!(tcp(&port).is_err());
    assert!("127.0.0.1".parse::<Place>().is_err() && "a:b".parse::<Place>().is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_of_a_client_bring_the_server_down(
        agreed in any::<bool>(),
        pieces in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..64),
                Just(OPTION.to_be_bytes().to_vec()),
                Just(0x2560_9513_u32.to_be_bytes().to_vec()),
                (0_u32..12).prop_map(|number| number.to_be_bytes().to_vec()),
                (0_u16..12).prop_map(|number| number.to_be_bytes().to_vec()),
                Just(vec![0; 8]),
                Just(vec![255; 8]),
            ],
            0..24,
        ),
    ) {
        thread_local!(static EXPORT: Export = export("nbd-hostile"));
        EXPORT.with(|export| {
            let mut client = if agreed { Client::go(&export.socket) } else { Client::greet(&export.socket) };
            // It may hang up in the middle.
            let _cut_off = client.0.write_all(&pieces.concat());
            let _gone = client.0.shutdown(std::net::Shutdown::Write);
            let _whatever_it_says = io::copy(&mut client.0, &mut io::sink());
            let mut sane = Client::go(&export.socket);
            sane.done((0, 0), 9, (0, 512), b"");
        });
    }
}

#[test]
fn clients_of_others_read_and_write_it() {
    const TEST: &str = "clients_of_others_read_and_write_it";
    let export = export("nbd-others");
    let url = format!("nbd+unix:///disk?socket={}", export.socket.display());
    let Some(info) = or_skip(TEST, tool("nbdinfo", &[&url])) else { return };
    assert!(info.contains("export-size: 16777216"), "{info}");
    for fact in [
        "is_rotational: false",
        "can_flush: true",
        "can_fua: true",
        "can_trim: true",
        "can_zero: true",
        "can_multi_conn: true",
    ] {
        assert!(info.contains(fact), "{fact}: {info}");
    }
    let folder = folder!("nbd-copies");
    let (from, back) = (folder.join("from"), folder.join("back"));
    let content: Vec<u8> = (0..4 * MIB).flat_map(|index| (index as u32).to_le_bytes()).collect();
    std::fs::write(&from, &content).expect("it is written");
    tool("nbdcopy", &[from.as_os_str(), url.as_ref()]).expect("it is copied there");
    tool("nbdcopy", &[url.as_ref(), back.as_os_str()]).expect("it is copied back");
    assert!(std::fs::read(&back).expect("it is there") == content, "what came back is what went");
    let patterns = ["-c", "write -P 7 1m 64k", "-c", "discard 4m 1m", "-c", "write -z 8m 1m", "-c", "flush"];
    let checks = ["-c", "read -vP 7 1m 64k", "-c", "read -P 0 4m 1m", "-c", "read -P 0 8m 1m"];
    let arguments: Vec<&str> = ["-f", "raw", &url].iter().chain(&patterns).chain(&checks).copied().collect();
    let Some(said) = or_skip(TEST, tool("qemu-io", &arguments)) else { return };
    assert!(!said.contains("failed"), "{said}");
}

#[test]
fn each_write_of_another_program_is_counted() {
    const TEST: &str = "each_write_of_another_program_is_counted";
    let export = export("nbd-image");
    let url = format!("nbd+unix:///disk?socket={}", export.socket.display());
    let made =
        Command::new("qemu-img").args(["bench", "-f", "raw", "-c", "2000", "-d", "32", "-w", &url]).output();
    let Some(made) = or_skip(TEST, made.map_err(|error| format!("qemu-img: {error}"))) else { return };
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert_eq!(export.server.disk().look().expect("it serves").ios[1], 2000);
}

//! Who asks for the sums of a watch? A monitoring system, on a socket that only this machine reaches.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, ensure};
use iostack_model::answers::Watch;
use iostack_report::table;

/// A client has this long to ask and to take its answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The sums as they were last shown, for whoever connects.
pub(super) struct Exporter {
    text: Arc<Mutex<String>>,
    /// File of the socket, removed at the end.
    path: Option<std::path::PathBuf>,
}

impl Exporter {
    /// Opens `unix:PATH`, or a port of the loopback.
    pub(super) fn open(place: &str) -> anyhow::Result<Exporter> {
        let text = Arc::new(Mutex::new(String::from("# EOF\n")));
        let shown = Arc::clone(&text);
        if let Some(path) = place.strip_prefix("unix:") {
            let path = Path::new(path);
            remove_dead(path)?;
            let listener = UnixListener::bind(path)
                .with_context(|| format!("cannot make the socket `{}`", path.display()))?;
            std::thread::spawn(move || {
                for client in listener.incoming().flatten() {
                    let timeouts =
                        client.set_read_timeout(Some(PATIENCE)).and(client.set_write_timeout(Some(PATIENCE)));
                    let _client_is_gone = timeouts.and_then(|()| serve(client, &shown));
                }
            });
            return Ok(Exporter { text, path: Some(path.to_owned()) });
        }
        let address = match place.parse::<u16>() {
            Ok(port) => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            Err(_) => place.parse().with_context(|| {
                format!(
                    "--metrics `{place}` is no place; write unix:/run/iostack.sock, 9101 or 127.0.0.1:9101"
                )
            })?,
        };
        ensure!(
            matches!(address.ip(), IpAddr::V4(ip) if ip.is_loopback())
                || address.ip() == IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
            "--metrics `{place}` is an address that others reach, and whose I/O it is concerns only this machine; \
             use 127.0.0.1 or unix:PATH"
        );
        let listener = TcpListener::bind(address).with_context(|| format!("cannot listen at {address}"))?;
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let timeouts =
                    client.set_read_timeout(Some(PATIENCE)).and(client.set_write_timeout(Some(PATIENCE)));
                let _client_is_gone = timeouts.and_then(|()| serve(client, &shown));
            }
        });
        Ok(Exporter { text, path: None })
    }

    /// Shows new sums.
    pub(super) fn show(&self, watch: &Watch) {
        let text = table::metrics_of_watch(watch);
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _gone_already = std::fs::remove_file(path);
        }
    }
}

/// Removes a socket that nobody listens at any more; whatever else lies there stays.
fn remove_dead(path: &Path) -> anyhow::Result<()> {
    let Ok(known) = path.symlink_metadata() else { return Ok(()) };
    ensure!(
        known.file_type().is_socket(),
        "`{}` exists and is no socket; choose another path",
        path.display()
    );
    ensure!(
        std::os::unix::net::UnixStream::connect(path).is_err(),
        "another program listens at `{}`; choose another path",
        path.display()
    );
    std::fs::remove_file(path).with_context(|| format!("cannot remove `{}`", path.display()))
}

/// Answers one request of HTTP/1.x, whatever it asks for.
fn serve(mut client: impl Read + Write, text: &Mutex<String>) -> io::Result<()> {
    let mut asked = [0; 4096];
    let mut length = 0;
    while !asked[..length].windows(4).any(|end| end == b"\r\n\r\n") && length < asked.len() {
        match client.read(&mut asked[length..])? {
            0 => return Ok(()),
            read => length += read,
        }
    }
    let body = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    client.write_all(body.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_may_ask() {
        for place in ["0.0.0.0:9101", "192.0.2.1:1", "[::]:1", "host:1", "99999999"] {
            assert!(Exporter::open(place).is_err(), "{place}");
        }
    }

    #[test]
    fn a_request_is_answered_whole_and_half_a_request_is_not() {
        let text = Mutex::new("a 1\n# EOF\n".to_owned());
        let ask = |asked: &str| {
            let mut client = io::Cursor::new(asked.as_bytes().to_vec());
            serve(&mut client, &text).expect("memory");
            String::from_utf8(client.into_inner()[asked.len()..].to_vec()).expect("text")
        };
        let answer = ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\na 1\n# EOF\n"),
            "{answer}"
        );
        assert!(answer.contains("Content-Length: 10\r\n"), "{answer}");
        assert_eq!(ask("GET /metrics HTTP/1.1\r\n"), "");
    }
}

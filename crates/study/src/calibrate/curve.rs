//! What does a table of a curve say? One row a point: a spreadsheet's, a colleague's, or of `iostack calibrate --format csv`.

use anyhow::{Context, ensure};
use iostack_model::{Engine, Sync};
use serde::Deserialize;

use super::points::{Gathered, Point};

/// A row; its names are those of the columns. Latencies and CPU time are of one I/O, ns.
#[derive(Deserialize)]
struct CurveRow {
    pattern: String,
    read_percent: Option<u8>,
    block_bytes: u64,
    queue_depth: u32,
    threads: Option<u32>,
    engine: Option<String>,
    iops: f64,
    min_ns: Option<f64>,
    p50_ns: Option<f64>,
    p99_ns: Option<f64>,
    max_ns: Option<f64>,
    cpu_per_io_ns: Option<f64>,
    /// Cores of the machine, the same in every row.
    cores: Option<u32>,
    ghz: Option<f64>,
}

/// Adds the points of a table; what tells its machine from others: its first line of comment.
pub(crate) fn read(file: &str, text: &str, gathered: &mut Gathered) -> anyhow::Result<String> {
    let mut rows =
        csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
    let before = gathered.points.len();
    for (number, row) in (1..).zip(rows.deserialize()) {
        let row: CurveRow = row.with_context(|| {
            format!(
                "`{file}` is no table of a curve; its columns are pattern, block_bytes, queue_depth, iops and, where known, threads, \
                 read_percent, engine, min_ns, p50_ns, p99_ns, max_ns, cpu_per_io_ns, cores, ghz"
            )
        })?;
        gathered.cores = gathered.cores.take().or(row.cores.map(|cores| (cores, file.to_owned())));
        gathered.ghz = gathered.ghz.take().or(row.ghz.map(|ghz| (ghz, file.to_owned())));
        gathered.points.push(point(file, &row).with_context(|| format!("`{file}`, row {number}"))?);
    }
    ensure!(gathered.points.len() > before, "`{file}` has no row");
    let origin = text.lines().find_map(|line| line.strip_prefix('#')).unwrap_or(file);
    Ok(origin.trim().to_owned())
}

fn point(file: &str, row: &CurveRow) -> anyhow::Result<Point> {
    let (read, sequential) = match row.pattern.as_str() {
        "read" => (100, true),
        "randread" => (100, false),
        "write" => (0, true),
        "randwrite" => (0, false),
        "rw" | "readwrite" => (row.read_percent.unwrap_or(50), true),
        "randrw" => (row.read_percent.unwrap_or(50), false),
        other => anyhow::bail!(
            "pattern `{other}` is not fitted; read, randread, write, randwrite, rw and randrw are"
        ),
    };
    let threads = row.threads.unwrap_or(1);
    ensure!(read <= 100, "read_percent is {read}; at most 100");
    ensure!(
        row.block_bytes.is_multiple_of(512) && row.block_bytes > 0,
        "block_bytes is {}; sectors have 512",
        row.block_bytes
    );
    ensure!(
        row.queue_depth > 0 && threads > 0 && row.cores != Some(0),
        "queue_depth, threads and cores are at least 1"
    );
    let figures =
        [Some(row.iops), row.min_ns, row.p50_ns, row.p99_ns, row.max_ns, row.cpu_per_io_ns, row.ghz];
    for figure in figures.into_iter().flatten() {
        ensure!(figure.is_finite() && figure > 0.0, "a figure is {figure}; leave empty what is not known");
    }
    let engine = match row.engine.as_deref().filter(|name| !name.is_empty()) {
        Some(name) => {
            Engine::named_by_fio(name).with_context(|| format!("no engine of fio is called `{name}`"))?
        }
        None if row.queue_depth > 1 => Engine::Libaio,
        None => Engine::Psync,
    };
    let quantiles = row.p50_ns.zip(row.p99_ns);
    Ok(Point {
        file: file.to_owned(),
        load: (read, sequential, row.block_bytes, row.queue_depth, threads),
        engine,
        sync: Sync::default(),
        iops: row.iops,
        quantiles: quantiles
            .map(|(p50, p99)| [row.min_ns.unwrap_or(p50), p50, p99, row.max_ns.unwrap_or(p99)]),
        cpu: row.cpu_per_io_ns,
        region: None,
        sleeps: 1.0,
        held_out: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_of(text: &str) -> anyhow::Result<Vec<Point>> {
        let mut gathered = Gathered::default();
        read("disk.csv", text, &mut gathered).map(|_| gathered.points)
    }

    #[test]
    fn a_row_is_a_point_and_what_is_not_known_may_be_missing() {
        let text = "# a disk of a colleague's\npattern,block_bytes,queue_depth,iops,p99_ns,p50_ns\n\
                    randread, 4096, 8, 1000, 900, 500\nrandrw,4096,1,10,,\n";
        let points = read_of(text).expect("a table");
        let loads: Vec<_> =
            points.iter().map(|point| (point.load, point.engine.name(), point.quantiles)).collect();
        assert_eq!(
            loads,
            [
                ((100, false, 4096, 8, 1), "libaio", Some([500.0, 500.0, 900.0, 900.0])),
                ((50, false, 4096, 1, 1), "psync", None)
            ]
        );
    }

    #[test]
    fn what_cannot_be_a_point_is_refused_by_its_row() {
        let head = "pattern,block_bytes,queue_depth,iops,engine";
        for (row, why) in [
            ("randread,4096,0,1,", "row 1: queue_depth"),
            ("randread,100,1,1,", "block_bytes is 100"),
            ("randread,4096,1,nan,", "a figure is NaN"),
            ("randread,4096,1,-3,", "a figure is -3"),
            ("zigzag,4096,1,1,", "`zigzag` is not fitted"),
            ("read,4096,1,1,tape", "called `tape`"),
            ("read,4096,1,fast,", "invalid float"),
            ("read,4096,1", "found record with 3 fields"),
        ] {
            let error = read_of(&format!("{head}\n{row}\n")).err().map(|error| format!("{error:#}"));
            assert!(error.as_ref().is_some_and(|error| error.contains(why)), "{row}: {error:?}");
        }
        assert!(read_of(head).is_err() && read_of("").is_err() && read_of("depth,rate\n1,2\n").is_err());
    }
}

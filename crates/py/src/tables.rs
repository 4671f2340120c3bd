//! Which tables does one outcome have?
//!
//! Times are in seconds and rates per second, as plots want them; what a row does not have is empty, never 0.

use iostack_model::{
    Bins, Direction, IntervalFlow, Machine, Nanos, Outcome, OutcomeFile, SCHEMA, Stage, bin_middle,
    cell_range,
};
use iostack_report::table::{self, Cells, Column, Table};

/// The table of this name; `figures` has one row, which is that of the outcome in any other table.
pub(crate) fn table(outcome: &Outcome, name: &str) -> Option<Table> {
    match name {
        "figures" => Some(figures(outcome)),
        "series" => Some(series(&outcome.series)),
        "latencies" => Some(latencies(outcome)),
        "heat" => Some(heat(outcome)),
        "stages" => Some(stages(outcome)),
        "layers" => Some(layers(outcome)),
        _ => None,
    }
}

fn figures(outcome: &Outcome) -> Table {
    let (iostack, outcomes) = (String::new(), vec![outcome.clone()]);
    let machine = Machine::default();
    table::of_run(&OutcomeFile {
        schema: SCHEMA,
        iostack,
        started_unix_ms: 0,
        machine,
        outcomes,
        prediction: None,
    })
}

fn numbers(name: &str, about: &str, cells: impl Iterator<Item = Option<f64>>) -> Column {
    Column::new(name, about, Cells::Numbers(cells.collect()))
}

fn seconds(nanos: u64) -> f64 {
    Nanos(nanos).as_secs_f64()
}

/// A row for each slice.
fn series(slices: &[IntervalFlow]) -> Table {
    let column = |name: &str, about: &str, of: &dyn Fn(&IntervalFlow) -> Option<f64>| {
        numbers(name, about, slices.iter().map(of))
    };
    let per_second = |slice: &IntervalFlow, amount: u64| {
        (slice.length.0 > 0).then(|| amount as f64 / slice.length.as_secs_f64())
    };
    let sum = |each: &[u64; 3]| each.iter().sum::<u64>();
    let with_io = |slice: &IntervalFlow, nanos: Nanos| (sum(&slice.ios) > 0).then(|| nanos.as_secs_f64());
    let mean = |slice: &IntervalFlow| {
        let ios = sum(&slice.ios);
        (ios > 0).then(|| seconds(sum(&slice.latency_sum_ns)) / ios as f64)
    };
    let mut columns = vec![
        column("start_s", "start, from the start of measuring", &|slice| Some(slice.start.as_secs_f64())),
        column("length_s", "length", &|slice| Some(slice.length.as_secs_f64())),
        column("iops", "I/Os per second", &|slice| per_second(slice, sum(&slice.ios))),
    ];
    columns.extend(Direction::ALL.map(|direction| {
        let name = direction.name();
        column(&format!("{name}_iops"), &format!("{name}s per second"), &|slice| {
            per_second(slice, slice.ios[direction as usize])
        })
    }));
    columns.extend([
        column("bytes_per_s", "bandwidth", &|slice| per_second(slice, sum(&slice.bytes))),
        column("latency_mean_s", "time of an I/O: mean", &mean),
        column("latency_p50_s", "time of an I/O: median", &|slice| with_io(slice, slice.p50)),
        column("latency_p99_s", "time of an I/O: 99th percentile", &|slice| with_io(slice, slice.p99)),
        column("latency_max_s", "time of an I/O: largest", &|slice| with_io(slice, slice.max)),
        column("waiting_s", "time that threads were ready to run and had no CPU", &|slice| {
            Some(slice.waiting.as_secs_f64())
        }),
    ]);
    Table { columns }
}

/// A row for each bucket of latency: the share of a direction's I/Os that took no longer.
fn latencies(outcome: &Outcome) -> Table {
    let mut rows = Vec::new();
    for direction in Direction::ALL {
        let bins: &Bins = &outcome.flow(direction).latency;
        let mut seen = 0;
        for &(bucket, count) in &bins.counts {
            seen += count;
            let latency = bin_middle(bucket as usize).clamp(bins.min_ns, bins.max_ns);
            rows.push((direction.name(), seconds(latency), count, seen as f64 / bins.count as f64));
        }
    }
    let names = rows.iter().map(|row| Some(row.0.to_owned())).collect();
    let counts = rows.iter().map(|row| Some(row.2)).collect();
    Table {
        columns: vec![
            Column::new("direction", "read, write or trim", Cells::Text(names)),
            numbers("latency_s", "time of an I/O", rows.iter().map(|row| Some(row.1))),
            Column::new("ios", "I/Os that took this time", Cells::Counts(counts)),
            numbers("share", "share of the I/Os that took no longer", rows.iter().map(|row| Some(row.3))),
        ],
    }
}

/// A row for each cell of the heat map that counted something.
fn heat(outcome: &Outcome) -> Table {
    let heat = &outcome.heat;
    let length = heat.length.as_secs_f64();
    let (mut starts, mut lows, mut highs, mut ios) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (at, column) in heat.columns.iter().enumerate() {
        for &(cell, count) in column {
            let (low, high) = cell_range(cell as usize);
            starts.push(Some(at as f64 * length));
            lows.push(Some(seconds(low)));
            highs.push(Some(seconds(high)));
            ios.push(Some(count));
        }
    }
    let lengths = ios.iter().map(|_| Some(length));
    Table {
        columns: vec![
            numbers("start_s", "start, from the start of measuring", starts.into_iter()),
            numbers("length_s", "length", lengths),
            numbers("latency_low_s", "smallest time of the cell", lows.into_iter()),
            numbers("latency_high_s", "largest time of the cell", highs.into_iter()),
            Column::new("ios", "I/Os of the cell", Cells::Counts(ios)),
        ],
    }
}

/// A row for each stage of each way, of a simulation of each direction: means that add up to the whole.
fn stages(outcome: &Outcome) -> Table {
    let of = |way: &'static str, stages: &[(Stage, Bins)]| {
        stages.iter().map(|(stage, bins)| (way, stage.name(), bins.clone())).collect::<Vec<_>>()
    };
    let rows: Vec<_> = match (&outcome.stages, &outcome.inside) {
        (Some(traced), _) => traced.ways.iter().flat_map(|way| of(way.way.name(), &way.stages)).collect(),
        (None, Some(inside)) => {
            inside.flows.iter().flat_map(|flow| of(flow.direction.name(), &flow.stages)).collect()
        }
        (None, None) => Vec::new(),
    };
    let words = |of: &dyn Fn(&(&str, &str, Bins)) -> String| {
        Cells::Text(rows.iter().map(|row| Some(of(row))).collect())
    };
    let counts = rows.iter().map(|row| Some(row.2.count)).collect();
    let means = rows.iter().map(|row| Some(row.2.mean_ns() / 1e9));
    Table {
        columns: vec![
            Column::new("way", "which I/Os", words(&|row| row.0.to_owned())),
            Column::new("stage", "where they were", words(&|row| row.1.to_owned())),
            Column::new("ios", "I/Os that went this way", Cells::Counts(counts)),
            numbers("latency_mean_s", "time of an I/O in the stage: mean", means),
        ],
    }
}

/// A row for each layer of the kernel, or of a simulated host.
fn layers(outcome: &Outcome) -> Table {
    let host = outcome.inside.as_ref().and_then(|inside| inside.host.as_ref());
    let rows: Vec<(String, Option<f64>)> = match (&outcome.layers, host) {
        (Some(sampled), _) => {
            let hz = sampled.tsc_hz as f64;
            let ios = sampled.ios.filter(|&ios| ios > 0);
            let clocks = |time: Nanos| ios.map(|ios| time.as_secs_f64() * hz / ios as f64);
            sampled.rows.iter().map(|row| (row.layer.clone(), clocks(row.time))).collect()
        }
        (None, Some(host)) => {
            host.layers.iter().map(|layer| (layer.name.clone(), Some(layer.clocks))).collect()
        }
        (None, None) => Vec::new(),
    };
    let names = rows.iter().map(|row| Some(row.0.clone())).collect();
    Table {
        columns: vec![
            Column::new("layer", "where the clocks went", Cells::Text(names)),
            numbers("clocks_per_io", "clocks of an I/O", rows.iter().map(|row| row.1)),
        ],
    }
}

//! What did an application do, in words? The same on the screen and on the page.

use iostack_model::{App, AppUse, Commit};

use crate::text::format::{count, rate, time};

/// The application in one sentence.
pub(crate) fn asked(app: &App) -> String {
    match app {
        App::Tpcc(load) => format!(
            "TPC-C, {} warehouses, {} users, {} let in, pool {}, redo log {}, commits {}",
            load.warehouses,
            load.users,
            if load.inside == 0 { "all".to_owned() } else { load.inside.to_string() },
            load.pool,
            load.redo_log,
            if load.commit == Commit::Group { "in groups" } else { "in series" }
        ),
        App::Postmark(load) => format!(
            "Postmark, {} files of {} to {}, {} transactions a thread",
            load.files, load.smallest, load.largest, load.transactions
        ),
    }
}

/// Labelled sentences: how much, what of, from where to where.
pub(crate) fn told(app: &AppUse) -> Vec<(&'static str, String)> {
    let of = |ns: Option<u64>| ns.map_or_else(|| "unknown".to_owned(), |ns| time(ns as f64));
    let latency = &app.latency;
    let mut lines = vec![(
        "done",
        format!(
            "{} transactions, {} a second; mean {}, median {}, p99 {}",
            count(app.transactions),
            rate(app.per_second),
            time(latency.mean_ns()),
            of(latency.quantile_ns(0.5)),
            of(latency.quantile_ns(0.99))
        ),
    )];
    let kinds: Vec<String> =
        app.kinds.iter().map(|kind| format!("{} {}", count(kind.count), kind.name)).collect();
    lines.push(("kinds", kinds.join(", ")));
    let whole = latency.mean_ns().max(1.0);
    let parts = app.parts.iter().filter(|part| part.mean_ns >= 0.005 * whole);
    let parts: Vec<String> = parts
        .map(|part| format!("{} {} ({:.0} %)", part.name, time(part.mean_ns), part.mean_ns / whole * 100.0))
        .collect();
    lines.push(("time", parts.join(", ")));
    let pool = app
        .hit_share
        .map_or_else(String::new, |share| format!("; {:.1} % of its pages were in the pool", share * 100.0));
    lines.push((
        "each",
        format!(
            "{:.2} reads, {:.2} writes, {:.2} flushes, {:.0} thousand clocks{pool}",
            app.reads,
            app.writes,
            app.flushes,
            app.clocks / 1e3
        ),
    ));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::{AppKind, AppPart, Bins};

    #[test]
    fn an_application_is_told_with_its_time_and_its_pool() {
        let app = AppUse {
            transactions: 1500,
            per_second: 150.0,
            latency: Bins { count: 1500, sum_ns: 1500 * 2_000_000, ..Bins::default() },
            kinds: vec![AppKind { name: "payment".to_owned(), count: 1500 }],
            parts: vec![
                AppPart { name: "log".to_owned(), mean_ns: 1_500_000.0 },
                AppPart { name: "reads".to_owned(), mean_ns: 1_000.0 },
            ],
            hit_share: Some(0.875),
            reads: 4.5,
            ..AppUse::default()
        };
        let text: String = told(&app).into_iter().map(|(_, line)| line + "\n").collect();
        assert!(text.contains("150") && text.contains("(75 %)") && text.contains("87.5 %"), "{text}");
        assert!(!text.contains("reads 1"), "what took next to nothing is left out: {text}");
    }
}

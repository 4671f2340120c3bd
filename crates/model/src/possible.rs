//! Which stored figures are impossible?
//!
//! Files of outcomes are cut, edited and written by other programs. What can be proved wrong from the figures alone is
//! refused where they enter, by type, so that nobody behind has to expect it: a histogram whose least is above its most,
//! an interval around nothing, a share above 1.
//!
//! A type that implements [`Possible`] derives its serde with `remote = "Self"` and is named in [`guarded`].

use serde::{Deserialize, Deserializer};

/// Version of the JSON layout; raised when a field changes its meaning.
pub const SCHEMA: u32 = 1;

/// Figures that can contradict themselves.
pub(crate) trait Possible {
    /// The field and what is wrong with it.
    fn impossible(&self) -> Option<String>;
}

/// Serde for types that derive theirs with `remote = "Self"`: what is impossible is not deserialised.
macro_rules! guarded {
    ($($name:ident),+) => {
        $(
            impl serde::Serialize for $name {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    // The inherent function, which the derive made.
                    $name::serialize(self, serializer)
                }
            }

            impl<'de> serde::Deserialize<'de> for $name {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    let read = $name::deserialize(deserializer)?;
                    match $crate::possible::Possible::impossible(&read) {
                        Some(what) => Err(serde::de::Error::custom(what)),
                        None => Ok(read),
                    }
                }
            }
        )+
    };
}
pub(crate) use guarded;

/// A layout that this version reads.
pub fn schema<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        0 => Err(serde::de::Error::custom("there is no schema 0; schemas count from 1")),
        newer if newer > SCHEMA => Err(serde::de::Error::custom(format!(
            "schema {newer} is newer than this iostack, which reads up to {SCHEMA}; update iostack"
        ))),
        known => Ok(known),
    }
}

/// The first of these shares that is none.
pub(crate) fn not_a_share(shares: &[(&str, f64)]) -> Option<String> {
    let wrong = shares.iter().find(|(_, share)| !(0.0..=1.0).contains(share));
    wrong.map(|(name, share)| format!("{name} is {share}, and a share is from 0 to 1"))
}

/// The first of these figures that is negative or no number.
pub(crate) fn not_an_amount(amounts: &[(&str, f64)]) -> Option<String> {
    let wrong = amounts.iter().find(|(_, amount)| !(amount.is_finite() && *amount >= 0.0));
    wrong.map(|(name, amount)| format!("{name} is {amount}, and cannot be"))
}

#[cfg(test)]
mod tests {
    use crate::{Bins, CpuUse, Flow, Heat, Interval, IntervalFlow, Mix, Nanos, Outcome, OutcomeFile};
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    fn said<T: DeserializeOwned + std::fmt::Debug>(value: Value) -> String {
        serde_json::from_value::<T>(value).expect_err("it is impossible").to_string()
    }

    fn bins() -> Value {
        json!({
            "counts": [[10, 3], [20, 1]], "count": 4, "sum_ns": 50, "sum_squares_ns2": 700.0, "min_ns": 10, "max_ns": 20
        })
    }

    fn bins_with(field: &str, value: Value) -> String {
        let mut changed = bins();
        changed[field] = value;
        said::<Bins>(changed)
    }

    #[test]
    fn a_histogram_that_contradicts_itself_is_refused_with_the_field() {
        let whole: Bins = serde_json::from_value(bins()).expect("nothing is wrong with it");
        assert_eq!(serde_json::to_value(&whole).expect("plain data"), bins());
        let cases = [
            ("min_ns", json!(21), "min_ns 21 is above max_ns 20"),
            ("count", json!(5), "count 5 is not the sum of counts, 4"),
            ("counts", json!([[20, 1], [10, 3]]), "counts: bucket 10 stands behind bucket 20"),
            ("counts", json!([[10, 2], [10, 2]]), "counts: bucket 10 stands behind bucket 10"),
            ("counts", json!([[10, 3], [999_999, 1]]), "counts: there is no bucket 999999"),
            ("counts", json!([[10, u64::MAX], [20, 5]]), "count 4 is not the sum of counts"),
            ("sum_ns", json!(39), "sum_ns 39 is no sum of 4 from 10 to 20"),
            ("sum_ns", json!(81), "sum_ns 81 is no sum of 4 from 10 to 20"),
            ("sum_squares_ns2", json!(-1.0), "sum_squares_ns2 is -1, and cannot be"),
            ("min_ns", json!(9), "min_ns 9 is not of the first bucket, which begins at 10"),
            ("max_ns", json!(19), "max_ns 19 is not of the last bucket, which begins at 20"),
        ];
        for (field, value, expected) in cases {
            let said = bins_with(field, value);
            assert!(said.starts_with(expected), "{said}");
        }
        assert!(bins_with("count", json!(-4)).contains("invalid value"));
    }

    #[test]
    fn sums_at_their_very_ends_are_possible() {
        for sum in [40, 80] {
            let mut changed = bins();
            changed["sum_ns"] = json!(sum);
            serde_json::from_value::<Bins>(changed).expect("all at one end");
        }
        serde_json::from_value::<Bins>(json!(Bins::default())).expect("an empty one");
    }

    #[test]
    fn an_interval_around_nothing_is_refused() {
        let interval =
            |low: f64, mean: f64, high: f64| json!({"mean": mean, "low": low, "high": high, "samples": 5});
        assert_eq!(said::<Interval>(interval(2.0, 1.0, 3.0)), "mean 1 is not between low 2 and high 3");
        assert_eq!(said::<Interval>(interval(1.0, 4.0, 3.0)), "mean 4 is not between low 1 and high 3");
        serde_json::from_value::<Interval>(interval(1.0, 1.0, 1.0)).expect("a figure without uncertainty");
    }

    #[test]
    fn a_slice_whose_percentiles_fall_is_refused() {
        let slice = |p50: u64, p99: u64, max: u64| {
            json!({
                "start": 0, "length": 1, "ios": [1, 0, 0], "bytes": [1, 0, 0], "latency_sum_ns": [1, 0, 0],
                "p50": p50, "p99": p99, "max": max
            })
        };
        assert!(said::<IntervalFlow>(slice(3, 2, 3)).contains("p99"));
        assert!(said::<IntervalFlow>(slice(1, 4, 3)).contains("p99"));
        serde_json::from_value::<IntervalFlow>(slice(3, 3, 3)).expect("all alike");
    }

    #[test]
    fn a_heat_map_of_other_ios_than_the_latencies_is_refused() {
        let read =
            Flow { latency: serde_json::from_value(bins()).expect("it is possible"), ..Flow::default() };
        let with = |ios: u64| {
            let heat = Heat { length: Nanos(5), columns: vec![vec![(0, 3)], vec![(1, ios)]] };
            json!(Outcome { read: read.clone(), heat, ..Outcome::default() })
        };
        serde_json::from_value::<Outcome>(with(1)).expect("four of four");
        assert_eq!(said::<Outcome>(with(2)), "heat counts 5 I/Os, the latencies 4");
        let older = json!(Outcome { read, ..Outcome::default() });
        assert!(older.get("heat").is_none());
        serde_json::from_value::<Outcome>(older).expect("as an older version wrote it");
    }

    #[test]
    fn shares_above_1_negative_costs_and_mixes_of_more_than_all_are_refused() {
        let cpu = |field: &str, value: f64| {
            let mut cpu = json!(CpuUse::default());
            cpu[field] = json!(value);
            said::<CpuUse>(cpu)
        };
        assert_eq!(cpu("steal", 1.5), "steal is 1.5, and a share is from 0 to 1");
        assert_eq!(cpu("machine_busy", -0.5), "machine_busy is -0.5, and a share is from 0 to 1");
        assert_eq!(cpu("busiest_thread", 2.0), "busiest_thread is 2, and a share is from 0 to 1");
        assert_eq!(cpu("clocks_per_io", -2.0), "clocks_per_io is -2, and cannot be");
        assert_eq!(
            said::<Mix>(json!({"read": 50, "write": 51, "trim": 0})),
            "mix of 50 + 51 + 0 percent; it is 100"
        );
        let flow = json!({"bytes": 1, "latency": bins(), "submit": Bins::default(), "short": 5});
        assert_eq!(said::<Flow>(flow), "short 5 is above the number of I/Os, 4");
    }

    #[test]
    fn a_layout_of_another_time_is_refused() {
        let file = |schema: u32| said::<OutcomeFile>(json!({"schema": schema}));
        assert!(file(0).starts_with("there is no schema 0"), "{}", file(0));
        assert!(file(99).starts_with("schema 99 is newer than this iostack"), "{}", file(99));
        assert!(file(1).starts_with("missing field"), "{}", file(1));
    }
}

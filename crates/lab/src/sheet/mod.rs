//! What does a kernel cost, as a sheet for the simulator? Numbers from exact counts.
//!
//! ```text
//!   parts.toml ──► cases ──► (boots, counts) ──► IoCost each ──► numbers ──► a built-in sheet with these in it
//!   an outcome of `check` ──► clock: instructions per clock ──────┘
//! ```
//!
//! All of it is pure. Start reading at `parts.toml`, then [`SheetPart::numbers`].

pub mod clock;
mod file;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use iostack_model::answers::IoCost;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use file::{base_of_kernel, clocks, sheet_with};

/// Layer of the caller itself, which differs with the build of this program.
const CALLER: &str = "user";

/// Costs of cases by their words.
pub type Costs = BTreeMap<String, IoCost>;

/// Something of a kernel that is counted by itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SheetPart {
    /// Name of the part; of a file system or a scheduler that of its sheet.
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    names: Vec<String>,
    /// Words of its cases by name.
    pub cases: BTreeMap<String, String>,
    numbers: Vec<Recipe>,
}

/// Rule by which a number comes of counts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recipe {
    key: String,
    #[serde(default)]
    what: Option<String>,
    add: Vec<String>,
    #[serde(default)]
    less: Vec<String>,
    #[serde(default = "one")]
    times: u32,
    #[serde(default = "one")]
    over: u32,
}

fn one() -> u32 {
    1
}

/// A number that was counted.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CountedNumber {
    /// Key in the sheet, `os.vfs`; a word of its own for what no sheet has.
    pub key: String,
    /// Meaning, of what no sheet has.
    pub what: Option<String>,
    /// Instructions; of differences and halves a fraction.
    pub instructions: f64,
    /// Terms of the number: counts and their cases.
    pub how: String,
}

#[derive(Deserialize)]
struct SheetParts {
    part: Vec<SheetPart>,
}

/// All parts, in the order in which they are told.
pub fn parts() -> &'static [SheetPart] {
    static ALL: LazyLock<Vec<SheetPart>> = LazyLock::new(|| {
        let parts: SheetParts = toml::from_str(include_str!("parts.toml")).expect("a test has read it");
        parts.part.into_iter().flat_map(SheetPart::each).collect()
    });
    &ALL
}

/// The part of this name, or what there is.
pub fn part(name: &str) -> Result<&'static SheetPart, String> {
    parts().iter().find(|part| part.name == name).ok_or_else(|| {
        let known: Vec<&str> = parts().iter().map(|part| part.name.as_str()).collect();
        format!("`{name}` is no part of a kernel that is counted; choose from {}", known.join(", "))
    })
}

impl SheetPart {
    /// Itself, or one for each of its names.
    fn each(self) -> Vec<SheetPart> {
        if self.names.is_empty() {
            return vec![self];
        }
        let words = |name: &str| {
            let cases = self.cases.iter();
            cases.map(|(case, words)| (case.clone(), words.replace('$', name))).collect()
        };
        let one = |name: &String| SheetPart {
            name: name.clone(),
            names: Vec::new(),
            cases: words(name),
            numbers: self.numbers.clone(),
        };
        self.names.iter().map(one).collect()
    }

    /// Kind of the sheet that its numbers are in.
    pub fn kind(&self) -> &str {
        self.numbers[0].key.split('.').next().expect("a split has a first piece")
    }

    /// Its numbers, and the words for those whose cases were not counted.
    pub fn numbers(&self, costs: &Costs) -> (Vec<CountedNumber>, Vec<String>) {
        let (mut numbers, mut lacking) = (Vec::new(), Vec::new());
        for recipe in &self.numbers {
            match self.number(recipe, costs) {
                Ok(number) => numbers.push(number),
                Err(case) => lacking.push(format!("{}: `{case}` was not counted", recipe.key)),
            }
        }
        (numbers, lacking)
    }

    fn number(&self, recipe: &Recipe, costs: &Costs) -> Result<CountedNumber, String> {
        let (mut sum, mut how) = (0.0, String::new());
        let signs =
            recipe.add.iter().map(|term| (1.0, term)).chain(recipe.less.iter().map(|term| (-1.0, term)));
        for (sign, term) in signs {
            let (times, term) = term.split_once('*').unwrap_or(("1", term));
            let (case, layers) = term.split_once('[').unwrap_or((term, "-]"));
            let times: u64 = times.parse().expect("a test has read it");
            let words = &self.cases[case];
            let cost = costs.get(words).ok_or_else(|| words.clone())?;
            let (count, part) = (times * selected(cost, layers.trim_end_matches(']')), part_of(layers));
            let of = if times > 1 { format!("{times} times ") } else { String::new() };
            sum += sign * count as f64;
            how += if sign < 0.0 {
                " less "
            } else if how.is_empty() {
                ""
            } else {
                " and "
            };
            let _to_memory = write!(how, "{} of {of}{}{part}", thousands(count), case_words(cost));
        }
        let factor = f64::from(recipe.times) / f64::from(recipe.over);
        if recipe.over > 1 {
            let _to_memory = write!(how, ", {}/{} of it", recipe.times, recipe.over);
        }
        if sum < 0.0 {
            how += "; less than nothing, so none";
        }
        Ok(CountedNumber {
            key: recipe.key.clone(),
            what: recipe.what.clone(),
            instructions: sum.max(0.0) * factor,
            how,
        })
    }
}

/// Instructions in these layers; behind a minus, in all others, the caller's aside.
fn selected(cost: &IoCost, layers: &str) -> u64 {
    let (but, names) = layers.strip_prefix('-').map_or((false, layers), |names| (true, names));
    let has = |layer: &str| names.split(' ').any(|name| name == layer);
    let counts = |layer: &str| if but { layer != CALLER && !has(layer) } else { has(layer) };
    cost.layers.iter().filter(|one| counts(&one.layer)).map(|one| one.instructions).sum()
}

/// Words for the layers of a term.
fn part_of(layers: &str) -> String {
    let layers = layers.trim_end_matches(']');
    match layers.strip_prefix('-') {
        Some("") => String::new(),
        Some(names) => format!(" without {}", names.replace(' ', ", ")),
        None => format!(" in {}", layers.replace(' ', ", ")),
    }
}

/// `libaio/8, read of null_blk at 4 KiB`.
fn case_words(cost: &IoCost) -> String {
    let case = &cost.case;
    let size = iostack_model::Bytes(case.block_bytes);
    let file_system = case.file_system.as_ref().map(|name| format!(" on {name}")).unwrap_or_default();
    let buffered = if case.buffered { "buffered " } else { "" };
    let scheduler = if case.scheduler == "none" { String::new() } else { format!(" by {}", case.scheduler) };
    let option = case.options.iter().find(|(name, _)| name == "irqmode").map(|(_, mode)| mode.as_str());
    let sleeps = if option == Some("2") { " by timer" } else { "" };
    let direction = case.direction.name();
    format!(
        "a {buffered}{size} {direction} of {}{file_system}{scheduler}{sleeps} ({})",
        case.device, case.engine
    )
}

/// Digits in groups of three.
fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn cost(layers: &[(&str, u64)]) -> IoCost {
        let layer = |&(layer, instructions): &(&str, u64)| json!({"layer": layer, "instructions": instructions, "meaning": ""});
        let layers: Vec<Value> = layers.iter().map(layer).collect();
        let case = json!({"device": "nvme", "options": [], "direction": "read", "engine": "psync",
            "block_bytes": 4096, "file_system": null, "buffered": false, "scheduler": "none", "kernel": "6.1",
            "patched": [], "mitigations": false, "tracepoints": []});
        let cost = json!({"schema": 1, "iostack": "", "case": case, "ios": 1, "instructions": 1, "modes": [],
            "boots": [], "layers": layers, "functions": [], "mmio": null, "tree": null, "tsc_excess": null,
            "prices": {"cpi": 1.0, "mmio_read": 1.0, "mmio_write": 1.0}, "unclassified": [], "how": "", "notes": []});
        serde_json::from_value(cost).expect("a cost")
    }

    fn made(part: &str, counted: &[(&str, IoCost)]) -> (Vec<CountedNumber>, Vec<String>) {
        let part = super::part(part).expect("it is there");
        let words = |(case, cost): &(&str, IoCost)| (part.cases[*case].clone(), cost.clone());
        part.numbers(&counted.iter().map(words).collect())
    }

    #[test]
    fn each_term_names_a_case_and_each_part_one_kind_of_sheet() {
        for part in parts() {
            for recipe in &part.numbers {
                for term in recipe.add.iter().chain(&recipe.less) {
                    let (times, case) = term.split_once('*').unwrap_or(("1", term));
                    let case = case.split('[').next().expect("the first piece");
                    assert!(times.parse::<u64>().is_ok_and(|times| times > 0), "{term}");
                    assert!(part.cases.contains_key(case), "{}: {term}", part.name);
                }
                let kind = recipe.key.split('.').next();
                assert!(recipe.what.is_some() || kind == Some(part.kind()), "{}", recipe.key);
            }
        }
        assert!(part("io_urng").expect_err("none").contains("choose from psync, scsi, sleep, libaio"));
    }

    #[test]
    fn the_caller_is_left_out_and_a_difference_is_shared_out() {
        let small = cost(&[("user", 29), ("syscall", 281), ("vfs", 500), ("block", 2001), ("nvme", 600)]);
        let large = cost(&[("user", 31), ("syscall", 281), ("vfs", 500), ("block", 2001), ("nvme", 630)]);
        let (numbers, lacking) = made("psync", &[("small", small), ("large", large)]);
        let of = |key: &str| numbers.iter().find(|number| number.key == key).expect(key).instructions;
        assert_eq!(lacking, Vec::<String>::new());
        let counted = ["os.syscall", "os.vfs", "os.block", "read", "page"].map(of);
        assert_eq!(counted.map(|count| (count * 2.0).round() as u64), [562, 1000, 2001, 6764, 4]);
    }

    #[test]
    fn what_a_call_takes_once_is_what_eight_of_one_take_more_than_one_of_eight() {
        let (one, eight) = (cost(&[("syscall", 9), ("vfs", 30)]), cost(&[("syscall", 9), ("vfs", 100)]));
        let (numbers, _) = made("libaio", &[("one", one), ("eight", eight)]);
        let batch = numbers.iter().find(|number| number.key == "os.aio_batch").expect("counted");
        assert!((batch.instructions - 20.0).abs() < 1e-9, "30 = 20 + 10, 100 = 20 + 8 x 10");
        assert!(batch.how.starts_with("240 of 8 times a 4 KiB read of nvme"), "{}", batch.how);
    }

    #[test]
    fn a_case_that_was_not_counted_is_named_and_the_others_are_made() {
        let (numbers, lacking) = made("ext4", &[("read", cost(&[("fs", 9)])), ("bare", cost(&[("fs", 2)]))]);
        assert_eq!(numbers.len(), 1);
        assert!((numbers[0].instructions - 7.0).abs() < 1e-9);
        let (less, _) = made("ext4", &[("read", cost(&[("fs", 2)])), ("bare", cost(&[("fs", 9)]))]);
        assert!(less[0].instructions.abs() < 1e-9 && less[0].how.ends_with("; less than nothing, so none"));
        assert_eq!(lacking[0], "fs.write: `device=brd,file-system=ext4,op=write` was not counted");
    }

    #[test]
    fn a_count_is_written_with_its_case() {
        let one = cost(&[("vfs", 12_345)]);
        let (numbers, _) = made("psync", &[("small", one)]);
        let vfs = numbers.iter().find(|number| number.key == "os.vfs").expect("counted");
        assert_eq!(
            vfs.how,
            "12,345 of a 4 KiB read of nvme (psync) without syscall, block, elevator, interrupt, nvme"
        );
    }
}

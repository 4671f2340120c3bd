//! Is the JSON of every command what `iostack schema` says, and are files of another version refused?

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::shared::{Room, Started, command, holds, printed, refused, root, said, schema};

/// Commands that print JSON within moments, and the names of their schemas.
const PRINTED: &[(&str, &str)] = &[
    ("run --on sim:x25e --io-count 2000 --quiet --json", "run"),
    (
        "run --on sim:e5630 --set platform.memory=1GiB --io-count 500 --engine mmap --direct false --read-percent 50 --quiet --json",
        "run",
    ),
    ("stages --on sim:zero --set zero.latency=10us --io-count 10 --quiet --json", "stages"),
    ("sim sweep zero --vary zero.latency=10us,soon --io-count 10 --quiet --json", "sim sweep"),
    (
        "sim what-if zero --set zero.latency=20us --base zero.latency=10us --io-count 10 --quiet --json",
        "sim what-if",
    ),
    (
        "ab --on sim:zero --a zero.latency=10us --b zero.latency=11us --runtime 2ms --blocks 6 --quiet --json",
        "ab",
    ),
    ("serve sim:x25e --listen 127.0.0.1:0 --runtime 50ms --power-cut 1ms --quiet --json", "serve"),
    ("merge sim:e5630 --quick --quiet --json", "merge"),
    ("probe sim:x25e --quick --quiet --json", "probe"),
    ("sim list --parts --json", "sim list"),
    ("sim show x5570 --json", "sim show"),
    ("sim check optane-class --json", "sim check"),
    ("repro cmu.device_a --quiet --json", "repro"),
    ("doctor --json", "doctor"),
];

/// The same of this machine.
const MEASURED: &[(&str, &str)] = &[
    ("iolat FOLDER --runtime 150ms --size 16m --quiet --json", "iolat"),
    ("check FOLDER --quick --size 16m --no-files --quiet --against 970pro --json", "check"),
    ("merge FOLDER --quick --size 16m --quiet --json", "merge"),
    (
        "run --on FOLDER/file --size 4m --runtime 200ms --read-percent 0 --verify write_then_read --quiet --json",
        "run",
    ),
];

fn iostack(arguments: &[&str]) -> Output {
    command(arguments).current_dir(root()).output().expect("the binary was built")
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

fn hold(rows: &[(&str, &str)], folder: &str) {
    for (command, name) in rows {
        let command = command.replace("FOLDER", folder);
        let output = iostack(&words(&command));
        holds(name, &json(&command, &output), &command);
        let kind = if *name == "stages" { "run" } else { name };
        let text = printed(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        let label = text.replace(": ", ":").replace("{ ", "{").replace(", ", ",");
        assert!(
            label.starts_with(&format!("{{\"kind\":\"{kind}\",\"schema\":1,")),
            "{command}: {}",
            &text[..text.len().min(80)]
        );
    }
}

fn json(command: &str, output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{command}: {error}: {}", said(output)))
}

#[test]
fn what_each_command_prints_holds_with_its_schema() {
    hold(PRINTED, "");
}

#[test]
#[ignore = "slow: a minute"]
fn what_is_measured_here_holds_with_its_schema() {
    let room = Room::new("schema");
    hold(MEASURED, &room.0.display().to_string());
}

/// Commands that look at a process from outside, the schema, and the rung needed; without a rung, permission to trace.
const LOOKING: &[(&str, &str, Option<&str>)] = &[
    ("stages --pid PID --runtime 500ms --quiet --json", "stages --pid", Some("tracing")),
    ("layers --pid PID --runtime 500ms --quiet --json", "layers --pid", Some("all_samples")),
    ("cost --pid PID --instructions 20000 --json", "cost", None),
];

#[test]
fn what_is_seen_of_a_process_holds_with_its_schema() {
    let test = "what_is_seen_of_a_process_holds_with_its_schema";
    let ladder = json("doctor", &iostack(&["doctor", "--json"]));
    let rungs = ladder["rungs"].as_array().expect("a list of rungs");
    let room = Room::new("looking");
    let load = "run --on data --size 8m --pattern random --time-based true --runtime 10m --quiet";
    let load = Started::by(command(&words(load)).current_dir(&room.0).stdout(Stdio::null()));
    for (command, name, needed) in LOOKING {
        let rung = rungs.iter().find(|rung| needed.is_some_and(|needed| rung["rung"] == needed));
        if let Some(rung) = rung.filter(|rung| rung["reached"] == false) {
            println!("SKIPPED {test}: {name}: {}", rung["reason"]);
            continue;
        }
        let command = command.replace("PID", &load.0.id().to_string());
        let output = iostack(&words(&command));
        if needed.is_none() && said(&output).contains("may not trace process") {
            println!("SKIPPED {test}: {name}: {}", said(&output).trim());
            continue;
        }
        let seen = json(&command, &output);
        holds(name, &seen, &command);
        assert!(seen["ios"].as_u64().is_some_and(|ios| ios > 0), "{command}: {seen}");
    }
}

#[test]
fn every_name_has_a_schema_with_its_version_and_others_are_refused() {
    let listed = String::from_utf8(iostack(&["schema"]).stdout).expect("UTF-8");
    let names: Vec<&str> = listed.lines().take_while(|line| !line.is_empty()).collect();
    assert!(names.len() >= 20, "{listed}");
    for name in &names {
        let id = schema(name)["$id"].as_str().expect("it has one").to_owned();
        assert_eq!(id, format!("urn:iostack:{}:1", name.replace(' ', "-")));
        labels(name);
    }
}

/// The schema says of each answer what it is, and that it says so.
fn labels(name: &str) {
    let whole = schema(name);
    let each = whole["items"]["$ref"].as_str().and_then(|place| whole.pointer(&place[1..]));
    let answer = each.unwrap_or(&whole);
    let kind = name.strip_suffix(" --all").unwrap_or(name);
    assert_eq!(answer["properties"]["kind"]["const"], kind);
    let required = answer["required"].as_array().expect("some fields are");
    for label in ["kind", "schema"] {
        assert_eq!(required.iter().filter(|field| **field == label).count(), 1, "{name}: {label}");
    }
}

/// A result that iostack reads again, and what reads it.
fn stored(room: &Room) -> Vec<PathBuf> {
    let rows = PRINTED.iter().filter(|(_, name)| ["run", "sim sweep", "ab", "merge", "serve"].contains(name));
    let mut files = Vec::new();
    for (index, (command, _)) in rows.enumerate() {
        let path = room.0.join(format!("{index}.json"));
        let output = iostack(&words(command));
        std::fs::write(&path, &output.stdout).expect("our own folder");
        files.push(path);
    }
    files
}

/// The same but for the last bit of numbers, which reading may lose.
fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| alike(a, b)))
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap_or_default(), b.as_f64().unwrap_or_default());
            (a - b).abs() <= 1e-15 * a.abs()
        }
        _ => a == b,
    }
}

#[test]
fn a_result_of_every_kind_gives_every_form_later() {
    let room = Room::new("forms");
    let files = stored(&room);
    let all: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    for path in &all {
        let [csv, parquet] = ["csv", "parquet"].map(|end| format!("{path}.{end}"));
        for (form, begins) in
            [("text", "iostack "), ("markdown", "# iostack "), ("openmetrics", "# TYPE iostack_")]
        {
            let output = iostack(&["report", path, "--format", form]);
            let text = printed(&output);
            assert!(output.status.success() && text.starts_with(begins), "{form}: {text}{}", said(&output));
        }
        let json = iostack(&["report", path, "--json", "--csv", &csv, "--parquet", &parquet]).stdout;
        let [again, first] = [json, std::fs::read(path).expect("it was written")]
            .map(|text| serde_json::from_slice::<Value>(&text).expect("JSON"));
        assert!(alike(&again, &first), "{path}: JSON is another one");
        assert!(std::fs::read(&parquet).expect("written").starts_with(b"PAR1"));
        let shown = iostack(&["report", path, "--format", "csv"]).stdout;
        assert!(shown == std::fs::read(&csv).expect("written"));
    }
    let several: Vec<&str> = all.iter().map(String::as_str).collect();
    let table = iostack(&[&["report"], &several[..], &["--format", "csv"]].concat());
    let table = String::from_utf8(table.stdout).expect("UTF-8");
    assert!(table.starts_with("file,"), "{table}");
    for path in &several {
        assert!(table.lines().any(|line| line.starts_with(path)), "{path}: {table}");
    }
    let fio = iostack(&["report", several[0], "--format", "fio-json"]);
    assert!(serde_json::from_slice::<Value>(&fio.stdout).expect("JSON")["fio version"].is_string());
    let two = iostack(&["report", several[0], several[1], "--format", "terse"]);
    assert!(said(&two).contains("fio's forms are of one run; name one file"), "{}", said(&two));
    let last = several.last().expect("there are some");
    let merge = iostack(&["report", last, "--format", "fio-json"]);
    assert!(said(&merge).contains("and fio has forms of runs alone"), "{}", said(&merge));
}

#[test]
fn a_file_of_a_newer_version_is_refused_with_one_error_whatever_it_holds() {
    let room = Room::new("newer");
    let mut files = stored(&room);
    // Of a later version nothing is sure but its number.
    let empty = room.0.join("empty.json");
    std::fs::write(&empty, "{}").expect("our own folder");
    files.push(empty);
    for path in files {
        let text = std::fs::read_to_string(&path).expect("it was written");
        let mut value: Value = serde_json::from_str(&text).expect("JSON");
        value["schema"] = 99.into();
        std::fs::write(&path, value.to_string()).expect("our own folder");
        for command in ["report", "compare"] {
            let file = path.display().to_string();
            let twice = if command == "compare" { 2 } else { 1 };
            let output = iostack(&[&[command], &vec![file.as_str(); twice][..]].concat());
            refused(&output, &["schema 99 is newer than this iostack, which reads up to 1; update iostack"]);
            assert_eq!(said(&output).lines().count(), 1);
        }
    }
}

#[test]
fn a_file_without_a_kind_is_known_by_its_fields() {
    let room = Room::new("before");
    for path in stored(&room) {
        let of = |path: &Path| iostack(&["report", &path.display().to_string()]).stdout;
        let now = of(&path);
        let text = std::fs::read_to_string(&path).expect("it was written");
        let (label, rest) = text.split_once(',').expect("there are fields");
        assert!(label.starts_with("{\"kind\":"), "{label}");
        std::fs::write(&path, format!("{{{rest}")).expect("our own folder");
        assert!(!now.is_empty() && of(&path) == now, "{label}");
    }
}

#[test]
fn an_answer_without_points_is_shown_again_and_has_no_table() {
    let room = Room::new("pointless");
    let path = room.0.join("answer.json").display().to_string();
    for name in ["sim what-if", "sim show", "repro", "doctor"] {
        let (command, _) = PRINTED.iter().find(|(_, kind)| *kind == name).expect("it is printed");
        let whole = iostack(&words(command)).stdout;
        let alone: Value = serde_json::from_slice(&whole).expect("JSON");
        // An array of one is that one.
        for document in [whole.clone(), [b"[", whole.as_slice(), b"]"].concat()] {
            std::fs::write(&path, document).expect("our own folder");
            let text = iostack(&["report", &path]);
            assert!(text.stdout.starts_with(b"iostack "), "{name}: {}", said(&text));
            let again = iostack(&["report", &path, "--json"]).stdout;
            assert!(alike(&serde_json::from_slice(&again).expect("JSON"), &alone), "{name}");
            let csv = iostack(&["report", &path, "--format", "csv"]);
            refused(&csv, &[&format!("is of `iostack {name}`, which has no table")]);
        }
    }
}

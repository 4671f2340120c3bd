//! Do options mean what a file says that they mean?
//!
//! Each line has options, a field of the job as JSON pointer, and its value (null: it is left out of JSON); or `!` and a part of the
//! error. `IOSTACK_PAGES=overwrite` puts in the values there are.

use std::path::Path;

use iostack_model::Job;

/// Compares what `made` makes of each line's options with the line; `path` is that of the file, below the crate.
pub(crate) fn check(path: &str, made: impl Fn(&str) -> Result<Job, String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = std::fs::read_to_string(&path).expect("it is there");
    let found = |line: &str| {
        let Some((options, rest)) = line.split_once(" | ").filter(|_| !line.starts_with('#')) else {
            return line.to_owned();
        };
        let (field, expected) = rest.split_once(" | ").expect("three columns");
        match made(options) {
            Err(said) if field == "!" && said.contains(expected) => line.to_owned(),
            Err(said) => format!("{options} | ! | {said}"),
            Ok(job) => {
                let json = serde_json::to_value(job).expect("plain data");
                format!("{options} | {field} | {}", json.pointer(field).unwrap_or(&serde_json::Value::Null))
            }
        }
    };
    let all: Vec<String> = text.lines().map(found).collect();
    if std::env::var_os("IOSTACK_PAGES").is_some_and(|wish| wish == "overwrite") {
        std::fs::write(&path, all.join("\n") + "\n").expect("it can be written");
    }
    for (number, (expected, found)) in (1..).zip(text.lines().zip(&all)) {
        assert_eq!(found, expected, "{}:{number}", path.display());
    }
}

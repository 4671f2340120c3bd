//! How is JSON of ours read? By one reader, which names the field that is wrong: each further one is a copy of all types in the program.

use serde::de::DeserializeOwned;

/// Reads what `--json` or a lab's guest wrote.
pub fn read_json<T: DeserializeOwned>(text: &str) -> anyhow::Result<T> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = serde_path_to_error::deserialize(&mut reader)?;
    reader.end()?;
    Ok(read)
}

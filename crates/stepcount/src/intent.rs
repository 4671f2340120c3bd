//! What do a generator's own words say that it will do?
//!
//! A generator lays its file out before its job begins. Those writes look like a job's: only what it was told tells them
//! from one. Pure; job files come in as a closure.

/// True when the words of fio or iostack, or the job files they name, ask for jobs that all read. Anything else, and
/// whatever is not understood, is false.
pub fn reads(words: &[String], file: impl Fn(&str) -> Option<String>) -> bool {
    let is_generator = |word: &String| matches!(word.rsplit('/').next(), Some("fio" | "iostack"));
    let Some(at) = words.iter().position(is_generator) else { return false };
    let is_fio = words[at].ends_with("fio");
    let mut asked: Vec<String> = Vec::new();
    let mut names_file = false;
    let mut words = words[at + 1..].iter();
    while let Some(word) = words.next() {
        if let Some(option) = word.strip_prefix('-') {
            let option = option.trim_start_matches('-');
            if let Some((key, value)) = option.split_once('=') {
                asked.extend(is_direction(key).then(|| value.to_owned()));
            } else if is_direction(option) {
                asked.extend(words.next().cloned());
            }
        } else if let Some(text) = file(word) {
            names_file = true;
            asked.extend(directions(&text));
        }
    }
    // fio's default is to read.
    (is_fio && !names_file && asked.is_empty())
        || (!asked.is_empty() && asked.iter().all(|it| reads_some(it)))
}

fn is_direction(key: &str) -> bool {
    matches!(key.trim(), "rw" | "readwrite")
}

/// The directions that a job file asks for, in fio's form or in TOML.
fn directions(text: &str) -> impl Iterator<Item = String> {
    let lines = text.lines().filter_map(|line| line.split_once('='));
    lines.filter(|(key, _)| is_direction(key)).map(|(_, value)| value.trim().trim_matches('"').to_owned())
}

/// fio's names of directions, some with `:` and a number behind.
fn reads_some(direction: &str) -> bool {
    let name = direction.split(':').next().unwrap_or_default();
    matches!(name, "read" | "randread" | "rw" | "readwrite" | "randrw")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads_by(words: &str) -> bool {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        reads(&words, |name| match name {
            "r.fio" => Some("[global]\nbs=4k\n[a]\nrw=randread\n[b]\nrw = read:8\n".to_owned()),
            "w.fio" => Some("[a]\nrw=randread\n[b]\nrw=write\n".to_owned()),
            "none.fio" => Some("[a]\nbs=4k\n".to_owned()),
            "r.toml" => Some("[[job]]\nrw = \"randread\"\n".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn words_that_ask_for_reads_are_understood_and_others_left_alone() {
        let reading = [
            "fio --name=a --rw=randread --size=1m",
            "/usr/bin/fio --name=a --readwrite=randrw",
            "fio --name a --rw read",
            "taskset -c 1 fio r.fio",
            "iostack run r.fio --quiet",
            "iostack run r.toml",
            "fio --name=a --size=1m",
        ];
        let others = [
            "fio --name=a --rw=randwrite",
            "fio w.fio",
            "fio none.fio",
            "fio --name=a --rw=randread --name=b --rw=write",
            "fio --name=a --rw=${RW}",
            "iostack run none.fio",
            "dd --rw=randread",
            "",
        ];
        assert_eq!(reading.into_iter().filter(|words| !reads_by(words)).collect::<Vec<_>>(), [""; 0]);
        assert_eq!(others.into_iter().filter(|words| reads_by(words)).collect::<Vec<_>>(), [""; 0]);
    }
}

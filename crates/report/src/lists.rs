//! How do things become lists in the order in which they come?

/// Each once, in the order of the first.
pub(crate) fn distinct<Each: PartialEq>(all: impl IntoIterator<Item = Each>) -> Vec<Each> {
    let mut known: Vec<Each> = Vec::new();
    for each in all {
        if !known.contains(&each) {
            known.push(each);
        }
    }
    known
}

/// Each key once with all that has it, in the order of the first.
pub(crate) fn grouped<Key: PartialEq, Each>(
    all: impl IntoIterator<Item = (Key, Each)>,
) -> Vec<(Key, Vec<Each>)> {
    let mut groups: Vec<(Key, Vec<Each>)> = Vec::new();
    for (key, each) in all {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(each),
            None => groups.push((key, vec![each])),
        }
    }
    groups
}

/// Words one after another as one text.
pub(crate) trait Joined {
    /// The words with `between` from each to the next.
    fn joined(self, between: &str) -> String;
}

impl<Words: IntoIterator<Item: AsRef<str>>> Joined for Words {
    fn joined(self, between: &str) -> String {
        let mut text = String::new();
        for (place, word) in self.into_iter().enumerate() {
            if place > 0 {
                text += between;
            }
            text += word.as_ref();
        }
        text
    }
}

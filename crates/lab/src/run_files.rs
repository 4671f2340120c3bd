//! Files that one run of the machine has, and the one before has not: in its image, or in memory where it looks for them.
//!
//! ```text
//!   path length │ length │ path │ bytes │ .. │ 0        lengths: 8 bytes, little endian
//! ```

/// Files of a run, by their places.
#[derive(Default)]
pub(crate) struct RunFiles(Vec<(String, Vec<u8>)>);

impl RunFiles {
    /// Adds a file.
    pub(crate) fn add(&mut self, path: impl Into<String>, bytes: Vec<u8>) {
        self.0.push((path.into(), bytes));
    }

    /// All files with their paths.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(path, bytes)| (&path[..], &bytes[..]))
    }

    /// Length of [`RunFiles::packed`].
    pub(crate) fn packed_bytes(&self) -> u64 {
        8 + self.all().map(|(path, bytes)| 16 + path.len() as u64 + bytes.len() as u64).sum::<u64>()
    }

    /// All files, one behind the other.
    pub(crate) fn packed(&self) -> Vec<u8> {
        let mut packed = Vec::new();
        for (path, bytes) in self.all() {
            packed.extend((path.len() as u64).to_le_bytes());
            packed.extend((bytes.len() as u64).to_le_bytes());
            packed.extend(path.as_bytes());
            packed.extend(bytes);
        }
        packed.extend([0; 8]);
        packed
    }
}

/// First of the packed files, and what follows it; `None` where they end, or are none.
pub(crate) fn unpacked(packed: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    fn length(bytes: &[u8]) -> Option<(usize, &[u8])> {
        let (length, rest) = bytes.split_first_chunk()?;
        Some((u64::from_le_bytes(*length) as usize, rest))
    }
    let (path, rest) = length(packed)?;
    let (bytes, rest) = length(rest).filter(|_| path > 0)?;
    let (path, rest) = rest.split_at_checked(path)?;
    let (bytes, rest) = rest.split_at_checked(bytes)?;
    Some((std::str::from_utf8(path).ok()?, bytes, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_out_as_they_went_in_and_what_is_cut_off_does_not() {
        let mut files = RunFiles::default();
        files.add("/lab/a", vec![1, 2, 3]);
        files.add("/b", Vec::new());
        let packed = files.packed();
        assert_eq!(packed.len() as u64, files.packed_bytes());
        let (path, bytes, rest) = unpacked(&packed).expect("the first");
        assert_eq!((path, bytes), ("/lab/a", &[1, 2, 3][..]));
        let (path, bytes, rest) = unpacked(rest).expect("the second");
        assert_eq!((path, bytes), ("/b", &[][..]));
        assert_eq!((unpacked(rest), rest.len()), (None, 8));
        assert!((0..25).all(|cut| unpacked(&packed[..cut]).is_none()), "the first file takes 25 bytes");
        assert!(unpacked(&packed[..25]).is_some());
    }
}

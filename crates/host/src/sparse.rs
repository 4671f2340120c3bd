//! What of a sparse file is there?

use std::fs::File;
use std::io;
use std::ops::Range;

use crate::sys;

/// Stretches that hold data, offset and length, by lseek(2).
pub fn stretches(file: &File) -> io::Result<Vec<(u64, u64)>> {
    stretches_within(file, 0..u64::MAX)
}

/// Stretches of the range that hold data, offset and length.
pub fn stretches_within(file: &File, within: Range<u64>) -> io::Result<Vec<(u64, u64)>> {
    let (mut found, mut from) = (Vec::new(), within.start);
    while let Some(begin) = sys::seek(file, from, libc::SEEK_DATA)?.filter(|begin| *begin < within.end) {
        let Some(end) = sys::seek(file, begin, libc::SEEK_HOLE)? else { break };
        found.push((begin, end.min(within.end) - begin));
        from = end;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use iostack_testkit::Folder;

    use super::*;

    #[test]
    fn holes_are_left_out() {
        let folder = Folder::below(&std::env::temp_dir().to_string_lossy(), "iostack-sparse");
        let path = folder.join("file");
        let file = File::options().read(true).write(true).create_new(true).open(path).expect("a new file");
        file.set_len(1 << 40).expect("it is sparse");
        for at in [0, 1 << 30, (1 << 40) - 4096] {
            file.write_all_at(&[7; 4096], at).expect("it takes it");
        }
        let page = 4096;
        assert_eq!(
            stretches(&file).expect("it can be asked"),
            [(0, page), (1 << 30, page), ((1 << 40) - page, page)]
        );
        let within = |range| stretches_within(&file, range).expect("it can be asked");
        assert_eq!(within(page - 1..(1 << 30) + 1), [(page - 1, 1), (1 << 30, 1)]);
        assert_eq!(within(page..1 << 30), []);
        file.set_len(0).expect("it shrinks");
        assert_eq!(stretches(&file).expect("it can be asked"), []);
    }
}

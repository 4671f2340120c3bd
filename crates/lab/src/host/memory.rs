//! Where does the guest's memory lie in the emulator's file?

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The guest's memory, as the emulator maps it.
pub(crate) struct Memory {
    file: File,
    /// Bytes below the hole under 4 GiB.
    low: u64,
}

/// Most bytes that the emulator's `microvm` puts below 4 GiB (`microvm_memory_init` of QEMU's hw/i386/microvm.c; tried
/// with 3,300 and 5,000 MiB).
const LOW_MOST: u64 = 3 << 30;
const HIGH: u64 = 1 << 32;

impl Memory {
    pub(crate) fn new(file: File, bytes: u64) -> Memory {
        Memory { file, low: bytes.min(LOW_MOST) }
    }

    fn at(&self, address: u64) -> u64 {
        if address < HIGH { address } else { address - HIGH + self.low }
    }

    pub(crate) fn read(&self, address: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, self.at(address))
    }

    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.at(address))
    }

    pub(crate) fn words(&self, address: u64, count: usize) -> io::Result<Vec<u64>> {
        let mut bytes = vec![0; count * 8];
        self.read(address, &mut bytes)?;
        Ok(bytes.chunks_exact(8).map(word).collect())
    }
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_host::memory_file;

    impl Memory {
        /// The same memory.
        pub(crate) fn again(&self) -> Memory {
            Memory { file: self.file.try_clone().expect("it is open"), low: self.low }
        }
    }

    #[test]
    fn memory_beyond_the_hole_is_behind_what_lies_below_it() {
        let memory = Memory { file: memory_file(c"test").expect("memory"), low: LOW_MOST };
        assert_eq!(
            [0, LOW_MOST - 1, HIGH, HIGH + 5].map(|address| memory.at(address)),
            [0, LOW_MOST - 1, LOW_MOST, LOW_MOST + 5]
        );
    }
}

//! Whose turn is it, of several files?

use iostack_model::{FileOrder, Job};

use crate::Rng;

/// Chooses the file of the next I/O.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    order: FileOrder,
    /// I/Os of a turn, and those of this one that are still to come.
    every: u32,
    left_of_turn: u32,
    file: u16,
    /// Bytes of one pass over a file, and what each still has of it.
    pass: u64,
    left: Vec<u64>,
}

impl Turns {
    /// `pass` bytes in each of `files` files.
    pub(super) fn new(job: &Job, files: u16, pass: u64) -> Turns {
        let every = job.file_turns.every.max(1);
        let left = vec![pass; usize::from(files)];
        Turns { order: job.file_turns.order, every, left_of_turn: every, file: 0, pass, left }
    }

    /// Begins the next pass. Who takes turns goes on where it was.
    pub(super) fn restart(&mut self) {
        self.left.fill(self.pass);
        if self.order == FileOrder::Sequential {
            self.file = 0;
        }
    }

    /// The file of an I/O of `length` bytes.
    pub(super) fn next(&mut self, length: u32, rng: &mut Rng) -> u16 {
        if self.left.len() == 1 {
            return 0;
        }
        if self.left_of_turn == 0 {
            self.left_of_turn = self.every;
            self.file = match self.order {
                FileOrder::Random => rng.below(self.left.len() as u64) as u16,
                FileOrder::Turns => self.after(self.file),
                FileOrder::Sequential => self.file,
            };
        }
        self.left_of_turn -= 1;
        let length = u64::from(length);
        // Who has nothing left passes its turn on; when nobody has enough, the last I/O of a pass goes anywhere.
        let mut candidates = (0..self.left.len()).scan(self.file, |file, _| {
            let this = *file;
            *file = self.after(this);
            Some(this)
        });
        self.file = candidates.find(|&file| self.left[usize::from(file)] >= length).unwrap_or(self.file);
        let left = &mut self.left[usize::from(self.file)];
        *left = left.saturating_sub(length);
        self.file
    }

    /// Nothing more of this pass lies in `file`; false when no file has `length` bytes left.
    pub(super) fn close(&mut self, file: u16, length: u32) -> bool {
        self.left[usize::from(file)] = 0;
        self.left.iter().any(|&left| left >= u64::from(length))
    }

    fn after(&self, file: u16) -> u16 {
        if usize::from(file) + 1 == self.left.len() { 0 } else { file + 1 }
    }
}

#[cfg(test)]
mod tests {
    use iostack_model::FileTurns;

    use super::*;

    #[test]
    fn a_turn_goes_on_in_the_next_pass() {
        let turns = |order| {
            let job = Job { file_turns: FileTurns { order, every: 2 }, ..Job::default() };
            let (mut turns, mut rng) = (Turns::new(&job, 3, 512), Rng::from_seed(1));
            let mut pass = |turns: &mut Turns| [(); 3].map(|()| turns.next(512, &mut rng));
            let first = pass(&mut turns);
            turns.restart();
            (first, pass(&mut turns))
        };
        assert_eq!(turns(FileOrder::Turns), ([0, 1, 2], [2, 0, 1]), "file 2 had one of its two I/Os");
        assert_eq!(turns(FileOrder::Sequential), ([0, 1, 2], [0, 1, 2]));
    }
}

//! What the crate does with whole files: job files and traces.

use iostack_workload::Rng;

mod job_files;
mod trace;

/// A text with one to eight small accidents, `pieces` among them.
fn mutated(text: &[u8], pieces: &str, rng: &mut Rng) -> Vec<u8> {
    let pieces: Vec<&str> = pieces.split(' ').chain([" "]).collect();
    let mut bytes = text.to_vec();
    for _ in 0..=rng.below(7) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        let to = (at + rng.below(20) as usize).min(bytes.len());
        match rng.below(5) {
            0 => drop(bytes.drain(at..to)),
            1 => drop(bytes.splice(at..at, pieces[rng.below(pieces.len() as u64) as usize].bytes())),
            2 => bytes.truncate(at.max(1)),
            3 => {
                let copy = bytes[at..to].to_vec();
                drop(bytes.splice(at..at, copy));
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << rng.below(8);
                }
            }
        }
    }
    bytes
}

//! What may be there after a power cut? A model that knows nothing of how, against each way to the disk ([`crate::ways`]).
//!
//! Of each sector the model has what was written since the last cut, in the order in which that was asked for. What was
//! answered and to be safe then, or was answered before a flush was asked for that is answered, is the least that is there. Nothing
//! but that and what came later may be; and whatever may be lost must be lost now and then, or a cut tries nothing.

use std::collections::BTreeMap;

use iostack_workload::Rng;

pub(crate) const SECTOR: usize = 512;

/// Sectors of the disk: more than 3 MiB, and the last block of 4 KiB is not whole.
pub(crate) const SECTORS: usize = 6147;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Write,
    Trim,
    Zero,
    Flush,
}

/// A request, its sectors, and when it was asked for and answered.
#[derive(Clone, Debug)]
pub(crate) struct OracleRequest {
    pub(crate) what: What,
    pub(crate) first: usize,
    pub(crate) count: usize,
    pub(crate) through: bool,
    asked: u64,
    answered: Option<u64>,
}

impl OracleRequest {
    /// First byte, and bytes.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        ((self.first * SECTOR) as u64, (self.count * SECTOR) as u64)
    }

    fn sectors(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.count
    }
}

/// Request by its place, and true when it went well.
pub(crate) type Answer = (usize, bool);

/// A way to a disk whose power is cut.
pub(crate) trait CutWay {
    fn ask(&mut self, id: usize, op: &OracleRequest, data: &[u8]);
    /// Time goes on; what was answered meanwhile.
    fn go_on(&mut self, random: &mut Rng) -> Vec<Answer>;
    /// The power is cut and comes back; what was answered until then.
    fn cut(&mut self, seed: u64) -> Vec<Answer>;
    /// Content of all sectors.
    fn content(&mut self) -> Vec<u8>;
}

/// Number of times that a cut did what it may do.
pub(crate) type CutTally = BTreeMap<&'static str, u64>;

struct Model {
    atom: usize,
    ops: Vec<OracleRequest>,
    clock: u64,
    /// Version of each sector after the last cut.
    base: Vec<u64>,
    /// Requests to each sector since.
    asked: Vec<Vec<usize>>,
}

impl Model {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn next(&mut self, random: &mut Rng) -> usize {
        let what = match random.below(10) {
            0 | 1 => What::Flush,
            2 => What::Trim,
            3 => What::Zero,
            _ => What::Write,
        };
        let most = 1 << random.below(12);
        let count = if what == What::Flush { 0 } else { 1 + random.below(most) as usize };
        let first = random.below((SECTORS - count + 1) as u64) as usize;
        let through = what != What::Flush && random.below(3) == 0;
        let asked = self.tick();
        for sector in first..first + count {
            self.asked[sector].push(self.ops.len());
        }
        self.ops.push(OracleRequest { what, first, count, through, asked, answered: None });
        self.ops.len() - 1
    }

    fn answered(&mut self, answers: Vec<Answer>) {
        for (id, well) in answers {
            let now = self.tick();
            self.ops[id].answered = well.then_some(now);
        }
    }

    /// Version of a sector after this request.
    fn version(&self, id: usize) -> u64 {
        if self.ops[id].what == What::Write { id as u64 + 1 } else { 0 }
    }

    fn is_safe(&self, op: &OracleRequest) -> bool {
        let answered = self.ops.iter().filter(|op| op.what == What::Flush && op.answered.is_some());
        let covers = answered.map(|flush| flush.asked).max().unwrap_or(0);
        op.answered.is_some_and(|at| op.through || at < covers)
    }

    /// Looks at each sector: which of its requests may it be at most and at least? Then it is that.
    fn check(&mut self, content: &[u8], tally: &mut CutTally) {
        let safe: Vec<bool> = self.ops.iter().map(|op| self.is_safe(op)).collect();
        let mut shown = vec![0; SECTORS];
        // Of each request: sectors of which it is the newest, and that are there or lost.
        let mut fates = vec![(0, 0); self.ops.len()];
        for (sector, bytes) in content.chunks_exact(SECTOR).enumerate() {
            assert!(bytes[8..] == bytes[..SECTOR - 8], "sector {sector} is torn");
            let there = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
            let asked = &self.asked[sector];
            let least = asked.iter().rposition(|&id| safe[id]).map_or(0, |place| place + 1);
            let all: Vec<u64> =
                [self.base[sector]].into_iter().chain(asked.iter().map(|&id| self.version(id))).collect();
            let place = (least..all.len()).rev().find(|&place| all[place] == there);
            let ops: Vec<&OracleRequest> = asked.iter().map(|&id| &self.ops[id]).collect();
            shown[sector] = place.unwrap_or_else(|| {
                panic!("sector {sector} is {there}, which is none of {:?}: {ops:?}", &all[least..])
            });
            if let Some(&newest) = asked.last() {
                let lost = there != self.version(newest);
                let fate = &mut fates[newest];
                (fate.0, fate.1) = (fate.0 + u32::from(!lost), fate.1 + u32::from(lost));
                if lost {
                    self.count(&ops, tally);
                }
            }
        }
        *tally.entry("torn").or_default() +=
            fates.iter().filter(|fate| fate.0 > 0 && fate.1 > 0).count() as u64;
        self.check_atoms(content, &safe, &shown);
        for (sector, bytes) in content.chunks_exact(SECTOR).enumerate() {
            self.base[sector] = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
            self.asked[sector].clear();
        }
    }

    /// A request that covers an atom is there in all of its sectors that need not be newer, or in none.
    fn check_atoms(&self, content: &[u8], safe: &[bool], shown: &[usize]) {
        for first in (0..SECTORS).step_by(self.atom) {
            let atom = first..(first + self.atom).min(SECTORS);
            // Which zeros are they?
            if atom.clone().any(|sector| content[sector * SECTOR..][..8] == [0; 8]) {
                continue;
            }
            for &id in &self.asked[first] {
                let op = &self.ops[id];
                if op.first > atom.start || op.sectors().end < atom.end {
                    continue;
                }
                let mut there: Vec<bool> = Vec::new();
                for sector in atom.clone() {
                    let asked = &self.asked[sector];
                    let place = asked.iter().position(|each| *each == id).expect("it covers it");
                    if !asked[place..].iter().any(|&id| safe[id]) {
                        there.push(shown[sector] > place);
                    }
                }
                there.dedup();
                assert!(there.len() < 2, "request {id} is torn within the atom at sector {first}: {op:?}");
            }
        }
    }

    /// The newest of these requests of a sector was lost: which of what may be is that?
    fn count(&self, asked: &[&OracleRequest], tally: &mut CutTally) {
        let (newest, before) = asked.split_last().expect("there is a newest");
        let end = newest.answered.unwrap_or(u64::MAX);
        let flushes = || self.ops.iter().filter(|op| op.what == What::Flush);
        // It came while that was under way, which is answered.
        let beside =
            |op: &OracleRequest| op.asked < newest.asked && op.answered.is_some_and(|at| at > newest.asked);
        let waits = flushes().any(|flush| flush.answered.is_none() && flush.asked > end);
        let between = flushes().any(|flush| beside(flush) && flush.answered > newest.answered);
        for (name, is) in [
            ("answered", newest.answered.is_some()),
            ("not answered", newest.answered.is_none()),
            ("to be safe and not answered", newest.through),
            ("before a flush that is not answered", waits),
            ("behind a flush that is answered", flushes().any(beside)),
            ("between two flushes of which the first is answered", waits && between),
            ("behind one that is safe", before.iter().any(|op| op.through && beside(op))),
        ] {
            *tally.entry(name).or_default() += u64::from(is);
        }
    }
}

/// Says which seed it was, should it fail.
struct Tell(u64);

impl Drop for Tell {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("with IOSTACK_ORACLE_SEED={} it fails again", self.0);
        }
    }
}

/// Some cuts of a disk with atoms of so many bytes, each after some requests.
pub(crate) fn trial(seed: u64, way: &mut dyn CutWay, atom: u64, tally: &mut CutTally) {
    let _tell = Tell(seed);
    let mut random = Rng::from_seed(seed);
    let mut model = Model {
        atom: atom as usize / SECTOR,
        ops: Vec::new(),
        clock: 0,
        base: vec![0; SECTORS],
        asked: vec![Vec::new(); SECTORS],
    };
    for cut in 0..4 {
        for _ in 0..random.below(24) {
            let id = model.next(&mut random);
            let op = model.ops[id].clone();
            let data = if op.what == What::Write { op.count * SECTOR / 8 } else { 0 };
            way.ask(id, &op, &model.version(id).to_le_bytes().repeat(data));
            for _ in 0..random.below(4) {
                model.answered(way.go_on(&mut random));
            }
        }
        model.answered(way.cut(seed ^ cut));
        model.check(&way.content(), tally);
    }
}

/// The seeds to try: those, or the one that is asked for.
pub(crate) fn seeds(all: std::ops::Range<u64>) -> std::ops::Range<u64> {
    match std::env::var("IOSTACK_ORACLE_SEED") {
        Ok(seed) => seed.parse().map_or(0..0, |seed: u64| seed..seed + 1),
        Err(_) => all,
    }
}

/// Asserts that everything that may happen at a cut did.
pub(crate) fn assert_all(tally: &CutTally) {
    if std::env::var("IOSTACK_ORACLE_SEED").is_err() {
        assert!(tally.len() == 8 && tally.values().all(|count| *count > 0), "{tally:?}");
    }
}

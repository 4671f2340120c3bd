//! What is under way?

use iostack_model::{Direction, Stage};

use super::Time;

/// A request's place among those under way; used again when it is through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub u32);

/// Kind of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Data to the host.
    #[default]
    Read,
    /// Data from the host.
    Write,
    /// The range may be forgotten.
    Trim,
    /// All that was acknowledged must be on the medium.
    Flush,
    /// The caller computes for as many clocks of its core as the length says; for hosts, no device sees it.
    Compute,
}

impl Kind {
    /// The kind of a direction.
    pub const fn of_direction(direction: Direction) -> Kind {
        match direction {
            Direction::Read => Kind::Read,
            Direction::Write => Kind::Write,
            Direction::Trim => Kind::Trim,
        }
    }
}

/// Stages that a request can spend time in: the number of variants of [`Stage`].
pub const STAGES: usize = Stage::WAY.len();

/// Parts that a request can be passed down through.
const PATH_MAX: usize = 8;

/// One request under way. What nearly every step needs is one line of the processor's cache, and what few need is last: large
/// platforms have thousands under way.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub struct Request {
    pub(super) mark: Time,
    /// Bit i: stage i took time.
    touched: u32,
    /// Stages that took time.
    stages: u8,
    depth: u8,
    /// Kind of the request.
    pub kind: Kind,
    /// The kernel asks for it by itself: an interrupt completes it without waking the thread that submitted it.
    pub by_kernel: bool,
    /// Offset of the first byte.
    pub offset: u64,
    /// Bytes; 0 of a flush.
    pub length: u32,
    /// Belongs to whoever submitted or forked it.
    pub user: u32,
    /// Belongs to the part that holds it.
    pub scratch: u64,
    /// Requests that were sent right after it and share its command: [`super::Sim::send_together`].
    pub followers: u32,
    /// Mark of the data under verification: of a write, what it writes; of a read, what the device found, 0 where nothing was
    /// written, [`Request::TORN`] where blocks differ.
    pub stamp: u32,
    path: [u16; PATH_MAX],
    /// Submission; of a part of a request, the fork.
    pub submitted: Time,
    /// Number of the request since the start; parts of it share it.
    pub serial: u64,
    pub(super) parent: Option<RequestId>,
    pub(super) children: u32,
    /// A part of it has brought its stamp.
    pub(super) stamped: bool,
    /// Placement handle of what it writes; drives that have fewer take their last.
    pub stream: u8,
    /// Times of the stages that took any, in order of their first: the stage below [`STAGE_BITS`], ns above.
    spent: [u64; STAGES],
}

/// Bits of a stage's number.
const STAGE_BITS: u32 = 5;
const _: () = assert!(STAGES <= 1 << STAGE_BITS && size_of::<Request>() == 320);

impl Request {
    /// The stamp of a read whose blocks do not belong to the same write.
    pub const TORN: u32 = u32::MAX;

    /// The number of a request that no caller waits for: [`super::Sim::spawn`].
    pub const NOBODY: u64 = u64::MAX;

    /// Makes a request in the place of one that is through, or of a new one.
    #[inline]
    pub(super) fn renew(&mut self, kind: Kind, offset: u64, length: u32, now: Time) {
        (self.stages, self.touched) = (0, 0);
        (self.kind, self.offset, self.length) = (kind, offset, length);
        (self.submitted, self.mark) = (now, now);
        (self.stamp, self.user, self.scratch, self.followers, self.serial) = (0, 0, 0, 0, 0);
        (self.parent, self.children, self.stamped, self.depth) = (None, 0, false, 0);
        (self.by_kernel, self.stream) = (false, 0);
    }

    /// Time spent in each stage that took any, in order of their first.
    #[inline]
    pub fn stages(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let split = |&spent: &u64| ((spent % (1 << STAGE_BITS)) as usize, spent >> STAGE_BITS);
        self.spent[..usize::from(self.stages)].iter().map(split)
    }

    #[inline]
    pub(super) fn charge(&mut self, stage: Stage, now: Time) -> Time {
        let from = std::mem::replace(&mut self.mark, now);
        if now > from {
            self.add(stage as usize, now - from);
        }
        from
    }

    #[inline]
    fn add(&mut self, stage: usize, ns: u64) {
        if self.touched >> stage & 1 == 1 {
            return self.add_more(stage, ns);
        }
        self.touched |= 1 << stage;
        self.spent[usize::from(self.stages)] = ns << STAGE_BITS | stage as u64;
        self.stages += 1;
    }

    fn add_more(&mut self, stage: usize, ns: u64) {
        let before = self.spent.iter_mut().find(|spent| (**spent % (1 << STAGE_BITS)) as usize == stage);
        *before.expect("it took time before") += ns << STAGE_BITS;
    }

    /// Takes the stages of the part that ended last; they cover the time since the fork.
    pub(super) fn adopt(&mut self, child: &Request) {
        child.stages().for_each(|(stage, ns)| self.add(stage, ns));
        self.mark = child.mark;
    }

    #[inline]
    pub(super) fn down(&mut self, from: u16) {
        assert!(
            usize::from(self.depth) < PATH_MAX,
            "a request was passed down through more than {PATH_MAX} parts"
        );
        self.path[usize::from(self.depth)] = from;
        self.depth += 1;
    }

    #[inline]
    pub(super) fn up(&mut self) -> Option<u16> {
        self.depth = self.depth.checked_sub(1)?;
        Some(self.path[usize::from(self.depth)])
    }
}

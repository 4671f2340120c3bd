//! What does an application ask next, and of whom?

use iostack_model::Nanos;

/// What an actor does next. The next one is asked for when this is through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Read, and wait for it.
    Read {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
        /// What the time counts as.
        part: Part,
    },
    /// Write, and wait for it.
    Write {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
        /// What the time counts as.
        part: Part,
    },
    /// Write, and go on at once.
    Post {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
    },
    /// Wait for everything posted.
    Drain,
    /// Flush, and wait for it.
    Flush(Part),
    /// So many clocks of a core.
    Compute(u32),
    /// Nothing for so long.
    Pause(Nanos, Part),
    /// Nothing, until [`Application::woken`] names this actor.
    Wait(Part),
    /// A transaction of this kind has ended, and the next one begins.
    End(usize),
    /// Nothing more, ever.
    Over,
}

/// What the time of a transaction goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Clocks, and waiting for a core.
    Processor,
    /// Reads of data, and pages that somebody else is reading.
    Reads,
    /// Writes of data that a user waits for.
    Writes,
    /// Writes and flushes of the log, and waiting for the turn.
    Log,
    /// Waiting for a page that may be given up, or for room in the log: others write first.
    Cleaning,
    /// Waiting for a lock on a row.
    Rows,
    /// Waiting to be let in.
    Entry,
    /// The client and the network.
    Client,
}

impl Part {
    /// All of them.
    pub const ALL: [Part; 8] = [
        Part::Processor,
        Part::Reads,
        Part::Writes,
        Part::Log,
        Part::Cleaning,
        Part::Rows,
        Part::Entry,
        Part::Client,
    ];

    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Part::Processor => "processor",
            Part::Reads => "reads",
            Part::Writes => "writes",
            Part::Log => "log",
            Part::Cleaning => "waiting for page writes",
            Part::Rows => "locked rows",
            Part::Entry => "waiting to be let in",
            Part::Client => "client and network",
        }
    }
}

/// How an actor asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// Past the operating system's page cache.
    pub direct: bool,
    /// I/Os in flight at most.
    pub depth: u32,
}

/// A state machine for each actor, and what they share.
pub trait Application {
    /// How many there are.
    fn actors(&self) -> u32;

    /// How this one asks.
    fn manner(&self, actor: u32) -> Manner;

    /// The step of `actor`, whose last step is through.
    fn next(&mut self, actor: u32) -> Step;

    /// An actor that waited and may go on.
    fn woken(&mut self) -> Option<u32>;

    /// Measuring starts.
    fn begin(&mut self);

    /// Looks into its cache and those that found their page, since [`Application::begin`].
    fn hits(&self) -> Option<(u64, u64)>;

    /// The names of the kinds of transactions.
    fn kinds(&self) -> &'static [&'static str];
}

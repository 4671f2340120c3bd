//! What are we talking about?
//!
//!   job ──► target ──► outcome (+ caveats)
//!
//! A [`Job`] says what to ask of storage, a [`TargetName`] what answers, an [`Outcome`] is what came of it, and each
//! [`Caveat`] is one reason to doubt it. Every other crate speaks in these words. Nothing here does I/O.
//!
//! Start reading at [`Job`], then [`Outcome`].

#[macro_use]
mod defaults;
#[macro_use]
mod words;

mod access;
pub mod answers;
mod asked;
mod bins;
mod caveat;
mod data;
mod effort;
mod engine;
mod heat;
mod inside;
mod job;
mod ladder;
mod layers;
mod logs;
mod machine;
mod name_act;
mod observe;
mod outcome;
mod possible;
mod progress;
mod quoted;
mod recorded;
mod stages;
mod target_name;
mod units;

pub use access::{
    Access, Amount, BlockSizes, Direction, Distribution, FileOrder, FileTurns, Follow, Mix, Order,
    WritePointers, Zone, Zones,
};
pub use asked::{
    Advice, Beforehand, Demand, DepthFound, Ends, HostAsked, LatencyGoal, MemoryPolicy, Numa, PercentilesOf,
    Preferred, PreferredSize, Priority, RequestFlags, Share, Steadiness, Steady, SteadyFigure, SteadyLimit,
};
pub use bins::{BIN_COUNT, BINS_PER_OCTAVE, Bins, bin_index, bin_middle, bin_range};
pub use caveat::Caveat;
pub use data::{Backlog, Data, RangeSync, Repeated, Sync, Trims, Verify, VerifyMode};
pub use effort::Effort;
pub use engine::Engine;
pub use heat::{BINS_PER_CELL, CELL_COUNT, HEAT_COLUMNS, Heat, cell_place, cell_range};
pub use inside::{
    FlashUse, Gauge, HostLayer, HostUse, Inside, InsideFlow, Limiting, Load, MapUse, RaidUse, ResourceUse,
    StreamUse,
};
pub use job::{Arrival, Batch, Job, Rate, Think};
pub use ladder::{Ladder, Rung, RungState};
pub use layers::{Beside, Clocks, FunctionRow, Hardware, LayerRow, Layers, ProcessClocks, Quality, StackRow};
pub use logs::LogRequest;
pub use machine::{
    BlockDevice, Cpu, FileSystem, IoLimit, Kernel, Machine, Memory, Queue, Storage, Virtualisation,
};
pub use name_act::{NameAct, StatCall};
pub use observe::{Carrier, Lane, LaneRequest, Observer};
pub use outcome::{
    Band, CpuUse, DeviceCount, Failure, Flow, Interval, IntervalFlow, LogEntry, LogSpan, Outcome,
    OutcomeFile, ReadBack,
};
pub use possible::{SCHEMA, schema};
pub use progress::{Phase, Progress};
pub use quoted::quoted;
pub use recorded::Recorded;
pub use stages::{
    CallKind, DeviceStages, KindStages, Part, ProcessStages, Stage, StageWait, Stages, TracingCost, Way,
    WayStages,
};
pub use target_name::{TargetKind, TargetName};
pub use units::{Bytes, Nanos, ParseUnitError};

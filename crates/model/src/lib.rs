//! What are we talking about?
//!
//!   job ──► target ──► outcome (+ caveats)
//!
//! A [`Job`] says what to ask of storage, a [`Target`] is what answers, an [`Outcome`] is what came of it, and each
//! [`Caveat`] is one reason to doubt it. Every other crate speaks in these words. Nothing here does I/O.
//!
//! Start reading at [`Job`], then [`Outcome`].

mod access;
mod app;
mod batch;
mod bins;
mod card;
mod caveat;
mod check;
mod inside;
mod iocost;
mod iolat;
mod job;
mod ladder;
mod layers;
mod machine;
mod merge;
mod observe;
mod outcome;
mod possible;
mod progress;
mod repro;
mod stages;
mod sweep;
mod target;
mod target_name;
mod timeline;
mod units;
mod what_if;

pub use access::{Access, Amount, BlockSizes, Direction, Distribution, Mix, Order, Zone};
pub use app::{App, AppKind, AppPart, AppUse, Commit, Postmark, Tpcc};
pub use batch::{BatchCost, BatchFit, Gathering, Returns};
pub use bins::{BIN_COUNT, BINS_PER_OCTAVE, Bins, bin_index, bin_middle, bin_range};
pub use card::{Basis, DeviceCard, DeviceClaim, DeviceLevel, DeviceNumber, DevicePicture};
pub use caveat::Caveat;
pub use check::{
    Advice, Axis, Cell, Check, Cost, DepthOne, Limit, PathCost, Point, Saturation, Scratch, Step, StepKind,
    Summary, Verdict,
};
pub use inside::{FlashUse, Gauge, HostLayer, HostUse, Inside, InsideFlow, Limiting, Load, ResourceUse};
pub use iocost::{
    BudgetVerdict, CallNode, ClockPrices, CostCase, CostChange, CostDiff, CostFunction, CostLayer, CostMode,
    IoCost, MmioUse,
};
pub use iolat::{
    Iolat, IolatComparison, IolatProfile, IolatRound, IolatTest, LayerChange, LayerCost, LayerMapping, Moved,
    PublishedRun, PublishedTable, PublishedTest, TestChange,
};
pub use job::{Arrival, Batch, Data, Engine, Job, LogRequest, Rate, Sync, Think, Verify, VerifyMode};
pub use ladder::{Ladder, Rung, RungState};
pub use layers::{Beside, Clocks, FunctionRow, Hardware, LayerRow, Layers, Quality, StackRow};
pub use machine::{
    BlockDevice, Cpu, FileSystem, IoLimit, Kernel, Machine, Memory, Queue, Storage, Virtualisation,
};
pub use merge::{
    MergeAsk, MergeCell, MergeFit, MergePoint, MergeRatio, MergeReport, MergeRound, MergeTable, MergeVerdict,
};
pub use observe::{Carrier, Lane, LaneRequest, Observer};
pub use outcome::{
    CpuUse, DeviceCount, Failure, Flow, Interval, IntervalFlow, LogEntry, LogSpan, Outcome, OutcomeFile,
    SCHEMA,
};
pub use progress::{Phase, Progress};
pub use repro::{
    JudgedClaim, Repro, ReproBasis, ReproCurve, ReproDocument, ReproFitted, ReproLine, ReproMissing,
    ReproPlatform, ReproPlot, ReproPoint, ReproTally, ReproVerdict, Reproduced, judged_claims,
};
pub use stages::{DeviceStages, Part, Stage, Stages, TracingCost, Way, WayStages};
pub use sweep::{Sweep, SweepAxis, SweepPoint};
pub use target::{Ability, Audience, Description, Preparation, Prepared, RunClock, Target, Wanted, reseeded};
pub use target_name::{TargetKind, TargetName};
pub use timeline::TimelineSpan;
pub use units::{Bytes, Nanos, ParseUnitError};
pub use what_if::{WhatIf, WhatIfChange, WhatIfFigures, WhatIfNamed, WhatIfStep};

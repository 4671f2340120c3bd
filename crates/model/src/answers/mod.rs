//! What did a command find?
//!
//!   outcomes ──► a study, a sheet, the lab ──► answer ──► a report, JSON
//!
//! A command that runs one job tells its [`crate::Outcome`]; one that runs many tells an answer: what they say
//! together, with the outcomes it rests on. Answers are plain data. `study`, `sheet`, `sim` and `lab` make them, `report`
//! draws them, and files keep them, so a field's name is for ever.
//!
//! Start reading at [`Check`].

mod against;
mod calibrate;
mod card;
mod check;
mod figure;
mod history;
mod iocost;
mod iolat;
mod label;
mod merge;
mod prediction;
mod probe;
mod repro;
mod served;
mod sizing;
mod sweep;
mod timeline;
mod watch;
mod what_if;

/// Part of [`MergeFit`].
pub use iostack_batch::BatchCost;

pub use against::{Against, AgainstFigure, Kept};
pub use calibrate::{CalibratedNumber, CalibratedPoint, Calibration, CalibrationScore};
pub use card::{Basis, DeviceCard, DeviceClaim, DeviceLevel, DeviceNumber, DevicePicture, LevelName};
pub use check::{
    Advice, Axis, AxisName, Cell, CellName, Check, Cost, DepthOne, Limit, PathCost, PathPart, Point,
    Saturation, Scratch, Series, Step, StepKind, Summary, Verdict,
};
pub use figure::Figure;
pub use history::{
    History, HistoryCondition, HistoryFigure, HistoryRun, HistorySeries, HistoryStep, SeriesName,
};
pub use iocost::{
    BudgetVerdict, CALLS, CallNode, ClockPrices, CostCase, CostChange, CostDiff, CostFunction, CostLayer,
    CostMode, IoCost, MmioUse,
};
pub use iolat::{
    Iolat, IolatComparison, IolatProfile, IolatRound, IolatTest, LayerChange, LayerCost, LayerMapping, Moved,
    PublishedRun, PublishedTable, PublishedTest, TestChange,
};
pub use label::{Answer, Labelled, labelled, labelled_each};
pub use merge::{
    MergeAsk, MergeCell, MergeFit, MergePoint, MergeRatio, MergeReport, MergeRound, MergeTable, MergeVerdict,
};
pub use prediction::{
    DrawnNumber, PredictedFigure, PredictedPoint, Prediction, PredictionScore, WhatIfGain, WhatIfList,
};
pub use probe::{Probe, ProbeCurve, ProbeFinding, ProbePart, ProbePoint, ProbeUnit};
pub use repro::{
    JudgedClaim, Repro, ReproBasis, ReproCurve, ReproDocument, ReproDrawn, ReproDraws, ReproFitted,
    ReproLine, ReproMissing, ReproPlatform, ReproPlot, ReproPoint, ReproPredicted, ReproTally,
    ReproValidated, ReproVerdict, Reproduced, judged_claims,
};
pub use served::{CrashFailure, CrashPoints, LostWrite, SERVED_KINDS, Seen, Served, ServedCut, ServedKind};
pub use sizing::{CurvePoint, RankedNumber, Ranking, RateBand, Sizing, SizingStep, UnrankedNumber};
pub use sweep::{Sweep, SweepAxis, SweepPoint};
pub use timeline::TimelineSpan;
pub use watch::{
    DeviceEvent, IoKind, LongSleep, OwnedHow, OwnedIo, Owner, ProcessWait, SlowIo, WaitCause, Watch,
    WatchSlice, WatchedDevice, WatchedHeat, Why, WhyFinding,
};
pub use what_if::{WhatIf, WhatIfChange, WhatIfFigures, WhatIfNamed, WhatIfStep};

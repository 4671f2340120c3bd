//! What do many outcomes say?
//!
//! | question | answer |
//! | --- | --- |
//! | is this platform ready for its SSD, and what holds it back? | [`check`] |
//! | what did the tool of 2008 see? | [`iolat`] |
//! | which of two does better? | [`ab`] |
//! | which simulated platform answers as this machine did? | [`calibrate`] |
//! | does temporal merging pay on this device? | [`merge`] |
//! | what is inside this drive? | [`probe`] |
//! | how does a simulated device answer over a range? | [`sweep`] |
//! | what would a change give? | [`what_if`] |
//! | how near was a prediction? | [`prediction`] |
//!
//! Plans and judgements are pure; what measures tells a [`iostack_target::Audience`] how far it is and prints nothing.

pub mod ab;
pub mod calibrate;
pub mod check;
pub mod iolat;
pub mod merge;
pub mod prediction;
pub mod probe;
pub mod sweep;
pub mod what_if;

//! Do answers hold against simulations whose truth is known?

mod ab_truth;
mod doubts_truth;
mod truth;

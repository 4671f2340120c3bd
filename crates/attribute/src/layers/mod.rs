//! Where did the clocks go?

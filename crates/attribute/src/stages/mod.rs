//! Where did the latency go?

//! The ladder of this machine, climbed really.

use iostack_attribute::ladder;
use iostack_model::Rung;

#[test]
fn every_rung_of_this_machine_is_tried_and_explained() {
    let ladder = ladder::probe();
    for state in &ladder.rungs {
        println!("{} {}: {} ({:?})", state.rung.name(), state.reached, state.reason, state.remedy);
        assert!(!state.reason.is_empty());
        assert!(!state.reached || state.remedy.is_none(), "{state:?}");
    }
    for (name, found) in &ladder.facts {
        println!("{name}: {found}");
        assert!(!found.is_empty(), "{name}");
    }
    assert!(ladder.has(Rung::Counters));
}

//! Is each advised command whole, whatever the target is?

use super::*;

/// Each kind of advice that has a command, in turn the best that was measured.
fn every_advice(place: &Place) -> Vec<iostack_model::answers::Advice> {
    let mut all = Vec::new();
    for id in [StepKind::Depth, StepKind::Threads, StepKind::Engines, StepKind::Paths] {
        let mut check = quiet();
        each_point(&mut check, StepKind::Engines, |point| {
            if point.series.name().contains("batch") {
                point.outcome.job.batch = iostack_model::Batch { submit: 16, complete_min: 16 };
            }
            if id == StepKind::Engines
                && let Engine::IoUring { .. } = point.outcome.job.engine
            {
                point.outcome.caveats.push(Caveat::Punted { workers: 1, cpu_share: 0.5 });
                at_rate(point, if point.outcome.job.batch.submit > 1 { 9e6 } else { 1e3 });
            }
        });
        match id {
            StepKind::Paths => each_point(&mut check, id, |point| {
                at_rate(point, if point.series == Series::BufferedCold { 1e3 } else { 2e3 });
            }),
            StepKind::Threads => each_point(&mut check, id, |point| {
                at_rate(point, if point.outcome.job.threads > 1 { 9e6 } else { 1e3 });
            }),
            _ => {}
        }
        all.extend(judged_at(&check, place).advice);
    }
    all
}

#[test]
fn every_advised_run_names_its_target_and_is_understood() {
    for (on, end) in
        [("/fixture/iostack-file", " --unlink true"), ("'/fixture/a file'", ""), ("sim:x25e", "")]
    {
        let place = Place { on: on.to_owned(), end: end.to_owned(), ..place_for_tests() };
        let advice = every_advice(&place);
        for wanted in ["reads in flight", "Spread", "16 I/Os per", "worker threads", "O_DIRECT"] {
            let found = advice.iter().find(|advice| advice.act.contains(wanted));
            let found = found.unwrap_or_else(|| panic!("no `{wanted}`: {advice:?}"));
            let command = found.command.as_deref().unwrap_or_else(|| panic!("no command: {found:?}"));
            let rest = command.strip_prefix("iostack run --on ").expect(command);
            let (target, flags) = rest.split_once(" --").expect(command);
            assert_eq!((target, flags.contains("--unlink true")), (on, !end.is_empty()), "{flags}");
            // The command's other flags are the options of a job.
            let words: Vec<&str> = flags.split_whitespace().collect();
            let option =
                |pair: &[&str]| (pair[0].trim_start_matches("--").replace('-', "_"), pair[1].to_owned());
            let options: Vec<(String, String)> = words.chunks_exact(2).map(option).collect();
            let gathered = iostack_workload::gather::gather(&[], &[], &options, false, 2).expect(flags);
            assert_eq!((gathered.jobs.len(), words.len() % 2), (1, 0), "{flags}");
            let batch = gathered.jobs[0].batch.submit;
            assert_eq!(batch, if wanted == "16 I/Os per" { 16 } else { batch }, "{flags}");
        }
    }
}

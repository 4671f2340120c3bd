//! How does a group travel?
//!
//! All its requests are queued on the thread's lane, which one call sends and waits for. What came short is queued again, for
//! the rest. A group larger than the lane keeps it filled.

use std::io;
use std::iter::repeat_with;

use crate::ManyError;
use crate::lanes::with_lane;
use crate::scope;
use crate::sys::{Device, Finished, Lane, Loans, by_itself};

/// Fills or writes all buffers.
pub(crate) fn carry(device: &dyn Device, file_id: u64, mut loans: Loans<'_>) -> Result<(), ManyError> {
    let count = loans.count();
    let failures = if scope::is_inside() {
        Ok(run_in_scope(&mut loans, device, file_id))
    } else {
        with_lane(device, count, |lane| run(&mut loans, lane))
    };
    let refused = loans.take_refused();
    match failures {
        Ok(failures) if failures.is_empty() && refused.is_empty() => Ok(()),
        Ok(mut failures) => {
            failures.extend(refused);
            failures.sort_unstable_by_key(|&(index, _)| index);
            Err(ManyError { count, failures })
        }
        // Nothing was sent: each has the error.
        Err(error) => {
            Err(ManyError { count, failures: (0..count).zip(repeat_with(|| copy(&error))).collect() })
        }
    }
}

fn copy(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

/// Takes all of a group through a lane; which failed, in any order.
fn run(loans: &mut Loans<'_>, lane: &mut dyn Lane) -> Vec<(usize, io::Error)> {
    let mut fresh = 0..loans.count();
    let mut again = Vec::new();
    let mut failures = Vec::new();
    let mut finished = Vec::with_capacity(lane.depth().min(loans.count()));
    loop {
        while lane.held() < lane.depth() {
            match again.pop().or_else(|| fresh.next()) {
                Some(index) if loans.rest(index) > 0 => lane.push(loans.lend(index)),
                // An empty buffer is full.
                Some(_) => {}
                None => break,
            }
        }
        let held = lane.held();
        if held == 0 {
            return failures;
        }
        // While more is to come, the device is not left to run dry.
        let least = if fresh.is_empty() { held } else { held.div_ceil(2) };
        lane.enter(least, &mut finished);
        for (index, result) in finished.drain(..).map(|each| back(loans, each)) {
            match result {
                Ok(0) => {}
                Ok(_) => again.push(index),
                Err(error) => failures.push((index, error)),
            }
        }
    }
}

/// Takes all of a coroutine's group through its executor's lane, beside the requests of the others; which failed, in any order.
fn run_in_scope(loans: &mut Loans<'_>, device: &dyn Device, file_id: u64) -> Vec<(usize, io::Error)> {
    let mut failures = Vec::new();
    let mut wanted: Vec<usize> = (0..loans.count()).filter(|&index| loans.rest(index) > 0).collect();
    while !wanted.is_empty() {
        for &index in &wanted {
            if let Err(request) = scope::submit(device, file_id, loans.lend(index)) {
                by_itself(device, request);
            }
        }
        let mut out = wanted.iter().copied().skip_while(|&index| loans.is_back(index)).peekable();
        scope::wait_until(|| {
            while out.next_if(|&index| loans.is_back(index)).is_some() {}
            out.peek().is_none()
        });
        wanted.retain(|&index| match loans.settle(index) {
            Ok(rest) => rest > 0,
            Err(error) => {
                failures.push((index, error));
                false
            }
        });
    }
    failures
}

/// Gives a finished request back to its group: which it is, and bytes that are still wanted.
fn back(loans: &mut Loans<'_>, finished: Finished) -> (usize, io::Result<usize>) {
    let index = finished.tag() as usize;
    finished.deliver();
    (index, loans.settle(index))
}

/// The outcome of a group whose requests went one by one.
pub(crate) fn collect(count: usize, results: impl Iterator<Item = io::Result<()>>) -> Result<(), ManyError> {
    let failures: Vec<_> =
        results.enumerate().filter_map(|(index, result)| result.err().map(|error| (index, error))).collect();
    if failures.is_empty() { Ok(()) } else { Err(ManyError { count, failures }) }
}

#[cfg(test)]
#[path = "many_tests.rs"]
mod tests;

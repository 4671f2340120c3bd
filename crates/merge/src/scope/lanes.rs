//! How do requests of many files leave one thread?

use std::collections::VecDeque;

use crate::sys::{Device, Finished, Lane, Request};

/// Requests of one file that a thread has under way; more wait in its memory.
const DEPTH: usize = 256;

/// Part of what is under way that a waiter waits for. Being woken for each by itself costs a switch and a call of the
/// kernel for each: on a loop device 1.2 to 1.8 us of processor time for a request instead of 1.1 to 1.5.
const PART: usize = 4;

/// The lanes of a thread, one for each file.
#[derive(Default)]
pub(crate) struct Lanes {
    list: Vec<FileLane>,
    /// Lane whose turn it is to be waited for.
    turn: usize,
}

struct FileLane {
    file_id: u64,
    lane: Box<dyn Lane>,
    backlog: VecDeque<Request>,
}

impl Lanes {
    /// Queues a request; gives it back where no lane can be had.
    pub(crate) fn push(
        &mut self,
        device: &dyn Device,
        file_id: u64,
        request: Request,
    ) -> Result<(), Request> {
        let place = self.list.iter().position(|lane| lane.file_id == file_id);
        let file = if let Some(place) = place {
            &mut self.list[place]
        } else {
            let Ok(lane) = device.lane(DEPTH) else { return Err(request) };
            self.list.push(FileLane { file_id, lane, backlog: VecDeque::new() });
            self.list.last_mut().expect("it was pushed")
        };
        if file.backlog.is_empty() && file.lane.held() < file.lane.depth() {
            file.lane.push(request);
        } else {
            file.backlog.push_back(request);
        }
        Ok(())
    }

    /// True when something is queued or under way.
    pub(crate) fn held(&self) -> bool {
        self.list.iter().any(|file| file.lane.held() > 0)
    }

    /// Sends what is queued, one enter for each file, and fetches what is through; if `wait`, until a part of it is.
    pub(crate) fn serve(&mut self, wait: bool, finished: &mut Vec<Finished>) {
        let busy = self.list.iter().filter(|file| file.lane.held() > 0).count();
        for file in self.list.iter_mut().filter(|file| file.lane.held() > 0) {
            let least = if wait && busy == 1 { (file.lane.held() / PART).max(1) } else { 0 };
            file.lane.enter(least, finished);
        }
        if wait && finished.is_empty() && busy > 1 {
            // One of several: whose turn it is, so that none is kept from its results for long.
            let count = self.list.len();
            let mut turn = (1..=count).map(|step| (self.turn + step) % count);
            if let Some(place) = turn.find(|&place| self.list[place].lane.held() > 0) {
                self.turn = place;
                self.list[place].lane.enter(1, finished);
            }
        }
        for file in &mut self.list {
            while file.lane.held() < file.lane.depth()
                && let Some(request) = file.backlog.pop_front()
            {
                file.lane.push(request);
            }
        }
    }
}

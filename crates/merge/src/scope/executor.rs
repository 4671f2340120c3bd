//! Which coroutine runs next, and when are requests sent?
//!
//! ```text
//!   ready ──► resume each until it waits ──► their requests queue on the lanes ──► nobody is ready?
//!     ▲                                                                               │ one enter for all
//!     └────────────────── whose request is through, whose waker was called ◄──────────┘
//! ```

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use super::lanes::Lanes;
use super::pool::{Inbox, Pool, Wakes, keep_stacks, take_stacks};
use crate::sys::{Coroutine, Device, Finished, NoUnwinding, Request, Stack, Task};

/// Coroutines that an executor has started and not finished, unless only a new one can bring it on.
///
/// More would not send more, and each has a stack: two mappings of the 65,530 that a process may have by default.
const STARTED_MAX: usize = 1024;
/// Kept stacks that an executor takes at a time.
const STACKS: usize = 64;

thread_local! {
    static EXECUTOR: RefCell<Option<Rc<Executor>>> = const { RefCell::new(None) };
}

/// State that the coroutines of a thread share.
struct Executor {
    inbox: Arc<Inbox>,
    /// The coroutine that runs.
    current: Cell<usize>,
    ready: RefCell<VecDeque<usize>>,
    lanes: RefCell<Lanes>,
    pool: Arc<Pool>,
}

/// The pool of the executor on this thread.
pub(crate) fn pool() -> Option<Arc<Pool>> {
    EXECUTOR.with_borrow(|executor| executor.as_ref().map(|executor| Arc::clone(&executor.pool)))
}

/// Wakes the coroutine that runs here.
pub(crate) fn waker() -> Option<Waker> {
    EXECUTOR.with_borrow(|executor| {
        let executor = executor.as_ref()?;
        let wakes = Wakes { inbox: Arc::clone(&executor.inbox), coroutine: executor.current.get() };
        Some(Waker::from(Arc::new(wakes)))
    })
}

/// The coroutine that runs here goes on when the others had their turn.
pub(crate) fn is_ready() {
    EXECUTOR.with_borrow(|executor| {
        if let Some(executor) = executor {
            executor.ready.borrow_mut().push_back(executor.current.get());
        }
    });
}

/// Queues a request of the coroutine that runs here, which is resumed when it is through.
pub(crate) fn submit(device: &dyn Device, file_id: u64, mut request: Request) -> Result<(), Request> {
    EXECUTOR.with_borrow(|executor| {
        let Some(executor) = executor else { return Err(request) };
        request.set_tag(executor.current.get() as u64);
        executor.lanes.borrow_mut().push(device, file_id, request)
    })
}

/// The coroutines of a thread that are started and not through.
#[derive(Default)]
struct Started {
    list: Vec<Option<Coroutine>>,
    free: Vec<usize>,
    stacks: Vec<Stack>,
    finished: Vec<Finished>,
}

impl Started {
    fn count(&self) -> usize {
        self.list.len() - self.free.len()
    }

    fn stack(&mut self, bytes: usize) -> Stack {
        if self.stacks.is_empty() {
            self.stacks = take_stacks(bytes, STACKS);
        }
        self.stacks.pop().unwrap_or_else(|| Stack::new(bytes).expect("a stack can be mapped"))
    }

    fn add(&mut self, bytes: usize, task: Task) -> usize {
        let coroutine = Some(Coroutine::new(self.stack(bytes), task));
        if let Some(index) = self.free.pop() {
            self.list[index] = coroutine;
            return index;
        }
        self.list.push(coroutine);
        self.list.len() - 1
    }

    fn resume(&mut self, index: usize) {
        // One that was woken too often may be through.
        let Some(coroutine) = self.list[index].take() else { return };
        match coroutine.resume() {
            Ok(coroutine) => self.list[index] = Some(coroutine),
            Err(stack) => {
                self.stacks.push(stack);
                self.free.push(index);
            }
        }
    }
}

/// Runs on a thread of its own, until its pool is closed and nothing is left.
pub(crate) fn run(pool: Arc<Pool>, index: usize) {
    let _bug = NoUnwinding;
    let inbox = Arc::clone(&pool.inboxes[index]);
    let executor = Rc::new(Executor {
        inbox,
        current: Cell::new(0),
        ready: RefCell::default(),
        lanes: RefCell::default(),
        pool,
    });
    EXECUTOR.set(Some(Rc::clone(&executor)));
    let mut started = Started::default();
    while executor.turn(&mut started) {}
    EXECUTOR.take();
    keep_stacks(started.stacks);
}

impl Executor {
    /// Everyone who can runs until he waits, then all requests go; whether there may be another turn.
    fn turn(&self, started: &mut Started) -> bool {
        self.inbox.woken(&mut self.ready.borrow_mut());
        let ready = self.ready.borrow().len();
        for _ in 0..ready {
            let next = self.ready.borrow_mut().pop_front();
            next.inspect(|&index| self.resume(started, index));
        }
        while started.count() < STARTED_MAX && self.start(started, self.inbox.pop()) {}
        let is_ready = !self.ready.borrow().is_empty();
        if self.lanes.borrow().held() {
            self.lanes.borrow_mut().serve(!is_ready, &mut started.finished);
            for finished in started.finished.drain(..) {
                let coroutine = usize::try_from(finished.tag()).expect("it was an index");
                self.ready.borrow_mut().push_back(coroutine);
                // May call a waker, and that anything.
                finished.deliver();
            }
            return true;
        }
        is_ready || self.start(started, self.inbox.pop()) || self.idle(started)
    }

    /// Takes work from others before it sleeps.
    fn idle(&self, started: &mut Started) -> bool {
        started.count() == 0 && self.start(started, self.pool.steal()) || self.inbox.sleep()
    }

    fn start(&self, started: &mut Started, task: Option<Task>) -> bool {
        let Some(task) = task else { return false };
        let index = started.add(self.pool.stack_bytes, task);
        self.resume(started, index);
        true
    }

    fn resume(&self, started: &mut Started, index: usize) {
        self.current.set(index);
        started.resume(index);
    }
}

//! How far ahead of a reader does the kernel read? Linux's on-demand read-ahead (`mm/readahead.c`, since 2.6.23).
//!
//! ```text
//!      |<----- async ----|
//!   ---|-------------------|=====|=========== next window
//!      ^start            marker   ^start + size
//! ```
//!
//! A window's marker is where reading on asks for the next window, while the rest of this one is still to be read.

/// Pages to read from `first` on, with the marker at page `marker` of the file when there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) marker: Option<u32>,
}

/// The state of one open file, `struct file_ra_state`.
#[derive(Clone, Debug)]
pub(crate) struct ReadAhead {
    start: u32,
    size: u32,
    async_size: u32,
    /// The page that was read last.
    previous: Option<u32>,
    /// The largest window, pages; 0: no read-ahead.
    most: u32,
}

impl ReadAhead {
    pub(crate) fn new(most: u32) -> ReadAhead {
        ReadAhead { start: 0, size: 0, async_size: 0, previous: None, most }
    }

    /// A read went through this page.
    pub(crate) fn passed(&mut self, page: u32) {
        self.previous = Some(page);
    }

    /// The page is not cached; `wanted` pages from it on are asked for.
    pub(crate) fn missed(&mut self, page: u32, wanted: u32) -> Window {
        if self.most == 0 {
            return Window { first: page, count: wanted, marker: None };
        }
        let follows = page == self.start + self.size - self.async_size || page == self.start + self.size;
        if page > 0 && self.size > 0 && follows {
            return self.push(page);
        }
        let before = self.previous.map_or(u32::MAX, |previous| page.wrapping_sub(previous));
        if page == 0 || wanted > self.most || before <= 1 {
            (self.start, self.size) = (page, first_size(wanted, self.most));
            self.async_size = if self.size > wanted { self.size - wanted } else { self.size };
            return self.submit(page);
        }
        Window { first: page, count: wanted, marker: None }
    }

    /// The page is cached and has a marker; the pages behind it up to `hole` are cached too.
    pub(crate) fn marked(&mut self, page: u32, wanted: u32, hole: u32) -> Option<Window> {
        if self.most == 0 {
            return None;
        }
        if page == self.start + self.size - self.async_size || page == self.start + self.size {
            return Some(self.push(page));
        }
        if hole - page > self.most {
            return None;
        }
        (self.start, self.size) = (hole, hole - page + wanted);
        self.size = self.next_size();
        self.async_size = self.size;
        Some(self.submit(page))
    }

    /// Reading goes on as expected: the window moves on and grows.
    fn push(&mut self, page: u32) -> Window {
        self.start += self.size;
        self.size = self.next_size();
        self.async_size = self.size;
        self.submit(page)
    }

    fn submit(&mut self, page: u32) -> Window {
        if page == self.start && self.size == self.async_size {
            self.async_size = self.next_size();
            self.size += self.async_size;
        }
        let marker = (self.async_size > 0).then(|| self.start + self.size - self.async_size);
        Window { first: self.start, count: self.size, marker }
    }

    fn next_size(&self) -> u32 {
        let times = if self.size < self.most / 16 { 4 } else { 2 };
        (self.size * times).min(self.most)
    }
}

fn first_size(wanted: u32, most: u32) -> u32 {
    let size = wanted.next_power_of_two();
    if size <= most / 32 {
        size * 4
    } else if size <= most / 4 {
        size * 2
    } else {
        most
    }
}

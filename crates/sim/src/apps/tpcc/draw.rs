//! Which transaction comes next, and which rows does it want?
//!
//! TPC-C 5.11: clause 5.2.3 for the mix, 2.1.6 for the skew (`NURand`), 2.4 to 2.8 for the five transactions. Statements are
//! those of a client that sends them one by one.

use iostack_workload::Rng;

use super::schema::{
    CUSTOMERS, DELIVERED, DISTRICTS, HISTORY, ITEMS, NEW_ORDER, ORDER, ORDER_LINE, ORDERS, Schema,
};

/// The five transactions.
pub(super) const KINDS: &[&str] = &["new order", "payment", "order status", "delivery", "stock level"];
/// Percent of each: the least of all but new orders.
pub(super) const MIX: [u64; 5] = [45, 43, 4, 4, 4];

pub(super) const NEW_ORDERS: usize = 0;
const PAYMENT: usize = 1;
const ORDER_STATUS: usize = 2;
const DELIVERY: usize = 3;

/// Clocks of a statement: from the socket through parser, optimiser and storage engine to the answer. Assumed: `MySQL` 5.1
/// answers some 10 000 simple statements a second on one core of 2.4 GHz (sysbench, OLTP, read only, in memory).
pub(super) const STATEMENT: u32 = 240_000;
/// Clocks of each further row of a statement that looks at many. Assumed: 2 us.
const ROW: u32 = 4_800;

/// Bytes of redo: about twice the row that is written, and twice 60 for the heads of the record and its undo. Assumed.
const fn redo(bytes: u32) -> u32 {
    2 * (bytes + 60)
}

/// Orders of a district that stock level looks at.
const RECENT: usize = 20;

/// One thing that a transaction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Clocks of a core.
    Compute(u32),
    /// A lock on a row, until the end.
    Lock(u32),
    /// A page is used.
    Use(u32),
    /// A page is used and changed.
    Change(u32),
    /// A page that is new: nobody reads it first.
    Make(u32),
    /// The statement is answered; the client sends the next one.
    Answer,
}

/// A transaction, drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct Drawn {
    pub(super) kind: usize,
    pub(super) acts: Vec<Act>,
    /// Bytes for the log; 0 of one that changes nothing.
    pub(super) redo: u32,
    /// It ends without a commit.
    pub(super) rolled_back: bool,
}

/// The end of a table that grows.
#[derive(Clone, Copy, Debug)]
struct Tail {
    page: u32,
    room: u32,
}

/// An order of a district, newer than those at first.
#[derive(Clone, Copy, Debug)]
struct Order {
    customer: u16,
    page: u32,
    lines: u32,
}

#[derive(Clone, Debug)]
struct District {
    orders: Vec<Order>,
    /// The next one to be delivered, from 0.
    undelivered: u32,
    order: Tail,
    new_order: Tail,
    order_line: Tail,
    /// Items of the last orders, in turn.
    recent: Vec<Vec<u32>>,
}

/// What the database holds, as far as later transactions depend on it.
#[derive(Clone, Debug)]
pub(super) struct Content {
    schema: Schema,
    districts: Vec<District>,
    history: Tail,
    growth: u32,
    /// The last order of each customer, from 1; 0 for one of the first.
    last: Vec<u32>,
    /// The constants of `NURand`.
    constants: [u32; 3],
}

impl Content {
    pub(super) fn new(schema: Schema, rng: &mut Rng) -> Content {
        let count = schema.warehouses * DISTRICTS;
        let district = |district: u32, rng: &mut Rng| District {
            orders: Vec::new(),
            undelivered: DELIVERED,
            order: Tail { page: schema.order(district, ORDERS - 1), room: ORDER / 2 },
            new_order: Tail { page: schema.new_order(district), room: NEW_ORDER / 2 },
            order_line: Tail { page: schema.order_line(district, ORDERS - 1), room: ORDER_LINE / 2 },
            recent: (0..RECENT)
                .map(|_| (0..5 + rng.below(11)).map(|_| rng.below(u64::from(ITEMS)) as u32).collect())
                .collect(),
        };
        Content {
            districts: (0..count).map(|number| district(number, rng)).collect(),
            history: Tail { page: schema.history(), room: HISTORY / 2 },
            growth: schema.growth.0,
            last: vec![0; (count * CUSTOMERS) as usize],
            constants: [rng.below(256) as u32, rng.below(1024) as u32, rng.below(8192) as u32],
            schema,
        }
    }

    /// A transaction of a user whose home is `warehouse`. The content is as if it had ended.
    pub(super) fn draw(&mut self, warehouse: u32, rng: &mut Rng, into: &mut Drawn) {
        into.acts.clear();
        (into.redo, into.rolled_back) = (0, false);
        let mut left = rng.below(MIX.iter().sum());
        into.kind = MIX
            .iter()
            .position(|&share| {
                left < share || {
                    left -= share;
                    false
                }
            })
            .unwrap_or(0);
        let mut script = Script { content: self, rng, drawn: into };
        match script.drawn.kind {
            NEW_ORDERS => script.new_order(warehouse),
            PAYMENT => script.payment(warehouse),
            ORDER_STATUS => script.order_status(warehouse),
            DELIVERY => script.delivery(warehouse),
            _ => script.stock_level(warehouse),
        }
    }

    fn fresh_page(&mut self) -> u32 {
        let (first, end) = self.schema.growth;
        let page = self.growth;
        self.growth = if page + 1 == end { first } else { page + 1 };
        page
    }

    /// `NURand` of clause 2.1.6, from 0.
    fn skewed(&self, which: usize, count: u32, rng: &mut Rng) -> u32 {
        let a = [255, 1023, 8191][which];
        let both = rng.below(a + 1) as u32 | rng.below(u64::from(count)) as u32;
        (both + self.constants[which]) % count
    }

    /// The page of an order and of its first line, and its customer.
    fn order(&self, district: u32, order: u32) -> (u32, u32, u32) {
        match order.checked_sub(ORDERS) {
            None => {
                // Each customer has one of the first orders: a permutation.
                let customer = (order * 1103 + 17) % CUSTOMERS;
                (self.schema.order(district, order), self.schema.order_line(district, order), customer)
            }
            Some(index) => {
                let Order { customer, page, lines } =
                    self.districts[district as usize].orders[index as usize];
                (page, lines, u32::from(customer))
            }
        }
    }
}

/// A transaction that is being written down.
struct Script<'a> {
    content: &'a mut Content,
    rng: &'a mut Rng,
    drawn: &'a mut Drawn,
}

impl Script<'_> {
    fn act(&mut self, act: Act) {
        self.drawn.acts.push(act);
    }

    /// A statement that uses one page.
    fn select(&mut self, page: u32) {
        self.act(Act::Compute(STATEMENT));
        self.act(Act::Use(page));
        self.act(Act::Answer);
    }

    /// A statement that changes a row of so many bytes on one page.
    fn update(&mut self, page: u32, bytes: u32) {
        self.act(Act::Compute(STATEMENT));
        self.act(Act::Change(page));
        self.drawn.redo += redo(bytes);
        self.act(Act::Answer);
    }

    /// A row at the end of a table; the page it is on.
    fn insert(&mut self, tail: Tail, bytes: u32, on_a_page: u32) -> Tail {
        self.act(Act::Compute(STATEMENT));
        self.drawn.redo += redo(bytes);
        let tail = if tail.room == 0 {
            let page = self.content.fresh_page();
            self.act(Act::Make(page));
            Tail { page, room: on_a_page }
        } else {
            tail
        };
        self.act(Act::Change(tail.page));
        self.act(Act::Answer);
        Tail { room: tail.room - 1, ..tail }
    }

    fn below(&mut self, limit: u32) -> u32 {
        self.rng.below(u64::from(limit)) as u32
    }

    /// Another warehouse, where there is one.
    fn other(&mut self, warehouse: u32) -> u32 {
        let count = self.content.schema.warehouses;
        if count == 1 { warehouse } else { (warehouse + 1 + self.below(count - 1)) % count }
    }

    /// Locks: the rows of warehouses, then those of districts.
    fn lock_warehouse(&mut self, warehouse: u32) {
        self.act(Act::Lock(warehouse));
    }

    fn lock_district(&mut self, district: u32) {
        let lock = self.content.schema.warehouses + district;
        self.act(Act::Lock(lock));
    }

    /// A customer of the district: six in ten by name, of which there are three.
    fn customer(&mut self, district: u32) -> u32 {
        if self.below(100) >= 60 {
            let customer = self.content.skewed(1, CUSTOMERS, self.rng);
            self.select(self.content.schema.customer(district, customer));
            return customer;
        }
        let name = self.content.skewed(0, 1000, self.rng);
        self.act(Act::Compute(STATEMENT));
        self.act(Act::Use(self.content.schema.name(district, name)));
        self.act(Act::Answer);
        let three = [name, 1000 + (name * 387 + 11) % 1000, 2000 + (name * 743 + 5) % 1000];
        self.act(Act::Compute(STATEMENT + 2 * ROW));
        for customer in three {
            self.act(Act::Use(self.content.schema.customer(district, customer)));
        }
        self.act(Act::Answer);
        three[1]
    }

    fn new_order(&mut self, warehouse: u32) {
        let district = warehouse * DISTRICTS + self.below(DISTRICTS);
        let customer = self.content.skewed(1, CUSTOMERS, self.rng);
        let lines = 5 + self.below(11);
        self.drawn.rolled_back = self.below(100) == 0;
        self.act(Act::Compute(STATEMENT));
        self.act(Act::Use(self.content.schema.warehouse(warehouse)));
        self.act(Act::Use(self.content.schema.customer(district, customer)));
        self.act(Act::Answer);
        self.lock_district(district);
        let page = self.content.schema.district(district);
        self.select(page);
        self.update(page, 4);
        let place = district as usize;
        let order = self.insert(self.content.districts[place].order, 24, ORDER);
        self.act(Act::Change(self.content.schema.by_customer(district, customer)));
        let new_order = self.insert(self.content.districts[place].new_order, 8, NEW_ORDER);
        let mut order_line = self.content.districts[place].order_line;
        let first = order_line.page;
        let mut items = Vec::with_capacity(lines as usize);
        for _ in 0..lines {
            let item = self.content.skewed(2, ITEMS, self.rng);
            let supplier = if self.below(100) == 0 { self.other(warehouse) } else { warehouse };
            self.select(self.content.schema.item(item));
            let stock = self.content.schema.stock(supplier, item);
            self.select(stock);
            self.update(stock, 24);
            order_line = self.insert(order_line, 54, ORDER_LINE);
            items.push(item);
        }
        let Content { districts, last, .. } = &mut *self.content;
        let District { orders, recent, .. } = &mut districts[place];
        let number = orders.len();
        orders.push(Order { customer: customer as u16, page: order.page, lines: first });
        recent[number % RECENT] = items;
        last[place * CUSTOMERS as usize + customer as usize] = number as u32 + 1;
        let at = &mut districts[place];
        (at.order, at.new_order, at.order_line) = (order, new_order, order_line);
    }

    fn payment(&mut self, warehouse: u32) {
        let district = warehouse * DISTRICTS + self.below(DISTRICTS);
        self.lock_warehouse(warehouse);
        let page = self.content.schema.warehouse(warehouse);
        self.update(page, 8);
        self.select(page);
        self.lock_district(district);
        let page = self.content.schema.district(district);
        self.update(page, 8);
        self.select(page);
        let home = self.below(100) < 85;
        let buyer = if home { district } else { self.other(warehouse) * DISTRICTS + self.below(DISTRICTS) };
        let customer = self.customer(buyer);
        // One in ten has bad credit: 500 bytes of its data are rewritten.
        let bytes = if self.below(10) == 0 { 512 } else { 12 };
        self.update(self.content.schema.customer(buyer, customer), bytes);
        self.content.history = self.insert(self.content.history, 46, HISTORY);
    }

    fn order_status(&mut self, warehouse: u32) {
        let district = warehouse * DISTRICTS + self.below(DISTRICTS);
        let customer = self.customer(district);
        let last = self.content.last[(district * CUSTOMERS + customer) as usize];
        // The first orders are a permutation of the customers, so that any of them is one's own.
        let order = if last > 0 { ORDERS + last - 1 } else { self.below(ORDERS) };
        let (page, lines, _) = self.content.order(district, order);
        self.act(Act::Compute(STATEMENT));
        self.act(Act::Use(self.content.schema.by_customer(district, customer)));
        self.act(Act::Use(page));
        self.act(Act::Answer);
        self.act(Act::Compute(STATEMENT + 9 * ROW));
        self.act(Act::Use(lines));
        self.act(Act::Answer);
    }

    fn delivery(&mut self, warehouse: u32) {
        for district in warehouse * DISTRICTS..(warehouse + 1) * DISTRICTS {
            let at = &mut self.content.districts[district as usize];
            let order = at.undelivered;
            if order as usize >= ORDERS as usize + at.orders.len() {
                self.select(self.content.schema.new_order(district));
                continue;
            }
            at.undelivered += 1;
            let (page, lines, customer) = self.content.order(district, order);
            let new_order = self.content.schema.new_order(district);
            self.select(new_order);
            self.update(new_order, 8);
            self.select(page);
            self.update(page, 4);
            self.act(Act::Compute(9 * ROW));
            self.update(lines, 10 * 8);
            self.act(Act::Compute(9 * ROW));
            self.select(lines);
            self.update(self.content.schema.customer(district, customer), 8);
        }
    }

    fn stock_level(&mut self, warehouse: u32) {
        let district = warehouse * DISTRICTS + self.below(DISTRICTS);
        self.select(self.content.schema.district(district));
        let at = &self.content.districts[district as usize];
        let (mut items, lines): (Vec<u32>, u32) = (at.recent.concat(), at.order_line.page);
        items.sort_unstable();
        items.dedup();
        self.act(Act::Compute(STATEMENT + items.len() as u32 * 2 * ROW));
        self.act(Act::Use(lines));
        for item in items {
            self.act(Act::Use(self.content.schema.stock(warehouse, item)));
        }
        self.act(Act::Answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::Tpcc;

    fn content(warehouses: u32) -> (Content, Rng) {
        let mut rng = Rng::from_seed(4);
        let schema = Schema::new(&Tpcc { warehouses, ..Tpcc::default() }, 0);
        (Content::new(schema, &mut rng), rng)
    }

    #[test]
    fn the_mix_is_the_standards() {
        let (mut content, mut rng) = content(5);
        let mut counts = [0u64; 5];
        let mut drawn = Drawn::default();
        for turn in 0..50_000 {
            content.draw(turn % 5, &mut rng, &mut drawn);
            counts[drawn.kind] += 1;
        }
        for (count, share) in counts.iter().zip(MIX) {
            let expected = 50_000.0 * share as f64 / 100.0;
            assert!((*count as f64 - expected).abs() < 4.0 * expected.sqrt(), "{counts:?}");
        }
    }

    #[test]
    fn new_orders_have_ten_lines_and_one_in_a_hundred_is_rolled_back() {
        let (mut content, mut rng) = content(5);
        let (mut orders, mut lines, mut back, mut remote) = (0, 0, 0, 0);
        let mut drawn = Drawn::default();
        let stock = content.schema.stock(0, 0)..content.schema.stock(0, ITEMS - 1) + 1;
        let others = stock.end..content.schema.stock(4, ITEMS - 1) + 1;
        while orders < 20_000 {
            content.draw(0, &mut rng, &mut drawn);
            if drawn.kind != NEW_ORDERS {
                continue;
            }
            orders += 1;
            back += u32::from(drawn.rolled_back);
            for act in &drawn.acts {
                match act {
                    Act::Change(page) if stock.contains(page) => lines += 1,
                    Act::Change(page) if others.contains(page) => remote += 1,
                    _ => {}
                }
            }
        }
        let mean = f64::from(lines + remote) / 20_000.0;
        assert!((mean - 10.0).abs() < 0.1, "{mean} lines");
        assert!((150..250).contains(&back), "{back} rolled back");
        let share = f64::from(remote) / f64::from(lines + remote);
        assert!((share - 0.01).abs() < 0.002, "{share} from other warehouses");
    }

    #[test]
    fn the_skew_of_items_is_that_of_the_standard() {
        let (content, mut rng) = content(1);
        let mut many = 0;
        for _ in 0..1_000_000 {
            let item = (content.skewed(2, ITEMS, &mut rng) + ITEMS - content.constants[2]) % ITEMS;
            many += u32::from((item & 8191).count_ones() >= 9);
        }
        // Each of the 13 lower bits is 0 only when it is in both draws, so that ones are binomial with 3/4. The upper bits
        // go to 12, not to a power of two, which moves some.
        let (mut choose, mut expected) = (1.0, 0.0);
        for ones in 0..14 {
            if ones >= 9 {
                expected += choose * 0.75f64.powi(ones) * 0.25f64.powi(13 - ones);
            }
            choose *= f64::from(13 - ones) / f64::from(ones + 1);
        }
        assert!((f64::from(many) / 1e6 - expected).abs() < 0.01, "{many} of {expected}");
    }

    #[test]
    fn an_order_is_delivered_once_and_its_customer_finds_it() {
        let (mut content, mut rng) = content(1);
        let mut drawn = Drawn::default();
        (0..60_000).for_each(|_| content.draw(0, &mut rng, &mut drawn));
        for at in &content.districts {
            assert!(at.undelivered > DELIVERED);
            assert!(at.undelivered as usize <= ORDERS as usize + at.orders.len());
            let last = at.orders.len() as u32 - 1;
            assert!(at.orders[last as usize].page >= content.schema.order(0, 0));
        }
        let found = content.last.iter().filter(|&&last| last > 0).count();
        assert!(found > 1000, "{found} customers have a new order");
    }

    #[test]
    fn locks_are_always_taken_in_the_same_order() {
        let (mut content, mut rng) = content(3);
        let mut drawn = Drawn::default();
        for turn in 0..5000 {
            content.draw(turn % 3, &mut rng, &mut drawn);
            let locks = drawn.acts.iter().filter_map(|act| match act {
                Act::Lock(lock) => Some(*lock),
                _ => None,
            });
            let locks: Vec<u32> = locks.collect();
            assert!(locks.windows(2).all(|pair| pair[0] < pair[1]), "{locks:?}");
        }
    }
}

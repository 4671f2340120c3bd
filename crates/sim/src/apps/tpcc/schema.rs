//! Which page does a row lie on?
//!
//! ```text
//!   redo log │ doublewrite │ item │ warehouse, district │ customer │ names │ stock │ orders │ .. │ room to grow
//! ```
//!
//! Rows of the sizes that the standard gives (TPC-C 5.11, clause 1.2.1), in pages of 16 KiB, clustered by warehouse and
//! district as `InnoDB` keeps them: about 70 MB for each warehouse. Inner pages of the trees are few and always in the pool;
//! they are left out, as are the headers of rows and pages.

use iostack_model::Tpcc;

/// Bytes of a page.
pub(super) const PAGE: u32 = 16 << 10;
pub(super) const DISTRICTS: u32 = 10;
pub(super) const CUSTOMERS: u32 = 3000;
pub(super) const ITEMS: u32 = 100_000;
/// Orders of a district at first, and those of them that were delivered.
pub(super) const ORDERS: u32 = 3000;
pub(super) const DELIVERED: u32 = 2100;
/// Lines of each of those, for the place of their pages: the mean of 5 to 15.
const LINES: u32 = 10;
/// Pages that a batch of page writes goes to first: `InnoDB`'s two extents.
pub(super) const DOUBLEWRITE: u32 = 128;

/// Rows on a page.
const fn on_a_page(row: u32) -> u32 {
    PAGE / row
}

const ITEM: u32 = on_a_page(82);
const WAREHOUSE: u32 = on_a_page(89);
const DISTRICT: u32 = on_a_page(95);
const CUSTOMER: u32 = on_a_page(655);
const STOCK: u32 = on_a_page(306);
pub(super) const ORDER: u32 = on_a_page(24);
pub(super) const NEW_ORDER: u32 = on_a_page(8);
pub(super) const ORDER_LINE: u32 = on_a_page(54);
pub(super) const HISTORY: u32 = on_a_page(46);
/// Entries of secondary indices: customers by name (16 of the name, 8 of the key and its head), orders by customer.
const NAME: u32 = on_a_page(40);
const BY_CUSTOMER: u32 = on_a_page(20);

/// A table, as pages.
#[derive(Clone, Copy, Debug)]
struct Table {
    first: u32,
    /// Pages of a warehouse, or of a district where rows of districts do not share pages.
    each: u32,
}

/// Where everything lies.
#[derive(Clone, Debug)]
pub(super) struct Schema {
    pub(super) warehouses: u32,
    item: u32,
    warehouse: u32,
    district: u32,
    customer: Table,
    name: Table,
    stock: Table,
    order: Table,
    new_order: Table,
    order_line: Table,
    by_customer: Table,
    history: Table,
    /// First page of the room to grow, and behind it.
    pub(super) growth: (u32, u32),
    log: u64,
    base: u64,
}

impl Schema {
    pub(super) fn new(load: &Tpcc, base: u64) -> Schema {
        let warehouses = load.warehouses;
        let mut next = 0;
        let mut take = |pages: u32| {
            next += pages;
            next - pages
        };
        let item = take(ITEMS.div_ceil(ITEM));
        let warehouse = take(warehouses.div_ceil(WAREHOUSE));
        let district = take((warehouses * DISTRICTS).div_ceil(DISTRICT));
        let districts = warehouses * DISTRICTS;
        let mut table = |count: u32, rows: u32, on_a_page: u32| {
            let each = rows.div_ceil(on_a_page);
            Table { first: take(count * each), each }
        };
        let customer = table(warehouses, DISTRICTS * CUSTOMERS, CUSTOMER);
        let name = table(warehouses, DISTRICTS * CUSTOMERS, NAME);
        let stock = table(warehouses, ITEMS, STOCK);
        let order = table(districts, ORDERS, ORDER);
        let new_order = table(districts, ORDERS - DELIVERED, NEW_ORDER);
        let order_line = table(districts, ORDERS * LINES, ORDER_LINE);
        let by_customer = table(districts, ORDERS, BY_CUSTOMER);
        let history = table(warehouses, DISTRICTS * CUSTOMERS, HISTORY);
        let filled = next;
        let growth = (filled, filled + (filled / 20).max(8192));
        Schema {
            warehouses,
            item,
            warehouse,
            district,
            customer,
            name,
            stock,
            order,
            new_order,
            order_line,
            by_customer,
            history,
            growth,
            log: load.redo_log.0 / u64::from(PAGE) * u64::from(PAGE),
            base,
        }
    }

    /// Pages of the database, with its room to grow.
    pub(super) fn pages(&self) -> u32 {
        self.growth.1
    }

    /// Bytes that are data at first.
    #[cfg(test)]
    pub(super) fn data(&self) -> u64 {
        u64::from(self.growth.0) * u64::from(PAGE)
    }

    /// Bytes of the target, all together.
    pub(super) fn needed(&self) -> u64 {
        self.log + u64::from(DOUBLEWRITE + self.pages()) * u64::from(PAGE)
    }

    /// Where the log begins, and its bytes.
    pub(super) fn log(&self) -> (u64, u64) {
        (self.base, self.log)
    }

    pub(super) fn doublewrite(&self) -> u64 {
        self.base + self.log
    }

    /// Where a page begins on the target.
    pub(super) fn offset(&self, page: u32) -> u64 {
        self.base + self.log + u64::from(DOUBLEWRITE + page) * u64::from(PAGE)
    }

    pub(super) fn item(&self, item: u32) -> u32 {
        self.item + item / ITEM
    }

    pub(super) fn warehouse(&self, warehouse: u32) -> u32 {
        self.warehouse + warehouse / WAREHOUSE
    }

    pub(super) fn district(&self, district: u32) -> u32 {
        self.district + district / DISTRICT
    }

    /// `district` counts over all warehouses, `customer` within it.
    pub(super) fn customer(&self, district: u32, customer: u32) -> u32 {
        let (warehouse, row) = (district / DISTRICTS, district % DISTRICTS * CUSTOMERS + customer);
        self.customer.first + warehouse * self.customer.each + row / CUSTOMER
    }

    /// The index of customers by name, at one of the thousand names.
    pub(super) fn name(&self, district: u32, name: u32) -> u32 {
        let (warehouse, row) = (district / DISTRICTS, district % DISTRICTS * CUSTOMERS + name * 3);
        self.name.first + warehouse * self.name.each + row / NAME
    }

    pub(super) fn stock(&self, warehouse: u32, item: u32) -> u32 {
        self.stock.first + warehouse * self.stock.each + item / STOCK
    }

    /// Of one of the orders that were there at first.
    pub(super) fn order(&self, district: u32, order: u32) -> u32 {
        self.order.first + district * self.order.each + order.min(ORDERS - 1) / ORDER
    }

    /// The last page of what was there at first.
    pub(super) fn new_order(&self, district: u32) -> u32 {
        self.new_order.first + district * self.new_order.each + self.new_order.each - 1
    }

    pub(super) fn order_line(&self, district: u32, order: u32) -> u32 {
        self.order_line.first + district * self.order_line.each + order.min(ORDERS - 1) * LINES / ORDER_LINE
    }

    /// The index of orders by customer.
    pub(super) fn by_customer(&self, district: u32, customer: u32) -> u32 {
        self.by_customer.first + district * self.by_customer.each + customer / BY_CUSTOMER
    }

    /// The last page of the history, which is one list.
    pub(super) fn history(&self) -> u32 {
        self.history.first + self.warehouses * self.history.each - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warehouse_has_about_70_megabytes_as_the_slides_say() {
        for warehouses in [10, 100] {
            let schema = Schema::new(&Tpcc { warehouses, ..Tpcc::default() }, 0);
            let each = schema.data() as f64 / f64::from(warehouses) / 1e6;
            assert!((70.0..73.0).contains(&each), "{each} MB");
        }
    }

    #[test]
    fn tables_do_not_share_pages() {
        let schema = Schema::new(&Tpcc { warehouses: 7, ..Tpcc::default() }, 1 << 20);
        let last = 7 * DISTRICTS - 1;
        let ends = [
            (schema.item(0), schema.item(ITEMS - 1)),
            (schema.warehouse(0), schema.warehouse(6)),
            (schema.district(0), schema.district(last)),
            (schema.customer(0, 0), schema.customer(last, CUSTOMERS - 1)),
            (schema.name(0, 0), schema.name(last, 999)),
            (schema.stock(0, 0), schema.stock(6, ITEMS - 1)),
            (schema.order(0, 0), schema.order(last, ORDERS - 1)),
            (schema.new_order(0), schema.new_order(last)),
            (schema.order_line(0, 0), schema.order_line(last, ORDERS - 1)),
            (schema.by_customer(0, 0), schema.by_customer(last, CUSTOMERS - 1)),
            (schema.history(), schema.history()),
        ];
        assert!(ends.windows(2).all(|pair| pair[0].1 < pair[1].0), "{ends:?}");
        assert!(schema.history() < schema.growth.0);
        let (log, bytes) = schema.log();
        assert!(log + bytes == schema.doublewrite());
        assert_eq!(schema.offset(schema.pages()), (1 << 20) + schema.needed());
    }
}

-- Tables of TPC-C 5.11 (clause 1.3), filled as clause 4.3.3 says, in SQL that MariaDB and PostgreSQL both take.
-- tpcc.sh puts numbers in place of :names. Text is filler of the mean length. There are no foreign keys.

CREATE TABLE item (
  i_id INT PRIMARY KEY, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50));
CREATE TABLE warehouse (
  w_id INT PRIMARY KEY, w_name VARCHAR(10), w_street_1 VARCHAR(20), w_street_2 VARCHAR(20), w_city VARCHAR(20),
  w_state CHAR(2), w_zip CHAR(9), w_tax DECIMAL(4,4), w_ytd DECIMAL(12,2));
CREATE TABLE district (
  d_w_id INT, d_id INT, d_name VARCHAR(10), d_street_1 VARCHAR(20), d_street_2 VARCHAR(20), d_city VARCHAR(20),
  d_state CHAR(2), d_zip CHAR(9), d_tax DECIMAL(4,4), d_ytd DECIMAL(12,2), d_next_o_id INT,
  PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (
  c_w_id INT, c_d_id INT, c_id INT, c_first VARCHAR(16), c_middle CHAR(2), c_last VARCHAR(16),
  c_street_1 VARCHAR(20), c_street_2 VARCHAR(20), c_city VARCHAR(20), c_state CHAR(2), c_zip CHAR(9),
  c_phone CHAR(16), c_since TIMESTAMP, c_credit CHAR(2), c_credit_lim DECIMAL(12,2), c_discount DECIMAL(4,4),
  c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), c_payment_cnt INT, c_delivery_cnt INT, c_data VARCHAR(500),
  PRIMARY KEY (c_w_id, c_d_id, c_id));
CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first);
CREATE TABLE history (
  h_c_id INT, h_c_d_id INT, h_c_w_id INT, h_d_id INT, h_w_id INT, h_date TIMESTAMP, h_amount DECIMAL(6,2),
  h_data VARCHAR(24));
CREATE TABLE orders (
  o_w_id INT, o_d_id INT, o_id INT, o_c_id INT, o_entry_d TIMESTAMP, o_carrier_id INT, o_ol_cnt INT, o_all_local INT,
  PRIMARY KEY (o_w_id, o_d_id, o_id));
CREATE INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
CREATE TABLE new_order (no_w_id INT, no_d_id INT, no_o_id INT, PRIMARY KEY (no_w_id, no_d_id, no_o_id));
CREATE TABLE order_line (
  ol_w_id INT, ol_d_id INT, ol_o_id INT, ol_number INT, ol_i_id INT, ol_supply_w_id INT, ol_delivery_d TIMESTAMP NULL,
  ol_quantity INT, ol_amount DECIMAL(6,2), ol_dist_info CHAR(24),
  PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number));
CREATE TABLE stock (
  s_w_id INT, s_i_id INT, s_quantity INT, s_dist_01 CHAR(24), s_dist_02 CHAR(24), s_dist_03 CHAR(24),
  s_dist_04 CHAR(24), s_dist_05 CHAR(24), s_dist_06 CHAR(24), s_dist_07 CHAR(24), s_dist_08 CHAR(24),
  s_dist_09 CHAR(24), s_dist_10 CHAR(24), s_ytd INT, s_order_cnt INT, s_remote_cnt INT, s_data VARCHAR(50),
  PRIMARY KEY (s_w_id, s_i_id));

INSERT INTO item
  SELECT n, 1 + FLOOR(RAND() * 10000), CONCAT('item ', n), 1 + FLOOR(RAND() * 9901) / 100, REPEAT('i', 38)
  FROM numbers WHERE n <= :items;
INSERT INTO warehouse
  SELECT n, CONCAT('name ', n), REPEAT('s', 15), REPEAT('s', 15), REPEAT('c', 15), 'ST', '123411111',
    FLOOR(RAND() * 2001) / 10000, 300000
  FROM numbers WHERE n <= :warehouses;
INSERT INTO district
  SELECT w_id, n, CONCAT('name ', n), REPEAT('s', 15), REPEAT('s', 15), REPEAT('c', 15), 'ST', '123411111',
    FLOOR(RAND() * 2001) / 10000, 30000, :customers + 1
  FROM warehouse, numbers WHERE n <= 10;
INSERT INTO stock
  SELECT w_id, n, 10 + FLOOR(RAND() * 91), REPEAT('a', 24), REPEAT('b', 24), REPEAT('c', 24), REPEAT('d', 24),
    REPEAT('e', 24), REPEAT('f', 24), REPEAT('g', 24), REPEAT('h', 24), REPEAT('i', 24), REPEAT('j', 24),
    0, 0, 0, REPEAT('s', 38)
  FROM warehouse, numbers WHERE n <= :items;
INSERT INTO customer
  SELECT d_w_id, d_id, n, CONCAT('first ', FLOOR(RAND() * 1000000)), 'OE',
    last_name(CASE WHEN n <= 1000 THEN n - 1 ELSE nurand(255, 7, 0, 999) END),
    REPEAT('s', 15), REPEAT('s', 15), REPEAT('c', 15), 'ST', '123411111', '0123456789012345', CURRENT_TIMESTAMP,
    CASE WHEN RAND() < 0.1 THEN 'BC' ELSE 'GC' END, 50000, FLOOR(RAND() * 5001) / 10000, -10, 10, 1, 0,
    REPEAT('d', 400)
  FROM district, numbers WHERE n <= :customers;
INSERT INTO history
  SELECT c_id, c_d_id, c_w_id, c_d_id, c_w_id, CURRENT_TIMESTAMP, 10, REPEAT('h', 18) FROM customer;
INSERT INTO orders
  SELECT d_w_id, d_id, n, ROW_NUMBER() OVER (PARTITION BY d_w_id, d_id ORDER BY RAND()), CURRENT_TIMESTAMP,
    CASE WHEN n <= :delivered THEN 1 + FLOOR(RAND() * 10) END, 5 + FLOOR(RAND() * 11), 1
  FROM district, numbers WHERE n <= :customers;
INSERT INTO new_order SELECT o_w_id, o_d_id, o_id FROM orders WHERE o_id > :delivered;
INSERT INTO order_line
  SELECT o_w_id, o_d_id, o_id, n, 1 + FLOOR(RAND() * :items), o_w_id,
    CASE WHEN o_id <= :delivered THEN o_entry_d END, 5,
    CASE WHEN o_id <= :delivered THEN 0 ELSE (1 + FLOOR(RAND() * 999999)) / 100 END, REPEAT('l', 24)
  FROM orders, (SELECT n FROM numbers WHERE n <= 15) AS lines_of WHERE n <= o_ol_cnt;

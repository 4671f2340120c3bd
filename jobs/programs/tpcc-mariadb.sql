-- TPC-C-like transactions for MariaDB. tpcc.sh puts numbers in place of :names.
CREATE VIEW numbers AS SELECT seq AS n FROM seq_1_to_100000;
-- How each transaction ended; in memory, so that it asks nothing of the drive.
CREATE TABLE done (kind CHAR(12), ended BIGINT, took BIGINT, retried INT, rolled_back INT, terminal INT) ENGINE = MEMORY;
-- When each user began.
CREATE TABLE running (at_us BIGINT) ENGINE = MEMORY;
-- Rows come in the order of the keys.
SET join_cache_level = 0, rand_seed1 = 123456789, rand_seed2 = 987654321;

DELIMITER //
CREATE FUNCTION now_us() RETURNS BIGINT RETURN UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 //

CREATE FUNCTION draw(low INT, high INT) RETURNS INT RETURN low + FLOOR(RAND() * (high - low + 1)) //

CREATE FUNCTION nurand(a INT, c INT, low INT, high INT) RETURNS INT
  RETURN ((FLOOR(RAND() * (a + 1)) | (low + FLOOR(RAND() * (high - low + 1)))) + c) % (high - low + 1) + low //

CREATE FUNCTION syllable(digit INT) RETURNS VARCHAR(5)
  RETURN ELT(digit + 1, 'BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING') //

CREATE FUNCTION last_name(n INT) RETURNS VARCHAR(16)
  RETURN CONCAT(syllable(n DIV 100), syllable(n DIV 10 % 10), syllable(n % 10)) //

-- Another warehouse than this, where there is one.
CREATE FUNCTION other(home INT) RETURNS INT
  RETURN IF(:warehouses = 1, home, (home - 1 + draw(1, :warehouses - 1)) % :warehouses + 1) //

-- 60 % of the customers are known by name: the one in the middle of those who have it.
CREATE FUNCTION some_customer(w INT, d INT) RETURNS INT
BEGIN
  DECLARE name VARCHAR(16);
  DECLARE before_it, found INT;
  IF RAND() >= 0.6 THEN RETURN nurand(1023, 259, 1, :customers); END IF;
  SET name = last_name(nurand(255, 94, 0, :names - 1));
  SELECT (COUNT(*) - 1) DIV 2 INTO before_it FROM customer WHERE c_w_id = w AND c_d_id = d AND c_last = name;
  SELECT c_id INTO found FROM customer WHERE c_w_id = w AND c_d_id = d AND c_last = name
    ORDER BY c_first LIMIT before_it, 1;
  RETURN found;
END //

CREATE PROCEDURE new_order(home INT)
BEGIN
  DECLARE d INT DEFAULT draw(1, 10);
  DECLARE customer INT DEFAULT nurand(1023, 259, 1, :customers);
  DECLARE many INT DEFAULT draw(5, 15);
  DECLARE wrong BOOLEAN DEFAULT RAND() < 0.01;
  DECLARE all_local, line INT DEFAULT 1;
  DECLARE number, this_item, supplier, quantity, in_stock INT;
  DECLARE price DECIMAL(5,2);
  DECLARE w_rate, d_rate, discount DECIMAL(4,4);
  DECLARE name VARCHAR(16);
  DECLARE credit CHAR(2);
  DECLARE info CHAR(24);
  DECLARE EXIT HANDLER FOR NOT FOUND SIGNAL SQLSTATE '45000';

  SELECT w_tax, c_discount, c_last, c_credit INTO w_rate, discount, name, credit FROM warehouse, customer
    WHERE w_id = home AND c_w_id = home AND c_d_id = d AND c_id = customer;
  SELECT d_next_o_id, d_tax INTO number, d_rate FROM district WHERE d_w_id = home AND d_id = d FOR UPDATE;
  UPDATE district SET d_next_o_id = number + 1 WHERE d_w_id = home AND d_id = d;
  INSERT INTO new_order VALUES (home, d, number);
  WHILE line <= many DO
    SET this_item = IF(wrong AND line = many, :items + 1, nurand(8191, 7911, 1, :items));
    SET supplier = IF(RAND() < 0.01, other(home), home), quantity = draw(1, 10);
    SET all_local = all_local AND supplier = home;
    SELECT i_price INTO price FROM item WHERE i_id = this_item;
    SELECT s_quantity, ELT(d, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08,
        s_dist_09, s_dist_10) INTO in_stock, info
      FROM stock WHERE s_w_id = supplier AND s_i_id = this_item FOR UPDATE;
    UPDATE stock SET s_quantity = in_stock - quantity + IF(in_stock >= quantity + 10, 0, 91), s_ytd = s_ytd + quantity,
        s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + (supplier <> home)
      WHERE s_w_id = supplier AND s_i_id = this_item;
    INSERT INTO order_line VALUES (home, d, number, line, this_item, supplier, NULL, quantity, quantity * price, info);
    SET line = line + 1;
  END WHILE;
  INSERT INTO orders VALUES (home, d, number, customer, NOW(), NULL, many, all_local);
END //

CREATE PROCEDURE payment(home INT)
BEGIN
  DECLARE d INT DEFAULT draw(1, 10);
  DECLARE far BOOLEAN DEFAULT RAND() < 0.15;
  DECLARE cw INT DEFAULT IF(far, other(home), home);
  DECLARE cd INT DEFAULT IF(far, draw(1, 10), d);
  DECLARE amount DECIMAL(6,2) DEFAULT draw(100, 500000) / 100;
  DECLARE customer INT;

  UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = home;
  UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = home AND d_id = d;
  SET customer = some_customer(cw, cd);
  UPDATE customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
      c_payment_cnt = c_payment_cnt + 1,
      c_data = IF(c_credit = 'BC', LEFT(CONCAT_WS(' ', customer, cd, cw, d, home, amount, c_data), 500), c_data)
    WHERE c_w_id = cw AND c_d_id = cd AND c_id = customer;
  INSERT INTO history VALUES (customer, cd, cw, d, home, NOW(), amount, REPEAT('h', 18));
END //

CREATE PROCEDURE order_status(home INT)
BEGIN
  DECLARE d INT DEFAULT draw(1, 10);
  DECLARE customer INT DEFAULT some_customer(home, d);
  DECLARE number, many INT;
  DECLARE balance, amount DECIMAL(12,2);

  SELECT c_balance INTO balance FROM customer WHERE c_w_id = home AND c_d_id = d AND c_id = customer;
  SELECT MAX(o_id) INTO number FROM orders WHERE o_w_id = home AND o_d_id = d AND o_c_id = customer;
  SELECT COUNT(*), SUM(ol_amount) INTO many, amount FROM order_line
    WHERE ol_w_id = home AND ol_d_id = d AND ol_o_id = number;
END //

CREATE PROCEDURE delivery(home INT)
BEGIN
  DECLARE carrier INT DEFAULT draw(1, 10);
  DECLARE d, number, customer INT;
  DECLARE amount DECIMAL(12,2);

  FOR district IN 1..10 DO
    SET d = district, number = NULL;
    SELECT no_o_id INTO number FROM new_order WHERE no_w_id = home AND no_d_id = d ORDER BY no_o_id LIMIT 1 FOR UPDATE;
    IF number IS NOT NULL THEN
      DELETE FROM new_order WHERE no_w_id = home AND no_d_id = d AND no_o_id = number;
      SELECT o_c_id INTO customer FROM orders WHERE o_w_id = home AND o_d_id = d AND o_id = number FOR UPDATE;
      UPDATE orders SET o_carrier_id = carrier WHERE o_w_id = home AND o_d_id = d AND o_id = number;
      UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = home AND ol_d_id = d AND ol_o_id = number;
      SELECT SUM(ol_amount) INTO amount FROM order_line WHERE ol_w_id = home AND ol_d_id = d AND ol_o_id = number;
      UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_w_id = home AND c_d_id = d AND c_id = customer;
    END IF;
  END FOR;
END //

CREATE PROCEDURE stock_level(home INT, d INT)
BEGIN
  DECLARE threshold INT DEFAULT draw(10, 20);
  DECLARE next, low INT;

  SELECT d_next_o_id INTO next FROM district WHERE d_w_id = home AND d_id = d;
  SELECT COUNT(DISTINCT s_i_id) INTO low FROM order_line, stock
    WHERE ol_w_id = home AND ol_d_id = d AND ol_o_id >= next - 20 AND ol_o_id < next
      AND s_w_id = home AND s_i_id = ol_i_id AND s_quantity < threshold;
END //

CREATE PROCEDURE attempt(kind CHAR(12), home INT, d INT, OUT ended CHAR(12))
BEGIN
  DECLARE EXIT HANDLER FOR SQLSTATE '45000' BEGIN ROLLBACK; SET ended = 'rolled back'; END;
  DECLARE EXIT HANDLER FOR 1205, 1213 BEGIN ROLLBACK; SET ended = 'deadlock'; END;
  START TRANSACTION;
  CASE kind
    WHEN 'new_order' THEN CALL new_order(home);
    WHEN 'payment' THEN CALL payment(home);
    WHEN 'order_status' THEN CALL order_status(home);
    WHEN 'delivery' THEN CALL delivery(home);
    ELSE CALL stock_level(home, d);
  END CASE;
  COMMIT;
  SET ended = 'committed';
END //

-- Nothing is left to be written.
CREATE PROCEDURE settle()
BEGIN
  SET GLOBAL innodb_max_dirty_pages_pct = 0;
  WHILE (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS
      WHERE VARIABLE_NAME = 'INNODB_BUFFER_POOL_PAGES_DIRTY') > 0 DO
    DO SLEEP(0.5);
  END WHILE;
  SET GLOBAL innodb_max_dirty_pages_pct = DEFAULT;
END //

-- One user, without time to think. What a transaction draws depends on the user and its number alone; tried again, it draws the same.
CREATE PROCEDURE terminal(me INT, users INT, counted_us BIGINT)
BEGIN
  DECLARE home INT DEFAULT me % :warehouses + 1;
  DECLARE d INT DEFAULT me DIV :warehouses % 10 + 1;
  DECLARE number, retried INT DEFAULT 0;
  DECLARE share DOUBLE;
  DECLARE kind, ended CHAR(12);
  DECLARE began, until_now BIGINT DEFAULT now_us();
  -- What is counted ends so long after the last user began; where one never does, the others give up.
  DECLARE until_us BIGINT DEFAULT until_now + 120000000;
  DECLARE all_run INT DEFAULT 0;

  INSERT INTO running VALUES (until_now);
  WHILE until_now < until_us DO
    IF NOT all_run AND (SELECT COUNT(*) FROM running) = users THEN
      SET all_run = 1, until_us = (SELECT MAX(at_us) FROM running) + counted_us;
    END IF;
    SET began = until_now, number = number + 1, retried = -1;
    REPEAT
      SET rand_seed1 = CRC32(CONCAT(me, ' ', number)), rand_seed2 = CRC32(CONCAT(number, ':', me));
      SET share = RAND() * 100, retried = retried + 1;
      SET kind = CASE WHEN share < 45 THEN 'new_order' WHEN share < 88 THEN 'payment' WHEN share < 92 THEN 'order_status'
        WHEN share < 96 THEN 'delivery' ELSE 'stock_level' END;
      CALL attempt(kind, home, d, ended);
    UNTIL ended <> 'deadlock' END REPEAT;
    SET until_now = now_us();
    INSERT INTO done VALUES (kind, until_now, until_now - began, retried, ended = 'rolled back', me);
  END WHILE;
END //
DELIMITER ;

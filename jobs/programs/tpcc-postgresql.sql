-- TPC-C-like transactions for PostgreSQL. tpcc.sh puts numbers in place of :names.
CREATE TABLE numbers (n INT PRIMARY KEY);
INSERT INTO numbers SELECT generate_series(1, 100000);
ANALYZE numbers;
-- How each transaction ended; not logged, so that it asks hardly anything of the drive.
CREATE UNLOGGED TABLE done (kind TEXT, ended BIGINT, took BIGINT, retried INT, rolled_back INT, terminal INT);
-- When each user began.
CREATE UNLOGGED TABLE running (at_us BIGINT);
DO $$ BEGIN PERFORM setseed(0.5); END $$;

CREATE FUNCTION rand() RETURNS FLOAT LANGUAGE sql AS 'SELECT random()';

CREATE FUNCTION now_us() RETURNS BIGINT LANGUAGE sql AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT';

CREATE FUNCTION draw(low INT, high INT) RETURNS INT LANGUAGE sql AS 'SELECT low + floor(random() * (high - low + 1))::INT';

CREATE FUNCTION nurand(a INT, c INT, low INT, high INT) RETURNS INT LANGUAGE sql AS
  'SELECT ((draw(0, a) | draw(low, high)) + c) % (high - low + 1) + low';

CREATE FUNCTION syllable(digit INT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS
  $$ SELECT (ARRAY['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'])[digit + 1] $$;

CREATE FUNCTION last_name(n INT) RETURNS TEXT LANGUAGE plpgsql IMMUTABLE AS
  $$ BEGIN RETURN syllable(n / 100) || syllable(n / 10 % 10) || syllable(n % 10); END $$;

-- Another warehouse than this, where there is one.
CREATE FUNCTION other(home INT) RETURNS INT LANGUAGE sql AS
  'SELECT CASE WHEN :warehouses = 1 THEN home ELSE (home - 1 + draw(1, :warehouses - 1)) % :warehouses + 1 END';

-- 60 % of the customers are known by name: the one in the middle of those who have it.
CREATE FUNCTION some_customer(w INT, d INT) RETURNS INT LANGUAGE plpgsql AS $$
DECLARE
  name TEXT;
  before_it INT;
  found_id INT;
BEGIN
  IF random() >= 0.6 THEN RETURN nurand(1023, 259, 1, :customers); END IF;
  name := last_name(nurand(255, 94, 0, :names - 1));
  SELECT (COUNT(*) - 1) / 2 INTO before_it FROM customer WHERE c_w_id = w AND c_d_id = d AND c_last = name;
  SELECT c_id INTO found_id FROM customer WHERE c_w_id = w AND c_d_id = d AND c_last = name
    ORDER BY c_first OFFSET before_it LIMIT 1;
  RETURN found_id;
END $$;

CREATE PROCEDURE new_order(home INT) LANGUAGE plpgsql AS $$
DECLARE
  d INT := draw(1, 10);
  buyer INT := nurand(1023, 259, 1, :customers);
  many INT := draw(5, 15);
  wrong BOOLEAN := random() < 0.01;
  all_local INT := 1;
  number INT;
  this_item INT;
  supplier INT;
  quantity INT;
  price DECIMAL;
  info TEXT;
  seen RECORD;
BEGIN
  SELECT w_tax, c_discount, c_last, c_credit INTO seen FROM warehouse, customer
    WHERE w_id = home AND c_w_id = home AND c_d_id = d AND c_id = buyer;
  UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = home AND d_id = d RETURNING d_next_o_id - 1 INTO number;
  INSERT INTO new_order VALUES (home, d, number);
  FOR line IN 1..many LOOP
    this_item := CASE WHEN wrong AND line = many THEN :items + 1 ELSE nurand(8191, 7911, 1, :items) END;
    supplier := CASE WHEN random() < 0.01 THEN other(home) ELSE home END;
    quantity := draw(1, 10);
    IF supplier <> home THEN all_local := 0; END IF;
    SELECT i_price INTO STRICT price FROM item WHERE i_id = this_item;
    UPDATE stock SET s_quantity = s_quantity - quantity + CASE WHEN s_quantity >= quantity + 10 THEN 0 ELSE 91 END,
        s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + (supplier <> home)::INT
      WHERE s_w_id = supplier AND s_i_id = this_item
      RETURNING (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08,
        s_dist_09, s_dist_10])[d] INTO info;
    INSERT INTO order_line VALUES (home, d, number, line, this_item, supplier, NULL, quantity, quantity * price, info);
  END LOOP;
  INSERT INTO orders VALUES (home, d, number, buyer, now(), NULL, many, all_local);
END $$;

CREATE PROCEDURE payment(home INT) LANGUAGE plpgsql AS $$
DECLARE
  d INT := draw(1, 10);
  far BOOLEAN := random() < 0.15;
  cw INT := CASE WHEN far THEN other(home) ELSE home END;
  cd INT := CASE WHEN far THEN draw(1, 10) ELSE d END;
  amount DECIMAL(6,2) := draw(100, 500000) / 100.0;
  buyer INT;
BEGIN
  UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = home;
  UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = home AND d_id = d;
  buyer := some_customer(cw, cd);
  UPDATE customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
      c_payment_cnt = c_payment_cnt + 1,
      c_data = CASE WHEN c_credit = 'BC' THEN left(concat_ws(' ', buyer, cd, cw, d, home, amount, c_data), 500)
        ELSE c_data END
    WHERE c_w_id = cw AND c_d_id = cd AND c_id = buyer;
  INSERT INTO history VALUES (buyer, cd, cw, d, home, now(), amount, repeat('h', 18));
END $$;

CREATE PROCEDURE order_status(home INT) LANGUAGE plpgsql AS $$
DECLARE
  d INT := draw(1, 10);
  buyer INT := some_customer(home, d);
  number INT;
  seen RECORD;
BEGIN
  SELECT c_balance INTO seen FROM customer WHERE c_w_id = home AND c_d_id = d AND c_id = buyer;
  SELECT MAX(o_id) INTO number FROM orders WHERE o_w_id = home AND o_d_id = d AND o_c_id = buyer;
  SELECT COUNT(*), SUM(ol_amount) INTO seen FROM order_line WHERE ol_w_id = home AND ol_d_id = d AND ol_o_id = number;
END $$;

CREATE PROCEDURE delivery(home INT) LANGUAGE plpgsql AS $$
DECLARE
  carrier INT := draw(1, 10);
  number INT;
  buyer INT;
  amount DECIMAL;
BEGIN
  FOR d IN 1..10 LOOP
    -- Whoever waited for another's delivery finds its order gone, and looks again.
    LOOP
      DELETE FROM new_order WHERE no_w_id = home AND no_d_id = d AND no_o_id =
          (SELECT MIN(no_o_id) FROM new_order WHERE no_w_id = home AND no_d_id = d)
        RETURNING no_o_id INTO number;
      EXIT WHEN FOUND OR NOT EXISTS (SELECT FROM new_order WHERE no_w_id = home AND no_d_id = d);
    END LOOP;
    IF number IS NOT NULL THEN
      UPDATE orders SET o_carrier_id = carrier WHERE o_w_id = home AND o_d_id = d AND o_id = number
        RETURNING o_c_id INTO buyer;
      UPDATE order_line SET ol_delivery_d = now() WHERE ol_w_id = home AND ol_d_id = d AND ol_o_id = number;
      SELECT SUM(ol_amount) INTO amount FROM order_line WHERE ol_w_id = home AND ol_d_id = d AND ol_o_id = number;
      UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_w_id = home AND c_d_id = d AND c_id = buyer;
    END IF;
  END LOOP;
END $$;

CREATE PROCEDURE stock_level(home INT, d INT) LANGUAGE plpgsql AS $$
DECLARE
  threshold INT := draw(10, 20);
  next INT;
  low INT;
BEGIN
  SELECT d_next_o_id INTO next FROM district WHERE d_w_id = home AND d_id = d;
  SELECT COUNT(DISTINCT s_i_id) INTO low FROM order_line, stock
    WHERE ol_w_id = home AND ol_d_id = d AND ol_o_id >= next - 20 AND ol_o_id < next
      AND s_w_id = home AND s_i_id = ol_i_id AND s_quantity < threshold;
END $$;

-- One user, without time to think. What a transaction draws depends on the user and its number alone; tried again, it draws the same.
CREATE PROCEDURE terminal(me INT, users INT, counted_us BIGINT) LANGUAGE plpgsql AS $$
DECLARE
  home INT := me % :warehouses + 1;
  home_d INT := me / :warehouses % 10 + 1;
  number INT := 0;
  retried INT;
  rolled_back INT;
  share FLOAT;
  kind TEXT;
  began BIGINT;
  until_now BIGINT := now_us();
  -- What is counted ends so long after the last user began; where one never does, the others give up.
  until_us BIGINT := until_now + 120000000;
  all_run BOOLEAN := FALSE;
BEGIN
  INSERT INTO running VALUES (until_now);
  COMMIT;
  WHILE until_now < until_us LOOP
    IF NOT all_run AND (SELECT COUNT(*) FROM running) = users THEN
      all_run := TRUE;
      until_us := (SELECT MAX(at_us) FROM running) + counted_us;
    END IF;
    began := until_now;
    number := number + 1;
    retried := 0;
    LOOP
      PERFORM setseed(hashtext(me || ' ' || number) / 2147483648.0);
      share := random() * 100;
      kind := CASE WHEN share < 45 THEN 'new_order' WHEN share < 88 THEN 'payment' WHEN share < 92 THEN 'order_status'
        WHEN share < 96 THEN 'delivery' ELSE 'stock_level' END;
      rolled_back := 0;
      BEGIN
        CASE kind
          WHEN 'new_order' THEN CALL new_order(home);
          WHEN 'payment' THEN CALL payment(home);
          WHEN 'order_status' THEN CALL order_status(home);
          WHEN 'delivery' THEN CALL delivery(home);
          ELSE CALL stock_level(home, home_d);
        END CASE;
        EXIT;
      EXCEPTION
        WHEN no_data_found THEN
          rolled_back := 1;
          EXIT;
        WHEN deadlock_detected OR serialization_failure OR lock_not_available THEN
          retried := retried + 1;
      END;
    END LOOP;
    COMMIT;
    until_now := now_us();
    -- Committed with what comes next.
    INSERT INTO done VALUES (kind, until_now, until_now - began, retried, rolled_back, me);
  END LOOP;
END $$;

-- What the run counted between :from and :until, and whether the database is consistent (TPC-C 5.11, clause 3.3.2), in
-- SQL that MariaDB and PostgreSQL both take. Lines begin with what they tell; a condition's end with how many rows it is of.

SELECT 'users', 'ran', COUNT(*) FROM running;
SELECT 'users', 'did anything', COUNT(DISTINCT terminal) FROM done;

-- The time that nine of ten do not exceed, by its place in the order of times.
SELECT 'kind', kind, SUM(1 - rolled_back), SUM(rolled_back), SUM(retried), AVG(took),
    MIN(CASE WHEN place >= 0.9 * many THEN took END)
  FROM (SELECT kind, rolled_back, retried, took, ROW_NUMBER() OVER (PARTITION BY kind ORDER BY took) AS place,
      COUNT(*) OVER (PARTITION BY kind) AS many
    FROM done WHERE ended >= :from AND ended < :until) AS counted
  GROUP BY kind ORDER BY kind;

SELECT 'condition', '1 W_YTD = sum(D_YTD)', COUNT(*), (SELECT COUNT(*) FROM warehouse) FROM warehouse
  WHERE w_ytd <> (SELECT SUM(d_ytd) FROM district WHERE d_w_id = w_id);
SELECT 'condition', '2 D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)', COUNT(*), (SELECT COUNT(*) FROM district) FROM district
  WHERE d_next_o_id - 1 <> (SELECT COALESCE(MAX(o_id), -1) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id)
    OR d_next_o_id - 1 <> (SELECT MAX(no_o_id) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id);
SELECT 'condition', '3 NEW-ORDER has no gap in a district', COUNT(*), (SELECT COUNT(*) FROM new_order) FROM (
  SELECT no_w_id FROM new_order GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)) AS broken;
SELECT 'condition', '4 sum(O_OL_CNT) = rows of ORDER-LINE', COUNT(*), (SELECT COUNT(*) FROM order_line) FROM district
  WHERE (SELECT SUM(o_ol_cnt) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id)
    <> (SELECT COUNT(*) FROM order_line WHERE ol_w_id = d_w_id AND ol_d_id = d_id);
SELECT 'condition', 'orders there = loaded + counted', ABS(COUNT(*) - 10 * :warehouses * :customers
    - (SELECT COUNT(*) FROM done WHERE kind = 'new_order' AND rolled_back = 0)), COUNT(*) FROM orders;

import csv, duckdb, sys
got = duckdb.sql(f"select * from read_parquet('{sys.argv[1]}')")
kinds = [str(kind) for kind in got.types]
names, rows = list(got.columns), got.fetchall()
with open(sys.argv[2], newline='') as file:
    lines = list(csv.reader(file))
assert names == lines[0], names
assert kinds == ['VARCHAR', 'BIGINT'] + ['DOUBLE'] * (len(names) - 2), kinds
assert len(rows) == len(lines) - 1, len(rows)
def typed(cell, kind):
    return None if cell == '' else cell if kind == 'VARCHAR' else int(cell) if kind == 'BIGINT' else float(cell)
for row, line in zip(rows, lines[1:]):
    assert list(row) == [typed(cell, kind) for cell, kind in zip(line, kinds)], (row, line)
print(len(rows), 'rows alike')

# TPC-C-like on a real database, on the drive that `iostack lab exec` gives it; no official result. What it does and
# what it measured: docs/programs.md.
#
#   iostack lab exec --with mariadb-server --on sim:x25e --file-system ext4 --memory-mib 1024 \
#       --copy jobs/programs/tpcc.sh --copy jobs/programs/tpcc.sql --copy jobs/programs/tpcc-report.sql \
#       --copy jobs/programs/tpcc-mariadb.sql -- env WAREHOUSES=2 sh tpcc.sh mariadb
#
# For PostgreSQL: --with postgresql-15, tpcc-postgresql.sql, `sh tpcc.sh postgresql`. Exit 1 when a condition is broken, or was
# not checked, and when nothing was counted.
set -e
database=$1
case $database in
    mariadb | postgresql) ;;
    *) echo "\`$database\` is neither mariadb nor postgresql" >&2; exit 2 ;;
esac
: "${WAREHOUSES:=1}" "${USERS:=100}" "${RUNTIME:=10}" "${WARM_UP:=3}" "${POOL_MIB:=128}"
: "${SCALE:=100}"       # per cent of the standard's 100,000 items and 3,000 customers a district
: "${BEFORE_CHECK:=}"   # SQL to run before the database is checked
for number in "$WAREHOUSES" "$USERS" "$RUNTIME" "$POOL_MIB" "$SCALE"; do
    [ "$number" -gt 0 ] || { echo "\`$number\` is no number above 0" >&2; exit 2; }
done
[ "$SCALE" -le 100 ] || { echo "SCALE=$SCALE is more than 100 per cent" >&2; exit 2; }
items=$((SCALE * 1000))
customers=$((SCALE * 30))
data=$IOSTACK_DISK/$database

client="--no-defaults --socket=/tmp/socket --user=root"
mariadb_start() {
    mariadb-install-db --no-defaults --user=root --datadir="$data" --auth-root-authentication-method=normal \
        --skip-test-db > /tmp/log 2>&1
    mariadbd --no-defaults --user=root --datadir="$data" --socket=/tmp/socket --skip-networking \
        --innodb-flush-method=O_DIRECT --innodb-flush-log-at-trx-commit=1 --innodb-buffer-pool-size="${POOL_MIB}M" \
        --innodb-sync-spin-loops=0 --innodb-spin-wait-delay=0 --max-connections=$((USERS + 10)) --max-heap-table-size=256M > /tmp/log 2>&1 &
    wait_for mariadb-admin $client ping
    mariadb $client -e "CREATE DATABASE tpcc"
}
mariadb_sql() { mariadb $client --batch --skip-column-names tpcc; }
mariadb_settle() { echo "CALL settle()" | mariadb_sql; }
mariadb_users() {
    mariadb-slap $client --create-schema=tpcc --no-drop \
        --concurrency="$USERS" --number-of-queries="$USERS" --query="CALL terminal(CONNECTION_ID(), $USERS, $counted_us)" > /tmp/log 2>&1
}
mariadb_stop() { mariadb-admin $client shutdown; wait; }

postgresql_start() {
    PATH=$PATH:$(echo /usr/lib/postgresql/*/bin)
    export PGHOST=/tmp PGUSER=postgres
    mkdir "$data"
    chown postgres "$data"
    as_postgres "initdb --pgdata=$data --locale=C --encoding=UTF8" > /tmp/log 2>&1
    as_postgres "postgres -D $data -c listen_addresses= -c unix_socket_directories=/tmp -c fsync=on -c jit=off \
        -c shared_buffers=${POOL_MIB}MB -c max_connections=$((USERS + 10))" > /tmp/log 2>&1 &
    wait_for pg_isready --quiet
}
as_postgres() { su postgres -s /bin/sh -c "PATH=$PATH; cd /tmp; $1"; }
postgresql_sql() { psql --no-psqlrc --quiet --no-align --tuples-only --field-separator="$(printf '\t')" --set=ON_ERROR_STOP=1; }
postgresql_settle() { echo "VACUUM ANALYZE; CHECKPOINT" | postgresql_sql; }
postgresql_users() {
    echo "CALL terminal(:client_id, $USERS, $counted_us)" > /tmp/terminal.sql
    pgbench --no-vacuum --client="$USERS" --transactions=1 --file=/tmp/terminal.sql > /tmp/log 2>&1
}
postgresql_stop() { as_postgres "pg_ctl stop --pgdata=$data" > /tmp/log; wait; }

wait_for() {
    tries=0
    until "$@" > /tmp/waited 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 6000 ] || { echo "in vain: $*"; cat /tmp/waited; return 1; }
        sleep 0.1
    done
}
# The file with its numbers, as SQL.
filled() {
    sed -e "s/:warehouses/$WAREHOUSES/g; s/:items/$items/g; s/:customers/$customers/g; s/:from/$from/g" \
        -e "s/:delivered/$((customers * 7 / 10))/g; s/:names/$((customers < 1000 ? customers : 1000))/g" \
        -e "s/:until/$until/g" "$@"
}

trap 'cat /tmp/log' EXIT
"${database}_start"
filled "tpcc-$database.sql" tpcc.sql | "${database}_sql"
# Nothing of the load is left to be written when the users begin.
"${database}_settle"
echo "TPC-C-like, no official result. $database, warehouses: $WAREHOUSES, each with $items items and $((customers * 10)) customers"
echo "($SCALE % of the standard's). Users: $USERS. Pool: $POOL_MIB MiB. Counted: $RUNTIME s, after $WARM_UP s."
counted_us=$(((WARM_UP + RUNTIME) * 1000000))
"${database}_users"
# The warm-up begins when the last user does.
running=$(echo "SELECT MAX(at_us) FROM running" | "${database}_sql")
from=$((running + WARM_UP * 1000000))
until=$((running + counted_us))
echo "$BEFORE_CHECK" | "${database}_sql"
filled tpcc-report.sql | "${database}_sql" > /tmp/report
"${database}_stop"
trap - EXIT

awk -F '\t' -v users="$USERS" -v runtime="$RUNTIME" '
    BEGIN { printf "%-12s %9s %11s %7s %9s %9s\n", "kind", "committed", "rolled back", "retried", "mean ms", "p90 ms" }
    $1 == "users" && $3 != users { print "NOTHING COUNTED: " $3 " of " users " users " $2; broken = 1 }
    $1 == "kind" {
        printf "%-12s %9d %11d %7d %9.3f %9.3f\n", $2, $3, $4, $5, $6 / 1000, $7 / 1000
        if ($2 == "new_order") orders = $3
    }
    $1 == "condition" {
        print ($3 ? "BROKEN in " $3 " places: " : $4 ? "holds: " : "NOT CHECKED, nothing is there: ") $2
        broken = broken || $3 || !$4; conditions++
    }
    END {
        if (conditions != 5) { print "NOT CHECKED: " 5 - conditions " of 5 conditions"; broken = 1 }
        if (orders) printf "tpmC-like    %.1f (committed new orders a minute)\n", orders * 60 / runtime
        else print "NOTHING COUNTED: no new order was committed in these " runtime " s; give it more RUNTIME"
        exit broken || !orders
    }
' /tmp/report

# MariaDB over power cuts: `load` commits one row after the other and tells the number of each, without an end; `check` looks whether
# all that was told is there.
#
#   iostack lab exec --with mariadb-server --on sim:x25e --file-system ext4 --memory-mib 1024 --power-cut 3s..4s --cuts 3 \
#       --copy jobs/programs/mariadb-cuts.sh --check 'sh mariadb-cuts.sh check' -- sh mariadb-cuts.sh load
set -e
data=$IOSTACK_DISK/mariadb
connect="--no-defaults --socket=/run/mariadb.sock --user=root"
client="$connect --batch --skip-column-names"

if [ ! -e "$data/made" ]; then
    mkdir -p "$data"
    mariadb-install-db --no-defaults --user=root --datadir="$data" --auth-root-authentication-method=normal \
        --skip-test-db > /tmp/install.log 2>&1 || { cat /tmp/install.log; exit 1; }
    touch "$data/made"
    sync
fi
mariadbd --no-defaults --user=root --datadir="$data" --socket=/run/mariadb.sock --skip-networking \
    --innodb-flush-method=O_DIRECT --innodb-buffer-pool-size=64M > /tmp/mariadbd.log 2>&1 &
tries=0
until mariadb-admin $connect ping > /tmp/ping.log 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || { cat /tmp/mariadbd.log; exit 1; }
    sleep 0.1
done

if [ "$1" = load ]; then
    mariadb $client -e "CREATE DATABASE IF NOT EXISTS test;
        CREATE TABLE IF NOT EXISTS test.rows (k INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(100))"
    while true; do
        echo "INSERT INTO test.rows (v) VALUES (REPEAT('x', 80)); SELECT LAST_INSERT_ID();"
    done | mariadb $client --unbuffered
fi
told=$(tail -n 1 "$IOSTACK_SAID")
there=$(mariadb $client -e "SELECT MAX(k) FROM test.rows")
whole=$(mariadb $client -e "CHECK TABLE test.rows" | tail -n 1 | cut -f 4)
echo "cut $IOSTACK_CUTS: ${told:-nothing} told, $there there, $whole"
mariadb-admin $connect shutdown
wait
[ "$whole" = OK ] && [ "$there" -ge "${told:-0}" ]

# 2,000 commits of eight clients to MariaDB, on the drive that `iostack lab exec` gives it:
#
#   iostack lab exec --with mariadb-server --on sim:x25e --file-system ext4 --memory-mib 1024 \
#       --copy jobs/programs/mariadb.sh -- sh mariadb.sh
set -e
data=$IOSTACK_DISK/mariadb
client="--no-defaults --socket=/run/mariadb.sock --user=root"

mkdir -p "$data"
mariadb-install-db --no-defaults --user=root --datadir="$data" --auth-root-authentication-method=normal \
    --skip-test-db > /tmp/install.log 2>&1 || { cat /tmp/install.log; exit 1; }
mariadbd --no-defaults --user=root --datadir="$data" --socket=/run/mariadb.sock --skip-networking \
    --innodb-flush-method=O_DIRECT --innodb-buffer-pool-size=64M > /tmp/mariadbd.log 2>&1 &
tries=0
until mariadb-admin $client ping > /tmp/ping.log 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || { cat /tmp/mariadbd.log; exit 1; }
    sleep 0.1
done

mariadb $client -e "CREATE DATABASE test; CREATE TABLE test.rows (k INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(100))"
mariadb-slap $client --create-schema=test --query="INSERT INTO \`rows\` (v) VALUES (REPEAT('x', 80))" \
    --concurrency=8 --number-of-queries=2000
mariadb $client --batch -e "SELECT COUNT(*) FROM test.rows; CHECK TABLE test.rows"
mariadb-admin $client shutdown
wait

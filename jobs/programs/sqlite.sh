# One row after the other into SQLite, and the number of each when it is committed; without an end, for power cuts:
#
#   iostack lab exec --with sqlite3 --on sim:x25e --file-system ext4 --power-cut 100ms..1s --cuts 20 \
#       --copy jobs/programs/sqlite.sh --copy jobs/programs/sqlite-check.sh --check 'sh sqlite-check.sh' -- sh sqlite.sh
set -e
data=$IOSTACK_DISK/rows.db
sqlite3 "$data" "PRAGMA journal_mode=WAL; CREATE TABLE IF NOT EXISTS rows (k INTEGER PRIMARY KEY, v)" > /dev/null
{
    # FULL is durable in this mode: each commit is flushed.
    echo "PRAGMA synchronous=FULL;"
    while true; do
        echo "INSERT INTO rows (v) VALUES (hex(randomblob(200))); SELECT max(k) FROM rows;"
    done
} | sqlite3 "$data"

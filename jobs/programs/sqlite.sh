# One row after the other into SQLite, and the number of each when it is committed; without an end, for power cuts, or as many
# as the second word says, for crash points. The first says how SQLite flushes.
#
#   iostack lab exec --with sqlite3 --on sim:x25e --file-system ext4 --power-cut 100ms..1s --cuts 20 \
#       --copy jobs/programs/sqlite.sh --copy jobs/programs/sqlite-check.sh --check 'sh sqlite-check.sh' -- sh sqlite.sh
set -e
data=$IOSTACK_DISK/rows.db
sqlite3 "$data" "PRAGMA journal_mode=WAL; CREATE TABLE IF NOT EXISTS rows (k INTEGER PRIMARY KEY, v)" > /dev/null
{
    # FULL is durable in this mode: each commit is flushed.
    echo "PRAGMA synchronous=${1:-FULL};"
    row=0
    while [ $row -ne "${2:--1}" ]; do
        row=$((row + 1))
        echo "INSERT INTO rows (v) VALUES (hex(randomblob(200))); SELECT max(k) FROM rows;"
    done
} | sqlite3 "$data"

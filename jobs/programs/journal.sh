# A bank of two accounts, 100 in all, with a journal of its own in one file. A transfer writes both new balances into the journal,
# then that the journal is full, then the accounts, then that the journal is empty. One flush is missing: with `sh journal.sh fsync`
# the balances are safe before the journal is said to be full. docs/lab.md has the command and what it finds.
#
# Blocks of 4 KiB: 0 full or empty; 1 and 2 the journal; 3 and 4 the accounts.
set -e
put() { echo "$2" | dd of="$IOSTACK_DISK/bank" bs=4096 seek="$1" conv="notrunc,sync${3:+,$3}" 2> /dev/null; }
put 0 empty && put 1 0 && put 2 0 && put 3 100 && put 4 0 && sync && echo 0
for moved in 1 2 3 4 5 6 7 8; do
    put 1 $((100 - moved)) && put 2 $moved "$1"
    put 0 full fsync
    echo $moved
    put 3 $((100 - moved)) && put 4 $moved fsync
    put 0 empty fsync
done

# Postmark, the program itself, on the drive that `iostack lab exec` gives it. Postmark tells whole seconds; here each of
# its steps is timed to the microsecond, by the machine's clock. What it measured: docs/programs.md.
#
#   iostack lab exec --with postmark,bash --on sim:x25e --file-system ext4 \
#       --copy jobs/programs/postmark.sh -- env CACHE_MIB=16 bash postmark.sh
set -e -o pipefail
: "${FILES:=5000}" "${TRANSACTIONS:=20000}"    # Postmark's own: 500 and 500; a file has 500 to 9,770 bytes
: "${CACHE_MIB:=16}"                           # of page cache and inodes, for Postmark alone
: "${PROCESSES:=1}"                            # Postmarks at once, which share files, transactions and memory among them

groups=/tmp/groups
mkdir $groups
mount -t cgroup2 none $groups
echo +memory > $groups/cgroup.subtree_control
mkdir $groups/postmark
echo $((CACHE_MIB << 20)) > $groups/postmark/memory.max

# Lines of one Postmark, each with what it took since the one before; a rate of whole seconds is none.
timed() {
    last=${EPOCHREALTIME/./}
    while IFS= read -r line; do
        now=${EPOCHREALTIME/./}
        case $line in
            *...Done) echo "${line%%.*}: $((now - last)) us" ;;
            *second*" total" | *"seconds of"*) ;;
            *"per second)") echo "${line%% (*}" ;;
        esac
        [ "${line%%.*}" != "Performing transactions" ] ||
            echo "Transactions per second: $((TRANSACTIONS / PROCESSES * 1000000 / (now - last)))"
        last=$now
    done
}
# Postmark number $1, in a folder of its own.
one() {
    mkdir "$IOSTACK_DISK/$1"
    printf '%s\n' "set location $IOSTACK_DISK/$1" "set number $((FILES / PROCESSES))" "set seed $((41 + $1))" \
        "set transactions $((TRANSACTIONS / PROCESSES))" run quit > "/tmp/orders$1"
    (echo $BASHPID > $groups/postmark/cgroup.procs && exec postmark "/tmp/orders$1") | timed > "/tmp/said$1"
}

echo "Postmark: $FILES files, $TRANSACTIONS transactions, $CACHE_MIB MiB of memory, $PROCESSES at once"
for process in $(seq "$PROCESSES"); do one "$process" & ran+=($!); done
for process in "${ran[@]}"; do wait "$process"; done
now=${EPOCHREALTIME/./}
sync
for process in $(seq "$PROCESSES"); do
    # All say the same but for their numbers: of the others, what they took.
    [ "$process" = 1 ] && cat "/tmp/said$process" || grep "^Transactions per second" "/tmp/said$process"
done
echo "Written back: $((${EPOCHREALTIME/./} - now)) us"
[ "$PROCESSES" = 1 ] || awk -F': ' '/^Transactions per second/ { all += $2 } END { print "All transactions per second: " all }' /tmp/said*

# Postmark, the program itself, on the drive that `iostack lab exec` gives it. Postmark tells whole seconds; here each of
# its steps is timed to the microsecond, by the machine's clock. What it measured: docs/programs.md.
#
#   iostack lab exec --with postmark,bash --on sim:x25e --file-system ext4 \
#       --copy jobs/programs/postmark.sh -- env CACHE_MIB=16 bash postmark.sh
set -e -o pipefail
: "${FILES:=5000}" "${TRANSACTIONS:=20000}"    # Postmark's own: 500 and 500; a file has 500 to 9,770 bytes
: "${CACHE_MIB:=16}"                           # of page cache and inodes, for Postmark alone

groups=/tmp/groups
mkdir $groups
mount -t cgroup2 none $groups
echo +memory > $groups/cgroup.subtree_control
mkdir $groups/postmark
echo $((CACHE_MIB << 20)) > $groups/postmark/memory.max
printf '%s\n' "set location $IOSTACK_DISK" "set number $FILES" "set transactions $TRANSACTIONS" run quit > /tmp/orders

echo "Postmark: $FILES files, $TRANSACTIONS transactions, $CACHE_MIB MiB of memory"
last=${EPOCHREALTIME/./}
{
    (echo $BASHPID > $groups/postmark/cgroup.procs && exec postmark /tmp/orders)
    sync
    echo "Written back...Done"
} | while IFS= read -r line; do
    now=${EPOCHREALTIME/./}
    case $line in
        *...Done) echo "${line%%.*}: $((now - last)) us" ;;
        *second*" total" | *"seconds of"*) ;;
        *"per second)") echo "${line%% (*}" ;;    # a rate of whole seconds is none
    esac
    [ "${line%%.*}" != "Performing transactions" ] || echo "Transactions per second: $((TRANSACTIONS * 1000000 / (now - last)))"
    last=$now
done

# After a power cut: does the bank of journal.sh still have 100, and every transfer that it had told?
told=$(tail -n 1 "$IOSTACK_SAID")
[ -n "$told" ] || exit 0
get() { dd if="$IOSTACK_DISK/bank" bs=4096 skip="$1" count=1 2> /dev/null | head -n 1 | tr -d '\0'; }
state=$(get 0)
# A full journal is done again.
if [ "$state" = full ]; then from=1; else from=3; fi
one=$(get $from) two=$(get $((from + 1)))
echo "journal ${state:-lost}: ${one:-nothing} and ${two:-nothing}; told of $told"
[ $((one + two)) -eq 100 ] && [ "$two" -ge "$told" ]

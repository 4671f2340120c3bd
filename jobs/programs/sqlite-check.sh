# After a power cut: is the database whole, and holds it every row that sqlite.sh had told?
set -e
data=$IOSTACK_DISK/rows.db
told=$(tail -n 1 "$IOSTACK_SAID")
[ -n "$told" ] || { echo "cut $IOSTACK_CUTS: nothing was told yet"; exit 0; }
whole=$(sqlite3 "$data" "PRAGMA integrity_check")
there=$(sqlite3 "$data" "SELECT count(*) FROM rows")
echo "cut $IOSTACK_CUTS: $told told, $there there, $whole"
[ "$whole" = ok ] && [ "$there" -ge "$told" ]

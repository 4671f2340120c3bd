# After a power cut: is the database whole, and holds it every row that sqlite.sh had told?
set -e
data=$IOSTACK_DISK/rows.db
told=$(tail -n 1 "$IOSTACK_SAID")
whole=$(sqlite3 "$data" "PRAGMA integrity_check")
there=$(sqlite3 "$data" "SELECT count(*) FROM rows" || true)
echo "cut $IOSTACK_CUTS: ${told:-nothing} told, ${there:-nothing} there, $whole"
# That would hold of any drive; among all crash points are those before the first row.
[ "$IOSTACK_CUTS" = 0 ] || [ -n "$told" ] || [ "${there:-0}" -gt 0 ] || { echo "nothing is there to be checked yet; cut later: --power-cut"; exit 1; }
[ "$whole" = ok ] && [ "${there:-0}" -ge "${told:-0}" ]

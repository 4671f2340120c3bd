#!/bin/bash
# Does RocksDB gain from temporal merging on this machine? Its db_bench, without and with the preload shim, policies in turn.
#
#   crates/merge/examples/db_bench.sh [FOLDER]        (apt install rocksdb-tools; FOLDER on the storage in question)
#
# Settings from the environment: ROUNDS=5 SECONDS_EACH=4 THREADS="1 16" POLICIES="none pread auto stm hybrid leader-follower"
# KEYS=2000000 BENCHMARKS="readrandom multireadrandom". `none` is without the shim; each round runs all policies, beginning with
# another one each time, so that what drifts (the neighbours' load) hits all alike. Reads are direct and RocksDB's block cache
# is off: each Get is one read of the device, which is the most that merging can hope for. Prints each run, then per policy the
# median of its ratios to `none` of the same round, with the smallest and the largest.
set -euo pipefail
cd "$(dirname "$0")/../../.."

rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-4}
read -ra threads <<<"${THREADS:-1 16}"
read -ra policies <<<"${POLICIES:-none pread auto stm hybrid leader-follower}"
read -ra benchmarks <<<"${BENCHMARKS:-readrandom multireadrandom}"
keys=${KEYS:-2000000}
target=$(realpath "${CARGO_TARGET_DIR:-target}")/release
folder=${1:-$target/../db_bench}
runs=$(mktemp)
trap 'rm -f "$runs"' EXIT

command -v db_bench >/dev/null || { echo "db_bench is not installed: apt install rocksdb-tools" >&2; exit 2; }
make --silent -C crates/merge/preload TARGET="$target"
mkdir -p "$folder"

common=(--db="$folder/db" --num="$keys" --value_size=400 --compression_type=none)
if [ ! -e "$folder/db/CURRENT" ]; then
    db_bench "${common[@]}" --benchmarks=fillrandom,compact --disable_wal >/dev/null 2>&1
fi
reads=(--use_existing_db --use_direct_reads --cache_size=1 --duration="$seconds" --open_files=-1)

# One run: operations per second, and microseconds of CPU per operation, opening the database included.
one() {
    local benchmark=$1 threads=$2 policy=$3 shim=()
    [ "$policy" = none ] || shim=(env IOSTACK_MERGE_POLICY="$policy" IOSTACK_MERGE_STATS=1
        LD_PRELOAD="$target/libiostack_preload.so")
    local words=(--benchmarks="$benchmark" --threads="$threads")
    [ "$benchmark" = readrandom ] || words+=(--batch_size=8 --multiread_batched)
    TIMEFORMAT='cpu %U %S'
    { time "${shim[@]}" db_bench "${common[@]}" "${reads[@]}" "${words[@]}" --seed=7; } 2>&1 | awk \
        -v name="$benchmark $threads $policy" '
        $2 == ":" && /ops\/sec/ { for (i = 1; i < NF; i++) { if ($(i+1) == "ops/sec") rate = $i
            if ($(i+1) ~ /^operations/) operations = $i } }
        /^iostack_preload:/ { shim = $0; sub(/.*taken; /, "", shim); sub(/ batches.*/, " batches", shim) }
        $1 == "cpu" { cpu = $2 + $3 }
        END { if (!rate) exit 1; printf "%s %d %.2f %s\n", name, rate, cpu * 1e6 / operations, shim }'
}

echo "$(db_bench --version), $(uname -r), $(nproc) processors, $(findmnt -nT "$folder" -o SOURCE,FSTYPE)"
for benchmark in "${benchmarks[@]}"; do
    for count in "${threads[@]}"; do
        for ((round = 0; round < rounds; round++)); do
            for ((i = 0; i < ${#policies[@]}; i++)); do
                line=$(one "$benchmark" "$count" "${policies[(i + round) % ${#policies[@]}]}")
                echo "$round $line" >>"$runs"
                echo "round $round load $(cut -d' ' -f1 /proc/loadavg): $line"
            done
        done
    done
done

echo
echo "benchmark threads policy | ops/s, ratio to none: median [least, most] | CPU per op, likewise"
awk '
function sorted(list, count,   i, j, swap) {
    for (i = 2; i <= count; i++)
        for (j = i; j > 1 && list[j - 1] > list[j]; j--) { swap = list[j]; list[j] = list[j - 1]; list[j - 1] = swap }
}
{ name = $2 " " $3 " " $4; rate[$1, name] = $5; cpu[$1, name] = $6; rounds[$1]; if (!(name in seen)) order[++names] = name
  seen[name]; base[name] = $2 " " $3 " none" }
END {
    for (n = 1; n <= names; n++) {
        name = order[n]; count = 0
        for (r in rounds) if ((r, base[name]) in rate && (r, name) in rate) {
            count++; ratios[count] = rate[r, name] / rate[r, base[name]]; costs[count] = cpu[r, name] / cpu[r, base[name]]
            rates[count] = rate[r, name]; cpus[count] = cpu[r, name]
        }
        sorted(ratios, count); sorted(costs, count); sorted(rates, count); sorted(cpus, count); m = int((count + 1) / 2)
        printf "%s | %d, %.2f [%.2f, %.2f] | %.1f us, %.2f [%.2f, %.2f]\n", name, rates[m], ratios[m], ratios[1],
            ratios[count], cpus[m], costs[m], costs[1], costs[count]
    }
}' "$runs"

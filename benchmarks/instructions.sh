#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# instructions.sh BUILD_DIR [CONCURRENCY...]: instructions of the client for each cycle, with three nodes that are the null
# responder; those of connecting and of the first cycles are not counted. Needs valgrind. The figure hardly varies.
set -euo pipefail
programs=$1/benchmarks
shift
[ $# -gt 0 ] || set -- 1 16 256
coproc responder { exec "$programs/redlock_null_responder" 3; }
ended=$responder_PID
trap 'kill "$ended"' EXIT
nodes=()
for _ in 1 2 3; do read -r port <&"${responder[0]}" && nodes+=("redis://127.0.0.1:$port"); done

# count CONCURRENCY CYCLES: all instructions of such a run.
count()
{
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$programs/redlock_cycles" "$1" "$2" "${nodes[@]}" 2>&1 |
        sed -n 's/.*Collected : //p'
}

for concurrency; do
    few=$((concurrency * 20)) many=$((concurrency * 20 + 20000))
    [ "$concurrency" != 1 ] || few=2000 many=6000
    less=$(count "$concurrency" "$few")
    more=$(count "$concurrency" "$many")
    echo "C = $concurrency: $(((more - less) / (many - few))) instructions a cycle"
done

#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# readers.sh BUILD_DIR [PROCESSES...]: the cost for the servers when this many processes read at once (`redlock run --shared`),
# compared with as many that each hold a plain lock of their own. Three servers, leases of 10 s, renewed after a third of it;
# twenty seconds each, when all hold their leases. Starts its own servers, without persistence, on free ports, and ends them.
set -euo pipefail
redlock=$1/bin/redlock
[ -x "$redlock" ] || { echo "no $redlock"; exit 64; }
shift
[ $# -gt 0 ] || set -- 100 1000
window=20
place=$(mktemp -d)
servers=() ports=() holders=()
finish()
{
    kill "${holders[@]}" "${servers[@]}" 2>/dev/null || true
    wait || true
    rm -rf "$place"
}
trap finish EXIT

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
for _ in 1 2 3; do
    port=$(free_port)
    redis-server --bind 127.0.0.1 --port "$port" --save '' --appendonly no --maxclients 20000 >"$place/server-$port" &
    servers+=($!) ports+=("$port")
done
for port in "${ports[@]}"; do until redis-cli -p "$port" ping &>/dev/null; do :; done; done
export REDLOCK_NODES REDLOCK_ASSUME_FRESH=1
REDLOCK_NODES=$(printf 'redis://127.0.0.1:%s ' "${ports[@]}")

ask() { redis-cli -p "${ports[0]}" "$@"; }
info() { ask info "$1" | sed -n "s/^$2:\([0-9]*\).*/\1/p"; }
# The use of one server, in microseconds of its CPU and in commands.
cpu() { awk -v tick="$(getconf CLK_TCK)" '{ print ($14 + $15) * 1000000 / tick }' "/proc/${servers[0]}/stat"; }
held() { [ "$1" = reader ] && ask zcard prices || ask eval 'local n = 0 for _, k in ipairs(redis.call("keys", "seat-*")) do n = n + 1 end return n' 0; }

# measure KIND COUNT: so many processes that each have a lease.
measure()
{
    local kind=$1 count=$2 empty
    empty=$(info memory used_memory)
    holders=()
    for ((i = 0; i != count; ++i)); do
        if [ "$kind" = reader ]; then
            "$redlock" run --shared -t 10s prices -- sleep 1000 2>"$place/holder" &
        else
            "$redlock" run -t 10s "seat-$i" -- sleep 1000 2>"$place/holder" &
        fi
        holders+=($!)
    done
    until [ "$(held "$kind")" = "$count" ]; do read -rt 0.2 <> <(:) || true; done
    local before commands
    before=$(cpu) commands=$(info stats total_commands_processed)
    read -rt "$window" <> <(:) || true
    local spent=$(($(cpu) - before)) asked=$(($(info stats total_commands_processed) - commands))
    echo "$count x $kind: each server $((spent / window)) us of CPU a second, $((asked / window)) commands a second," \
        "$(($(info memory used_memory) - empty)) bytes, of them $([ "$kind" = reader ] && ask memory usage prices samples 0 || echo "$count keys of $(ask memory usage seat-0)") for the lock"
    kill "${holders[@]}"
    wait "${holders[@]}" || true
    until [ "$(held "$kind")" = 0 ]; do read -rt 0.2 <> <(:) || true; done
    holders=()
}

for count; do
    measure "plain lock" "$count"
    measure reader "$count"
done

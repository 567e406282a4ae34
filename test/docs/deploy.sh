#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# What examples/deploy sets up works: servers start with its configurations, `redlock doctor` has no complaint about them,
# and locks can be had. What cannot run here, for want of Docker and Kubernetes, at least names files that there are.
# deploy.sh REDLOCK, the tool
set -euo pipefail
tool=$(realpath "$1")
cd "$(dirname "$0")/../../examples/deploy"
deploy=$PWD
server=${REDLOCK_TEST_SERVER:-redis-server}
for word in "$server" redis-cli openssl; do
    command -v "$word" >/dev/null || { echo "skipped: no $word"; exit 77; }
done
scratch=$(mktemp -d)
pids=()
clean_up()
{
    [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
    wait
    rm -rf "$scratch"
}
trap clean_up EXIT
failed=0
complain() { failed=1; echo "$*"; }
export REDLOCK_ASSUME_FRESH=1 # the servers are

# Below the ports that the kernel gives away, which other tests use.
free_port()
{
    local port
    while port=$((20000 + RANDOM % 12000)); (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
    echo "$port"
}

etc=$scratch/etc
mkdir -p "$etc"
ports=()
for _ in 1 2 3; do ports+=("$(free_port)"); done
./secrets "$etc" 'seat:*' "${ports[@]/#/127.0.0.1:}"
for conf in *.conf; do sed "s,/etc/redlock,$etc,; s,/var/lib/redlock,.," "$conf" >"$etc/$conf"; done
tls=(--tls --cacert "$etc/tls/ca.crt")
admin() { REDISCLI_AUTH=$(cat "$etc/admin") redis-cli "${tls[@]}" --user admin -p "$@"; }

# start CONF PORT-OPTION CLI-OPTION...: a server on each of the ports
start()
{
    local conf=$1 option=$2 port tries
    shift 2
    pids=()
    for port in "${ports[@]}"; do
        mkdir -p "$scratch/$conf.$port"
        (cd "$scratch/$conf.$port" && exec "$server" "$etc/$conf" "$option" "$port" >log 2>&1) &
        pids+=($!)
    done
    for port in "${ports[@]}"; do
        tries=0
        until [ "$(redis-cli "$@" -p "$port" PING 2>&1)" = PONG ]; do
            [ $((tries += 1)) -lt 200 ] || { cat "$scratch/$conf.$port/log"; exit 1; }
            sleep 0.05
        done
    done
}
stop()
{
    kill "${pids[@]}"
    wait "${pids[@]}" || true
    pids=()
}

# works NODES...: how the tool is told where they are
works()
{
    local said code=0
    said=$("$tool" doctor "$@" seat:42) || code=$?
    [ $code = 0 ] || complain "doctor ended with $code: $said"
    said=$("$tool" run "$@" seat:42 -- sh -c 'code=0; "$@" || code=$?; echo "the other one: $code"' - \
        "$tool" run -n "$@" seat:42 -- true 2>&1) || complain "run: $said"
    [[ $said == *"the other one: 75"* ]] || complain "the lock excludes nobody: $said"
}

start node.conf --port
export REDLOCK_NODES="${ports[*]/#/redis://127.0.0.1:}"
works
./settled -1 -p "${ports[0]}" || complain "settled does not see that a server runs"
./settled 99999 -p "${ports[0]}" && complain "settled takes a young server for an old one"
# Nothing of it is evicted, nothing is on the disk.
[ "$(redis-cli -p "${ports[0]}" CONFIG GET maxmemory-policy | tail -n 1)" = noeviction ] || complain "node.conf evicts"
stop
[ ! -e "$scratch/node.conf.${ports[0]}/dump.rdb" ] || complain "node.conf saves"
./settled -1 -p "${ports[0]}" 2>/dev/null && complain "settled sees a server where none is"

start tls.conf --tls-port "${tls[@]}"
works --nodes-file "$etc/nodes"
./settled -1 -p "${ports[0]}" "${tls[@]}" || complain "settled cannot ask a server with users"
[[ $(redis-cli "${tls[@]}" -p "${ports[0]}" GET seat:42 2>&1) == NOPERM* ]] || complain "whoever does not log in may ask for keys"
[[ $(admin "${ports[0]}" DEL seat:42 2>&1) == *NOPERM* ]] || complain "the administrator may delete locks"

# docs/howto/credentials.md: two passwords at once, then the new one alone; and certificates without a restart.
hash=$(printf new-secret | sha256sum | cut -d ' ' -f 1)
sed 's/locker:[^@]*@/locker:new-secret@/' "$etc/nodes" >"$etc/nodes.new"
load() { for port in "${ports[@]}"; do [ "$(admin "$port" ACL LOAD)" = OK ] || complain "ACL LOAD"; done; }
admits() { "$tool" run -n --nodes-file "$etc/$1" seat:43 -- true 2>/dev/null; }
refuses() { local code=0; admits "$1" || code=$?; [ $code = 77 ]; }
refuses nodes.new || complain "a password that nobody has set"
sed -i "s/^\(user locker on\) /\1 #$hash /" "$etc/users.acl" && load
admits nodes || complain "the old password is refused beside the new one"
admits nodes.new || complain "the new password is refused"
sed -i "s/^\(user locker on #$hash\) #[0-9a-f]*/\1/" "$etc/users.acl" && load
refuses nodes || complain "the old password is not refused"
admits nodes.new || complain "the new password is refused without the old one"
[ "$(admin "${ports[0]}" CONFIG SET tls-cert-file "$etc/tls/tls.crt" tls-key-file "$etc/tls/tls.key")" = OK ] ||
    complain "certificates cannot be changed"
admits nodes.new || complain "nobody gets in after a change of certificates"
stop

sed 's/$/\&durable=true/' "$etc/nodes.new" >"$etc/nodes.durable"
start durable.conf --tls-port "${tls[@]}"
unset REDLOCK_ASSUME_FRESH # durable=true is what lets them vote
works --nodes-file "$etc/nodes.durable"
stop

# The rights are those of the checklist.
rights=$(sed -n 's/^    ACL SETUSER locker reset on >secret \(~seat.*+zcard\)$/\1/p' "$deploy/../../docs/server-checklist.md")
grep -qF "${rights/'~seat:*'/'~$pattern'}" secrets || complain "secrets grants other rights than docs/server-checklist.md"

# The files that the configurations name under /etc/redlock are in the pods, and in the containers.
while read -r file; do
    grep -qE "path: $file[ ,}]" kubernetes/nodes.yaml || complain "/etc/redlock/$file is not in the pods"
    grep -qE ":/etc/redlock/(${file}|${file%/*}):ro" compose/compose.tls.yaml || complain "/etc/redlock/$file is not in the containers"
done < <(cat node.conf tls.conf compose/*.yaml kubernetes/nodes.yaml | grep -v '^ *#' | grep -oE '(^|[ ,\[])/etc/redlock/[a-z./]+' |
    sed 's,.*/etc/redlock/,,' | sort -u)
while read -r file; do
    [ -e "compose/$file" ] || complain "compose mounts $file, which is not there"
done < <(sed -nE 's,^ *- (\.\./[^:]+):.*,\1,p' compose/*.yaml)

if python3=/usr/bin/python3 && $python3 -c 'import yaml' 2>/dev/null; then
    for file in kustomization.yaml kubernetes/*.yaml compose/*.yaml; do
        $python3 -c 'import sys, yaml; list(yaml.safe_load_all(open(sys.argv[1])))' "$file" || complain "$file is not YAML"
    done
else
    echo "no python3-yaml, so YAML was not parsed"
fi
if command -v systemd-analyze >/dev/null; then
    mkdir "$scratch/units"
    for unit in systemd/* ../cli/*.service; do # the programs need not be installed here
        sed -E 's,^(Exec[A-Za-z]*=)[^ ]+,\1/bin/true,' "$unit" >"$scratch/units/${unit##*/}"
    done
    said=$(systemd-analyze verify --man=no "$scratch/units"/* 2>&1) && [ -z "$said" ] || complain "systemd-analyze: $said"
    for unit in "$scratch"/units/*report.service; do
        said=$(systemd-analyze security --offline=true --threshold=30 "$unit") || complain "$(tail -n 1 <<<"$said"), above 3.0"
    done
else
    echo "no systemd-analyze, so units were not verified"
fi

[ $failed = 1 ] || echo "3 configurations, $(ls kubernetes compose systemd | grep -c '\.') files checked"
exit $failed

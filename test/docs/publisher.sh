#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# PUBLISHER is in order, and scripts/publisher sees it where one is not.
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/publisher
scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT

judged() # judged AS [OPTION] [KEY=VALUE]...: as the complete file below is with other values
{
    local as=$1 option=() code=0 line
    shift
    [ "${1:-}" != --complete ] || { option=(--complete) && shift; }
    cat >"$scratch" <<'COMPLETE'
repository=https://host.invalid/x
archive=https://host.invalid/v{version}/asio-redlock-{version}.tar.gz
key=0123456789ABCDEF0123456789ABCDEF01234567
maintainer=A. Person <me@host.invalid>
security=me@host.invalid
conduct=https://host.invalid/report
COMPLETE
    for line; do
        grep -v "^${line%%=*}=" "$scratch" >"$scratch.rest" || true
        { cat "$scratch.rest" && echo "$line"; } >"$scratch"
    done
    rm -f "$scratch.rest"
    said=$(scripts/publisher "${option[@]}" "$scratch") || code=$?
    [ "$code" = "$as" ] || { echo "judged $code, not $as: ${option[*]} $*: $said"; exit 1; }
}

judged 0 --complete
judged 0 --complete security=https://host.invalid/report
for key in repository archive key maintainer security conduct; do
    judged 0 $key=
    judged 1 --complete $key=
    judged 1 $key=TODO
done
judged 1 archive=https://host.invalid/asio-redlock.tar.gz
judged 1 key=01234567
judged 1 maintainer=me@host.invalid
judged 1 'security=in private'
judged 1 $'contact=me'
judged 1 $'security=me@host.invalid\nsecurity='

#!/usr/bin/env bash
# PUBLISHER is in order, and scripts/publisher sees it where one is not.
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/publisher
scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT

judged() # judged AS REPOSITORY SECURITY [OPTION]
{
    printf 'repository=%s\nsecurity=%s\n' "$2" "$3" >"$scratch"
    local code=0
    # shellcheck disable=SC2086
    said=$(scripts/publisher ${4:-} "$scratch") || code=$?
    [ "$code" = "$1" ] || { echo "judged $code, not $1: repository=$2 security=$3 ${4:-}: $said"; exit 1; }
}

judged 0 '' ''
judged 1 '' '' --complete
judged 1 https://host.invalid/x '' --complete
judged 0 https://host.invalid/x me@host.invalid --complete
judged 0 https://host.invalid/x https://host.invalid/report --complete
judged 1 'TODO' me@host.invalid
judged 1 https://host.invalid/x 'in private'
judged 1 $'\nrepository=' ''
judged 1 $'\ncontact=me' ''

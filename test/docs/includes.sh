#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# The Markdown files stand by themselves where a code host shows them: nothing is included that only the site has, no link
# leads to a page that only the site has, and every anchor of a link is a heading of the file it leads to.
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -t documents < <(find . -maxdepth 1 -name '*.md' -printf '%f\n' && find docs benchmarks -name '*.md')
failed=0
checked=0
complain() { failed=1; echo "$1"; }

while IFS= read -r found; do
    [ -z "$found" ] || complain "$found: only the site could show that"
done < <(grep -noE '<!-- include:.*|^To be read in.*|\]\([^)]*\.html[)#]' "${documents[@]}" | grep -vE '\]\(https?:' || true)

# The anchors that a code host gives to a file's headings; one that comes again has a number.
declare -A known
anchors()
{
    awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ +/, ""); print }' "$1" |
        sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g' | tr '[:upper:]' '[:lower:]' | sed -E 's/[^[:alnum:]_ -]//g; s/ /-/g' |
        awk '{ print (seen[$0]++ ? $0 "-" seen[$0] - 1 : $0) }'
}

while IFS=: read -r document line target; do
    target=${target#](} target=${target%)}
    file=${target%%#*} anchor=${target#*#}
    file=${file:+$(dirname "$document")/$file}
    file=${file:-$document}
    [[ $file == *.md ]] && [ -f "$file" ] || continue # citations.sh looks for the file
    file=$(realpath "$file")
    [ -n "${known[$file]+known}" ] || known[$file]=$(anchors "$file")
    checked=$((checked + 1))
    grep -qxF -- "$anchor" <<<"${known[$file]}" || complain "$document:$line: $target: no such heading"
done < <(grep -noE '\]\([A-Za-z0-9_./-]*#[^) ]+\)' "${documents[@]}")

[ $checked -gt 0 ] || complain "no anchor found"
echo "$checked anchors checked"
exit $failed

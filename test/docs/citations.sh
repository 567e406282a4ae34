#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# What the Markdown files cite exists: `path/to/file` and `path/to/file:word` name a file of this tree, and a word in it.
# scripts/rules --check looks for the rules that code and pages cite.
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -t documents < <(find . -maxdepth 1 -name '*.md' -printf '%f\n' && find docs -name '*.md')
failed=0
complain() { failed=1; echo "$1"; }

places='(\.ci|benchmarks|cmake|docs|examples|include|scripts|src|test|test_package)'
cited=$(grep -noE "\`$places/[A-Za-z0-9_./-]*(:[A-Za-z0-9_]+)?\`" "${documents[@]}")
while IFS=: read -r document line path word; do
    path=${path#\`}
    if [ ! -e "${path%\`}" ]; then
        complain "$document:$line: ${path%\`} does not exist"
    elif [ -n "$word" ] && ! grep -qwF -- "${word%\`}" "$path"; then
        complain "$document:$line: ${word%\`} does not stand in $path"
    fi
done <<<"$cited"

while IFS=: read -r document line target; do
    target=${target#](}
    target=$(dirname "$document")/${target%%[)#]*}
    [ -e "$target" ] || complain "$document:$line: $target does not exist"
done < <(grep -noE '\]\([A-Za-z0-9_./-]+[)#]' "${documents[@]}")

echo "$(wc -l <<<"$cited") citations checked"
exit $failed

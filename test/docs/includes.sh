#!/usr/bin/env bash
# Where the site includes a section of another file, a reader of the Markdown file finds a link to it:
#   <!-- include: FILE | HEADING -->
#   To be read in [FILE, "HEADING"](FILE from here#anchor of the heading).
set -euo pipefail
cd "$(dirname "$0")/../.."
failed=0
checked=0
complain() { failed=1; echo "$1"; }

# The anchor that a heading is given where Markdown is shown.
anchor() { tr '[:upper:]' '[:lower:]' <<<"$1" | sed -E 's/[^[:alnum:]_ -]//g; s/ /-/g'; }

while IFS=: read -r document line comment; do
    checked=$((checked + 1))
    [[ $comment =~ ^'<!-- include: '([^ ]+)' | '(.+)' -->'$ ]] || { complain "$document:$line: $comment"; continue; }
    file=${BASH_REMATCH[1]} heading=${BASH_REMATCH[2]}
    grep -qxE "#+ $heading" "$file" || complain "$document:$line: $file has no heading '$heading'"
    link=$(realpath --relative-to="$(dirname "$document")" "$file")#$(anchor "$heading")
    expected="To be read in [$file, \"$heading\"]($link)."
    [ "$(sed -n "$((line + 1))p" "$document")" = "$expected" ] || complain "$document:$line: not followed by: $expected"
done < <(grep -rnE '<!-- include:' docs --include='*.md')

[ $checked -gt 0 ] || { failed=1; echo "no include found"; }
echo "$checked includes checked"
exit $failed

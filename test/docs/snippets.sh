#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Every C++ block in the Markdown files is compiled code: the line before its fence names the example it comes from, which
# examples/CMakeLists.txt builds, or from a header that such an example includes.
#   <!-- program: examples/name.cpp -->   the block is that file without its opening comment, byte for byte
#   <!-- excerpt: examples/name.cpp -->   the block's lines stand in that file, one after another, indentation aside
#   <!-- file: name.cpp -->               the block is a whole program, which test/docs/compile.sh compiles
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -t documents < <(find . -maxdepth 1 -name '*.md' && find docs -name '*.md')
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Writes each block to a numbered file, and "number kind example document:line" to standard output.
blocks()
{
    awk -v out="$scratch" '
        inside && /^```/ { inside = 0; close(file); next }
        inside { print > file; next }
        /^```cpp/ {
            kind = "unnamed"; example = "-"
            if (split(before, word, " ") == 4 && word[1] == "<!--") { kind = word[2]; example = word[3] }
            file = out "/" ++count; printf "" > file
            print count, kind, example, FILENAME ":" FNR
            inside = 1
        }
        { before = $0 }' "$@"
}

# Each fence must name a known language, so that none is skipped: c++, C++ and the like are unknown here.
unknown_fences() { grep -nHE '^ *(```|~~~) *[^ `]' "$@" | grep -vE ':```(cpp|cmake|console|text)$' || true; }
built()
{
    local source=$1
    [ "${1##*.}" = cpp ] || source=$(grep -lF "#include \"$(basename "$1")\"" examples/*.cpp | head -n 1)
    grep -qE "^ *redlock_example\($(basename "$source" .cpp)[ )]" examples/CMakeLists.txt
}

without_opening_comment() { awk 'code || !/^(\/\/.*)?$/ { code = 1; print }' "$1"; }
unindented() { sed 's/^[[:space:]]*//' "$1"; }

contains()
{
    [ -f "$1" ] || return 1
    local lines
    lines=$(unindented "$2")
    [[ $'\n'$(unindented "$1")$'\n' == *$'\n'"$lines"$'\n'* ]] # quoted: C++ is full of what patterns are made of
}

failed=0
checked=0
while read -r number kind example place; do
    block=$scratch/$number
    right=no
    case $kind in
        program:) [ ! -f "$example" ] || ! without_opening_comment "$example" | cmp -s - "$block" || right=yes ;;
        excerpt:) ! contains "$example" "$block" || right=yes ;;
        file:) ! grep -q '^int main(' "$block" || right=yes ;;
    esac
    [ "$kind" = file: ] || built "$example" || right=no
    checked=$((checked + 1))
    [ $right = yes ] || { failed=1; echo "$place: not the ${kind%:} of $example"; }
done < <(blocks "${documents[@]}")

unknown=$(unknown_fences "${documents[@]}")
[ -z "$unknown" ] || { failed=1; echo "a fence of an unknown language: $unknown"; }

[ $checked -gt 0 ] || { failed=1; echo "no C++ block found"; }
echo "$checked C++ blocks checked"
exit $failed

#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# The tutorial compiles step by step as printed: what follows a line <!-- file: NAME --> or <!-- program: ... --> is written to
# a file, without anything before it, and compiled. COMPILER and FLAGS are those of the build.
# compile.sh COMPILER FLAGS...
set -euo pipefail
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

awk -v out="$scratch" '
    inside && /^```/ { inside = 0; close(file); next }
    inside { print > file; next }
    /^```/ && before ~ /^<!-- (file|program): / {
        split(before, word, " ")
        count = split(word[3], part, "/")
        file = out "/" part[count]
        inside = 1
    }
    { before = $0 }' docs/tutorial.md

compiled=0
for program in "$scratch"/*.cpp; do
    "$@" -std=c++20 -Wall -Wextra -fsyntax-only "$program"
    compiled=$((compiled + 1))
done
[ $compiled -gt 1 ] || { echo "no program found"; exit 1; }

# The build description builds exactly the programs that are printed.
listed=$(sed -nE 's/^foreach\(program IN ITEMS (.*)\)$/\1/p' "$scratch/CMakeLists.txt" | wc -w)
[ "$listed" = $compiled ] || { echo "CMakeLists.txt builds $listed programs, $compiled are printed"; exit 1; }
echo "$compiled programs compiled"

#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# T14: what one awaited acquire adds to the compilation of a small Asio program, in time and in peak memory.
# usage: benchmarks/compile_cost.sh BUILD_DIR [ROUNDS]     (CXX chooses the compiler; needs GNU time)
set -euo pipefail

if [ $# -lt 1 ]; then
    sed -n '2,3s/^# //p' "$0" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
build=$1
rounds=${2:-5}
cxx=${CXX:-g++}
files=(await_timer await_acquire await_acquire_umbrella)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

compile() {
    /usr/bin/time -f '%U %S %M' -o "$scratch/cost" "$cxx" -std=c++20 -O0 -DREDLOCK_STATIC_DEFINE \
        -I"$here/../include" -I"$build/include" -c "$here/compile_cost/$1.cpp" -o "$scratch/object.o"
    awk '{ print $1 + $2, $3 }' "$scratch/cost" >>"$scratch/$1"
}

median() {  # FILE FIELD
    awk -v field="$2" '{ print $field }' "$1" | sort -n |
        awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

for file in "${files[@]}"; do  # fills the page cache
    compile "$file"
    rm "$scratch/$file"
done
for ((round = 0; round < rounds; ++round)); do
    for file in "${files[@]}"; do
        compile "$file"
    done
done

base_time=$(median "$scratch/${files[0]}" 1)
base_memory=$(median "$scratch/${files[0]}" 2)
printf 'T14, %s -O0, medians of %s\n' "$cxx" "$rounds"
printf '%-24s %8s %7s %8s %7s\n' file 'CPU s' ratio 'peak MB' ratio
for file in "${files[@]}"; do
    awk -v file="$file" -v t="$(median "$scratch/$file" 1)" -v m="$(median "$scratch/$file" 2)" \
        -v bt="$base_time" -v bm="$base_memory" \
        'BEGIN { printf "%-24s %8.2f %6.2fx %8.0f %6.2fx\n", file, t, t / bt, m / 1024, m / bm }'
done

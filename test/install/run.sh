#!/usr/bin/env bash
# Uses the library the ways a stranger does: installed (CMake and pkg-config), as a subdirectory, by FetchContent.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build() # build NAME SOURCE OPTIONS...
{
    local name=$1 source=$2
    shift 2
    cmake -S "$source" -B "$work/$name" -G Ninja -DCMAKE_BUILD_TYPE=Debug "$@" >"$work/log" 2>&1 \
        && cmake --build "$work/$name" >>"$work/log" 2>&1 || { cat "$work/log"; return 1; }
}

run() # run WHAT COMMAND...
{
    echo "-- $1"
    shift
    "$@"
}

for kind in static shared; do
    shared=$([ $kind = shared ] && echo ON || echo OFF)
    build library-$kind "$root" -DBUILD_SHARED_LIBS=$shared -DREDLOCK_BUILD_TESTS=OFF \
        -DREDLOCK_BUILD_EXAMPLES=OFF -DREDLOCK_BUILD_BENCHMARKS=OFF
    cmake --install "$work/library-$kind" --prefix "$work/staged" >"$work/log"
    # The tree is used from another place than it was installed to, and without its build.
    mv "$work/staged" "$work/prefix-$kind"
    rm -r "$work/library-$kind"
    libdir=$(dirname "$(find "$work/prefix-$kind" -name 'libredlock.*' | head -n 1)")

    build find-$kind "$here/find_package" -DCMAKE_PREFIX_PATH="$work/prefix-$kind"
    run "find_package, $kind" "$work/find-$kind/consumer"

    flags=$(PKG_CONFIG_PATH="$libdir/pkgconfig" pkg-config --cflags --libs asio-redlock)
    # shellcheck disable=SC2086
    "${CXX:-g++}" -std=c++20 "$root/test_package/main.cpp" -o "$work/pc-$kind" $flags
    run "pkg-config, $kind" env LD_LIBRARY_PATH="$libdir" "$work/pc-$kind"
done

build subdirectory "$here/add_subdirectory"
run "add_subdirectory, static" "$work/subdirectory/consumer"
build fetch "$here/fetch_content" -DBUILD_SHARED_LIBS=ON -DFETCHCONTENT_SOURCE_DIR_ASIO-REDLOCK="$root"
run "FetchContent, shared" "$work/fetch/consumer"

#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Uses the library the ways a stranger does: installed (CMake and pkg-config), as a subdirectory, by FetchContent; and
# looks at what is installed: headers, exported symbols, versions.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
source "$root/scripts/environment.sh"
work=$root/build/install
rm -rf "$work"
mkdir -p "$work"

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

# With the flags of another project. The preset dev checks that no header needs another one before it.
headers_are_complete()
{
    # shellcheck disable=SC2086
    (cd "$1/include" && printf '#include <%s>\n' redlock/{,testing/}*.hpp) |
        "${CXX:-g++}" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -x c++ $flags -
}

# The exports are those of src/exports.map. Of redlock these are the symbols that the public headers mark, and those that
# redlock::testing needs of the library. Of Asio these are 20 symbols, and the data that newer versions keep for each thread
# that launches coroutines.
exports_are_public()
{
    local exported stray asio marked
    exported=$(nm -DC --defined-only "$1" | cut -d' ' -f2- | sed -E 's/^. //')
    grep -q 'redlock::mutex::' <<<"$exported" || { echo "exports nothing"; return 1; }
    marked=$(sed -nE 's/.*class REDLOCK_EXPORT (\w+).*/\1(::.*)?/p; s/.*REDLOCK_EXPORT [^(]*\b(\w+)\(.*/(\\w+::)?\1/p' \
        "$root"/include/redlock/{,detail/}*.hpp "$root/src/engine/client_access.hpp" | paste -sd'|')
    # Names without parameters.
    stray=$(sed -E 's/^(typeinfo (name )?for |vtable for |void )//; s/[[(<].*//' <<<"$exported" \
        | grep -vxE "redlock::(detail::)?($marked)|(guard variable for )?boost::asio::.*" || true)
    [ -z "$stray" ] || { echo "exported, but not public:"; echo "$stray"; return 1; }
    asio=$(grep -E '^(guard variable for )?boost::asio::' <<<"$exported" | grep -v awaitable_launch_context)
    [ "$(wc -l <<<"$asio")" = 20 ] || { echo "of Asio not what a process must have one of:"; echo "$asio"; return 1; }
}

# Symbols that need one instance in a process have one, although the other symbols are hidden: the same program prints the
# same.
boundary() # boundary KIND LIBDIR
{
    # shellcheck disable=SC2086
    "${CXX:-g++}" -std=c++20 "$here/boundary/main.cpp" -o "$work/boundary-$1" $flags
    LD_LIBRARY_PATH=$2 "$work/boundary-$1" >"$work/boundary-$1.said"
    diff "$here/boundary/expected" "$work/boundary-$1.said"
}

# An older minor version lacks what the program may use, and another major version has another interface.
versions_are_honest()
{
    local wanted major minor patch
    IFS=. read -r major minor patch < <(version)
    cmake -S "$here/find_package" -B "$work/version" -G Ninja "$@" -DWANTED="$major.$minor.$patch" >"$work/log" 2>&1 || { cat "$work/log"; return 1; }
    for wanted in "$((major - 1)).0" "$major.$((minor + 1))" "$((major + 1)).0"; do
        ! cmake -S "$here/find_package" -B "$work/version-$wanted" -G Ninja "$@" -DWANTED=$wanted >"$work/log" 2>&1 \
            || { echo "passes for version $wanted"; return 1; }
        grep -q 'compatible with requested version' "$work/log" || { cat "$work/log"; return 1; }
    done
}

for kind in static shared; do
    shared=$([ $kind = shared ] && echo ON || echo OFF)
    build library-$kind "$root" -DBUILD_SHARED_LIBS=$shared -DREDLOCK_BUILD_TESTS=OFF \
        -DREDLOCK_BUILD_EXAMPLES=OFF -DREDLOCK_BUILD_BENCHMARKS=OFF
    cmake --install "$work/library-$kind" --prefix "$work/staged" >"$work/log"
    # The tree is used from another place than it was installed to, and without its build.
    prefix=$work/prefix-$kind
    mv "$work/staged" "$prefix"
    rm -r "$work/library-$kind"
    libdir=$(dirname "$(find "$prefix" -name 'libredlock.*' | head -n 1)")

    build find-$kind "$here/find_package" -DCMAKE_PREFIX_PATH="$prefix"
    run "find_package, $kind" "$work/find-$kind/consumer"
    run "redlock::testing, $kind" "$work/find-$kind/kit"

    flags=$(PKG_CONFIG_PATH="$libdir/pkgconfig" pkg-config --cflags --libs asio-redlock)
    # shellcheck disable=SC2086
    "${CXX:-g++}" -std=c++20 "$root/test_package/main.cpp" -o "$work/pc-$kind" $flags
    run "pkg-config, $kind" env LD_LIBRARY_PATH="$libdir" "$work/pc-$kind"
    # shellcheck disable=SC2046
    "${CXX:-g++}" -std=c++20 "$here/find_package/kit.cpp" -o "$work/pc-kit-$kind" \
        $(PKG_CONFIG_PATH="$libdir/pkgconfig" pkg-config --cflags --libs asio-redlock-testing)
    run "redlock::testing by pkg-config, $kind" env LD_LIBRARY_PATH="$libdir" "$work/pc-kit-$kind"
    run "command line, $kind" "$work/prefix-$kind/bin/redlock" --version
    run "what is shared with the program, $kind" boundary $kind "$libdir"
    if command -v clang++ >/dev/null; then
        # shellcheck disable=SC2086
        clang++ -std=c++20 -O2 -DNDEBUG "$root/test_package/main.cpp" -o "$work/other-$kind" $flags
        run "an optimised program of Clang, $kind" env LD_LIBRARY_PATH="$libdir" "$work/other-$kind"
    fi
done
# All examples are configured; the tests of the sources have compiled the other ones.
cmake -S "$root/examples" -B "$work/examples" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix-static" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmake --build "$work/examples" --target 01_hello guide_testing >"$work/log" || { cat "$work/log"; exit 1; }
run "an example, built alone" "$work/examples/guide_testing"
"$here/fit.sh" "$work/prefix-static"
run "every installed header" headers_are_complete "$prefix"
run "what the shared library exports" exports_are_public "$libdir/libredlock.so"
run "versions asked for" versions_are_honest -DCMAKE_PREFIX_PATH="$prefix"

# Both are shared: our own tests and examples use the targets of the static one. Both give their compiled files the same
# names, so that a compiler cache has each file once.
build subdirectory "$here/add_subdirectory" -DBUILD_SHARED_LIBS=ON
run "add_subdirectory, shared" "$work/subdirectory/consumer"
run "redlock::testing by add_subdirectory" "$work/subdirectory/kit"
build fetch "$here/fetch_content" -DBUILD_SHARED_LIBS=ON -DFETCHCONTENT_BASE_DIR="$work/fetch" -DFETCHCONTENT_SOURCE_DIR_ASIO-REDLOCK="$root"
run "FetchContent, shared" "$work/fetch/consumer"
run "redlock::testing by FetchContent" "$work/fetch/kit"

run "what may be missing" "$here/lacking.sh" "$work/lacking"
"$here/tarball.sh"
run "the code host's files" "$root/test/docs/forge.sh" --schemas
"$here/vcpkg/run.sh"
"$here/conan/run.sh"

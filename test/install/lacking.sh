#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# lacking.sh PLACE: a plain `cmake -S . -B build` configures whatever is missing besides Boost's headers and OpenSSL; one line
# says what is left out. BUILD_TESTING=OFF leaves out the tests.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
place=$1
rm -rf "$place"
packages=(rapidcheck CLI11 nlohmann_json GTest SQLite3 spdlog prometheus-cpp opentelemetry-cpp)

configured() # configured OPTION...
{
    cmake -S "$root" -B "$place" "$@" >"$place.log" 2>&1 || { cat "$place.log"; return 1; }
}

# leaves_out WHAT OPTION...: exactly one line says so
leaves_out()
{
    configured "${@:2}"
    [ "$(grep -c "^-- asio-redlock: .*\b$1\b.*\bwithout\b" "$place.log")" = 1 ] ||
        { echo "configured without $1, which not one line says:"; cat "$place.log"; return 1; }
}

with=() all=()
for package in "${packages[@]}"; do
    with+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=OFF")
    all+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON")
done
declare -A called=([rapidcheck]=RapidCheck [GTest]=GoogleTest [SQLite3]=SQLite)
for package in "${packages[@]}"; do
    leaves_out "${called[$package]-$package}" "${with[@]}" "-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON"
done
leaves_out Boost.Test "${with[@]}" -DREDLOCK_BOOST_TEST_DIR=OFF
leaves_out LuaJIT "${with[@]}" -UREDLOCK_BOOST_TEST_DIR -DREDLOCK_LUA_INCLUDE_DIR=OFF
configured "${all[@]}"
! grep -i warning "$place.log"

has_tests() { cmake --build "$place" --target help | grep -w unit_tests >/dev/null; }
configured "${with[@]}" -UREDLOCK_LUA_INCLUDE_DIR
has_tests || { echo "there are no tests"; exit 1; }
configured -UREDLOCK_BUILD_TESTS -DBUILD_TESTING=OFF
! has_tests || { echo "BUILD_TESTING=OFF leaves the tests"; exit 1; }

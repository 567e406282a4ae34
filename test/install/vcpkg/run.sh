#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Runs the vcpkg port without vcpkg, static and shared, and finds the package in the place that it is moved to. The
# sources are not compiled for it: what is looked at is where files go and what they say of each other.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=$root/build/install-vcpkg
rm -rf "$work"
mkdir -p "$work"

archive=$(scripts/tarball HEAD "$work" 2>"$work/log")
filled=$(scripts/registries "file://$archive" "$archive")
for row in static-packaging dynamic-packaging dynamic-"${filled#"$root/"}"; do
    IFS=- read -r linkage place <<<"$row"
    port=$root/$place/vcpkg/asio-redlock
    echo "-- vcpkg's port, $linkage, from $place"
    rm -rf "$work"/*-"$linkage"
    package=$work/built-$linkage
    CMAKE_CXX_COMPILER_LAUNCHER="$here/hollow" cmake -DPORT=asio-redlock -DCURRENT_PORT_DIR="$port" \
        -DCURRENT_PACKAGES_DIR="$package" -DBUILDTREES="$work/tree-$linkage" -DVCPKG_LIBRARY_LINKAGE=$linkage \
        -P "$here/helpers.cmake"
    # vcpkg's own rules for a package, those that fit.
    for file in include/redlock/redlock.hpp share/asio-redlock/{copyright,usage,asio-redlock-config.cmake} {,debug/}lib/pkgconfig/asio-redlock{,-testing}.pc; do
        [ -f "$package/$file" ] || { echo "missing: $file"; exit 1; }
    done
    for left in debug/include debug/share {,debug/}lib/cmake share/doc; do
        [ ! -e "$package/$left" ] || { echo "left behind: $left"; exit 1; }
    done
    mv "$package" "$work/installed-$linkage"
    rm -r "$work/tree-$linkage"
    ! grep -rIl "$work" "$work/installed-$linkage" || { echo "these name the place they were built in"; exit 1; }
    # As `usage` says; both builds' libraries must be where the targets say.
    cmake -S "$here/../find_package" -B "$work/consumer-$linkage" -G Ninja -DCMAKE_PREFIX_PATH="$work/installed-$linkage" \
        >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    for type in '' debug/; do
        PKG_CONFIG_PATH="$work/installed-$linkage/${type}lib/pkgconfig" pkg-config --exists asio-redlock asio-redlock-testing
    done
done

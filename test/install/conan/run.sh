#!/usr/bin/env bash
# Packages the library with Conan and uses the package, static and shared, on the distribution's Boost and OpenSSL.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
command -v conan >/dev/null || { echo "skipped: conan not available"; exit 0; }
CONAN_HOME=$(mktemp -d)
export CONAN_HOME
trap 'rm -rf "$CONAN_HOME"' EXIT

quietly() { "$@" >"$CONAN_HOME/log" 2>&1 || { cat "$CONAN_HOME/log"; return 1; }; }

quietly conan profile detect
quietly conan remote remove conancenter
quietly conan remote add distribution "$here" --type local-recipes-index
for shared in False True; do
    echo "-- conan, shared=$shared"
    quietly conan create "$here/../../.." --test-folder="$here/../../../test_package" \
        -s compiler.cppstd=20 -o "&:shared=$shared" --build=missing
    grep 'refused a bad URL' "$CONAN_HOME/log"
done

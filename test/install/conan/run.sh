#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# conan/run.sh [ROW...]: packages the library with Conan and uses the package, on the distribution's Boost, OpenSSL and
# Lua and without a remote. A row is COMPILER-KIND-TYPE, such as clang-shared-Debug; "all": each of them; none: two of them.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
source "$root/scripts/environment.sh"
rows=("${@:-gcc-static-Debug}")
[ $# -gt 0 ] || rows+=(gcc-shared-Debug)
[ "$*" != all ] || rows=({gcc,clang}-{static,shared}-{Release,Debug})

if ! command -v conan >/dev/null; then
    pypi 'conan>=2.1,<3' || { echo "-- conan: skipped, it is neither installed nor to be had from PyPI"; exit 0; }
    PATH=$PWD/build/python/bin:$PATH
fi
CONAN_HOME=$(mktemp -d)
trap 'rm -rf "$CONAN_HOME"' EXIT
export CONAN_HOME CCACHE_BASEDIR=$CONAN_HOME
quietly() { "$@" >"$CONAN_HOME/log" 2>&1 || { cat "$CONAN_HOME/log"; return 1; }; }

from_sources=(--build=missing -s compiler.cppstd=20 -c tools.cmake.cmaketoolchain:generator=Ninja)
create() # create KIND TYPE SETTINGS...
{
    local shared=False
    [ "$1" != shared ] || shared=True
    quietly conan create "$root" --test-folder="$root/test_package" "${from_sources[@]}" \
        -o "&:shared=$shared" -s build_type="$2" -c tools.cmake.cmaketoolchain:user_presets= "${@:3}"
    grep 'refused a bad URL' "$CONAN_HOME/log"
}

quietly env CC=gcc CXX=g++ conan profile detect
quietly conan remote remove conancenter
quietly conan remote add distribution "$here" --type local-recipes-index
for row in "${rows[@]}"; do
    IFS=- read -r compiler kind type <<<"$row"
    echo "-- conan, $compiler, $kind, $type"
    if [ "$compiler" = clang ]; then
        command -v clang++ >/dev/null || { echo "skipped: no clang++"; continue; }
        create "$kind" "$type" -s compiler=clang -s compiler.version="$(clang -dumpversion | cut -d. -f1)" \
            -s compiler.libcxx=libstdc++11 -c 'tools.build:compiler_executables={"c": "clang", "cpp": "clang++"}'
    else
        create "$kind" "$type"
    fi
done

# A consumer's graph, with nothing said about Boost: its headers alone, and no binary of it.
echo "-- conan, what a consumer gets of Boost"
version=$(version)
conan graph info --requires="asio-redlock/$version" -s compiler.cppstd=20 --format=json 2>"$CONAN_HOME/log" >"$CONAN_HOME/graph.json" \
    || { cat "$CONAN_HOME/log"; exit 1; }
python3 - "$CONAN_HOME/graph.json" <<'PYTHON'
import json, sys

nodes = json.load(open(sys.argv[1]))["graph"]["nodes"].values()
[boost] = [node for node in nodes if node["name"] == "boost"]
print("header_only:", boost["options"]["header_only"], "- package_type:", boost["package_type"])
sys.exit((boost["options"]["header_only"], boost["package_type"]) != ("True", "header-library"))
PYTHON

# docs/howto/install.md, but for the type of the build.
echo "-- conan, a consumer's commands"
(
    mkdir "$CONAN_HOME/program"
    cp "$root"/test_package/{main.cpp,CMakeLists.txt} "$CONAN_HOME/program"
    cd "$CONAN_HOME/program"
    printf '%s\n' '[requires]' "asio-redlock/$version" '[generators]' CMakeDeps CMakeToolchain >conanfile.txt
    quietly conan install . --output-folder=build --build=missing -s compiler.cppstd=20 -s build_type=Debug
    quietly cmake -S . -B build -G Ninja -DCMAKE_TOOLCHAIN_FILE=build/conan_toolchain.cmake -DCMAKE_BUILD_TYPE=Debug
    quietly cmake --build build
    build/test_package
)

# refused WORDS SETTINGS...: what cannot compile it is refused before it does.
refused()
{
    ! conan create "$root" --test-folder= --build=missing -s compiler.cppstd=20 "${@:2}" >"$CONAN_HOME/log" 2>&1 || { echo "passes with ${*:2}"; return 1; }
    grep -oF "$1" "$CONAN_HOME/log"
}
refused 'Current cppstd (17) is lower than the required C++ standard (20)' -s compiler.cppstd=17 # as the profile that Conan detects
refused 'asio-redlock needs gcc 11 or newer' -s compiler=gcc -s compiler.version=10

# The recipe of a registry finds the archive, and the archive builds, in objects without content.
echo "-- conan, the recipe of a registry"
archive=$(scripts/tarball HEAD "$CONAN_HOME" 2>"$CONAN_HOME/log")
recipe=$(scripts/registries "file://$archive" "$archive")/conan/asio-redlock/all
printf 'include(default)\n[replace_requires]\nboost/*: boost/1.81.0\n[platform_tool_requires]\ncmake/3.21.0\n' >"$CONAN_HOME/profiles/registry"
for testing in True False; do
    quietly env CMAKE_CXX_COMPILER_LAUNCHER="$here/../vcpkg/hollow" conan create "$recipe" --version="$version" \
        --profile=registry --test-folder= "${from_sources[@]}" -o "&:with_testing=$testing"
done
grep -o 'no Lua .*without redlock::testing' "$CONAN_HOME/log"

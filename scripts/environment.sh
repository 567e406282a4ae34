# SPDX-License-Identifier: BSL-1.0
# Sourced by the other scripts, which run from the project's root.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
export CMAKE_BUILD_PARALLEL_LEVEL
# Debian keeps each version of Clang and its tools in a place of its own, under the plain names that the presets use. The
# newest goes first, and the user's own, in LLVM_BIN, before it.
for bin in $(ls -dv /usr/lib/llvm-*/bin 2>/dev/null) ${LLVM_BIN-}; do PATH=$bin:$PATH; done
if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
    # Two clones of one state share what is compiled, wherever they stand.
    export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}
    # ccache requires this for precompiled headers; nothing here reads __TIME__.
    export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
    # Files are compared as they are, not as they are preprocessed: #pragma once knows a header of a precompiled one by its
    # whole text, so one that was made before a comment changed must not be taken for the new one.
    export CCACHE_DEPEND=${CCACHE_DEPEND:-1}
fi

# version [FILE]: what include/redlock/version.hpp says, which is the one place that names it.
version() { sed -n 's/^#define REDLOCK_VERSION_[MP][A-Z]* \([0-9]*\)$/\1/p' "${@:-include/redlock/version.hpp}" | paste -sd.; }

# build PRESET [TARGET...]: configures and builds; the configuration's chatter is shown only when it fails.
build()
{
    local preset=$1 log
    shift
    log=$(cmake --preset "$preset" 2>&1) || { echo "$log"; return 1; }
    cmake --build --preset "$preset" ${*:+--target "$@"}
}

# ticking WHAT COMMAND...: runs it, and says every five seconds that it still does.
ticking()
{
    local what=$1 code=0 ticker
    shift
    (started=$SECONDS; while sleep 5 >/dev/null 2>&1; do echo "-- $what: $((SECONDS - started)) s$(progress)"; done) &
    ticker=$!
    "$@" || code=$?
    kill $ticker 2>/dev/null
    wait $ticker 2>/dev/null || true
    return $code
}
# Prints how far the running test programs are, from $REDLOCK_TEST_PROGRESS.
progress() { (cd "${REDLOCK_TEST_PROGRESS:-/nowhere}" 2>/dev/null && grep -Hs . -- * | sed 's/^/, /; s/\.[0-9]*:/ /' | tr -d '\n') || true; }

# pypi REQUIREMENT...: installs from the Python Package Index into build/python; fails, without a word, where it cannot.
pypi()
{
    build/python/bin/pip --version &>/dev/null || { rm -rf build/python && python3 -m venv build/python &>/dev/null; } || return 1
    timeout 300 build/python/bin/pip --quiet --disable-pip-version-check install --retries 1 "$@" &>/dev/null
}

# absent WHY: ends a part of a script that cannot be done here, with this exit code.
absent=77
absent() { echo "$*"; exit $absent; }

# in_its_own_shell COMMAND...: and what it ends with in $code. Its -e holds there; "|| code" would take that from it.
in_its_own_shell()
{
    set +e
    (set -e; "$@")
    code=$?
    set -e
}

# apt_beside PLACE SUITE...: an `apt` that knows these suites of Debian alone and writes into PLACE, so the machine's
# packages are not changed. The mirror is that of apt's own configuration.
apt_beside()
{
    local place=$1 mirror suite
    shift
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' 2>/dev/null | head -n 1)
    [ -n "$mirror" ] || absent "not a Debian 12"
    mkdir -p "$place"/{lists,cache/archives}/partial
    for suite; do echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"; done >"$place/sources.list"
    apt=(apt-get -qq -o Dir::Etc::SourceList="$place/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o Dir::State::Lists="$place/lists" -o Dir::Cache="$place/cache" -o APT::Sandbox::User=)
}

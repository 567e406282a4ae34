# Sourced by the other scripts, which run from the project's root.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
export CMAKE_BUILD_PARALLEL_LEVEL
if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
fi

# build PRESET [TARGET...]: configures and builds; the configuration's chatter is shown only when it fails.
build()
{
    local preset=$1 log
    shift
    log=$(cmake --preset "$preset" 2>&1) || { echo "$log"; return 1; }
    cmake --build --preset "$preset" ${*:+--target "$@"}
}

#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# fit.sh PREFIX: a program that does not fit the library installed there is refused, with the reason, by CMake, by the
# compiler and by the linker.
set -euo pipefail

prefix=$1
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
source "$root/scripts/environment.sh"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig:$prefix/lib/$(gcc -print-multiarch)/pkgconfig
read -ra flags < <(pkg-config --cflags asio-redlock)
read -ra libraries < <(pkg-config --libs asio-redlock)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build() { "${CXX:-g++}" -std=c++20 "$@" "${flags[@]}" "$root/test_package/main.cpp" -o "$work/program" "${libraries[@]}" &>"$work/said"; }
said() { grep -o -m 1 -- "$1" "$work/said" || { cat "$work/said"; return 1; }; }

refused() # refused WHAT IN_WHICH_WORDS FLAGS...
{
    echo "-- refused: $1"
    ! build "${@:3}" || { echo "it builds"; return 1; }
    said "$2"
}

# Without a library and without Asio, so that every setting can be tried quickly.
named() # named AS FLAGS...
{
    "${CXX:-g++}" -std=c++20 "${@:2}" "${flags[@]}" -c -x c++ - -o "$work/named.o" \
        <<<$'#include <redlock/detail/built_with.hpp>\nREDLOCK_NAMED_BY_BUILD void program() {}'
    nm -C "$work/named.o" >"$work/said"
    grep -qF "$1" "$work/said" || { echo "not named $1:" && cat "$work/said" && return 1; }
}

boost=$(sed -n 's/^#define REDLOCK_LIBRARY_BOOST "\(.*\)"$/\1/p' "$prefix/include/redlock/detail/export.hpp")
tag=boost_$(cut -d. -f1,2 --output-delimiter=_ <<<"$boost")
echo "-- built with Boost $boost: as $tag"
named "program[abi:$tag]()"
while read -r name options; do
    # shellcheck disable=SC2086
    named "[abi:$name]" $options
done <<'SETTINGS'
asio_handler_tracking -DBOOST_ASIO_ENABLE_HANDLER_TRACKING
asio_custom_handler_tracking -DBOOST_ASIO_CUSTOM_HANDLER_TRACKING="own.hpp"
asio_no_threads -DBOOST_ASIO_DISABLE_THREADS
asio_no_thread_keyword -DBOOST_ASIO_DISABLE_THREAD_KEYWORD_EXTENSION
asio_io_uring -DBOOST_ASIO_HAS_IO_URING
asio_io_uring_as_default -DBOOST_ASIO_HAS_IO_URING -DBOOST_ASIO_DISABLE_EPOLL
asio_no_epoll -DBOOST_ASIO_DISABLE_EPOLL
asio_no_eventfd -DBOOST_ASIO_DISABLE_EVENTFD
asio_no_exceptions -fno-exceptions
asio_no_small_block_recycling -DBOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING
asio_cache_size_4 -DBOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=4
asio_no_typeid -fno-rtti
asio_ts_executor_as_default -DBOOST_ASIO_USE_TS_EXECUTOR_AS_DEFAULT
asio_buffer_debugging -DBOOST_ASIO_ENABLE_BUFFER_DEBUGGING
glibcxx_debug -D_GLIBCXX_DEBUG
glibcxx_old_strings -D_GLIBCXX_USE_CXX11_ABI=0
SETTINGS
named "program[abi:$tag]()" -DBOOST_ASIO_NO_DEPRECATED # changes neither layouts nor what is shared
named "program[abi:as_i_say]()" -DREDLOCK_BUILT_WITH='"as_i_say"' -DBOOST_ASIO_ENABLE_HANDLER_TRACKING

# Microsoft's linker compares one text. Its standard library is missing here, so empty headers stand in for Boost's.
if command -v clang++ >/dev/null; then
    mkdir -p "$work/stub/boost/asio/detail" && : >"$work/stub/boost/asio/detail/config.hpp"
    "${CXX:-g++}" "${flags[@]}" -include boost/version.hpp -E -dM -x c++ /dev/null |
        grep -E '^#define BOOST_(LIB_)?VERSION ' >"$work/stub/boost/version.hpp"
    clang++ --target=x86_64-pc-windows-msvc -std=c++20 -isystem "$work/stub" "-I$prefix/include" -S -emit-llvm -o "$work/said" \
        -DBOOST_ASIO_HAS_THREADS -DBOOST_ASIO_ENABLE_HANDLER_TRACKING -x c++ - <<<'#include <redlock/detail/built_with.hpp>'
    said "/FAILIFMISMATCH:.*redlock=${tag}+asio_handler_tracking"
else
    echo "-- Microsoft's linker: skipped, no clang++"
fi

wanted='redlock::client::client\[abi:asio_'
refused "handlers are tracked" "undefined reference.*${wanted}handler_tracking\]\[abi:$tag\]" -DBOOST_ASIO_ENABLE_HANDLER_TRACKING
refused "no threads, with all that drops what is not needed" "undefined reference.*${wanted}no_threads\]\[abi:$tag\]" \
    -DBOOST_ASIO_DISABLE_THREADS -O2 -flto -ffunction-sections -fdata-sections -Wl,--gc-sections,--as-needed
build -DBOOST_ASIO_ENABLE_HANDLER_TRACKING "-DREDLOCK_BUILT_WITH=\"$tag\"" || { cat "$work/said"; exit 1; }

pypi cmeel-boost --no-deps || { echo "-- another Boost: skipped, cmeel-boost is not to be had from PyPI"; exit 0; }
other=$(ls -d "$PWD"/build/python/lib/python*/site-packages/cmeel.prefix)
! grep -q "LIB_VERSION \"${tag#boost_}\"" "$other/include/boost/version.hpp" || { echo "-- another Boost: skipped, it is the same"; exit 0; }

echo "-- refused: another Boost, by CMake"
! cmake -S "$here/find_package" -B "$work/tree" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DBoost_DIR="$(ls -d "$other"/lib/cmake/Boost-*)" &>"$work/cmake" || { echo "it configures"; exit 1; }
tr -s '\n ' ' ' <"$work/cmake" >"$work/said"
said "asio-redlock was built with Boost $boost, and this project has found Boost 1[.0-9]* (/.*/Boost-[.0-9]*): .* with the latter"
refused "another Boost, by the compiler" "asio-redlock was built with Boost $boost, and this program is compiled with .*" -I "$other/include"
# As for objects that were compiled before, or a header that does not know its library.
cp -r "$prefix/include" "$work/include"
sed -i '/REDLOCK_LIBRARY_BOOST/d' "$work/include/redlock/detail/export.hpp"
refused "another Boost, by the linker" 'undefined reference.*redlock::client::client\[abi:boost_[_0-9]*\]' -I "$other/include" -I "$work/include"

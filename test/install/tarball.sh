#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# The archive of the sources is the same from another clone, in another zone of time, with other rights of files and
# other ends of lines, and has all that Git has; what the SBOM says is what CMake looks for.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/environment.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

first=$(scripts/tarball HEAD "$work/first" 2>"$work/log")
git clone --quiet --no-local . "$work/clone"
second=$(umask 077 && cd / && TZ=Pacific/Auckland LC_ALL=C GZIP=-1 \
    GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.autocrlf GIT_CONFIG_VALUE_0=true "$work/clone/scripts/tarball" HEAD "$work/second" 2>"$work/log")
cmp "$first" "$second"
diff <(tar -tzf "$first" | grep -v '/$' | cut -d/ -f2- | LC_ALL=C sort) <(git -c core.quotePath=off ls-tree -r --name-only HEAD | LC_ALL=C sort)
echo "-- the archive, twice: $(sha256sum "$first" | cut -c1-16)"
scripts/sbom --check

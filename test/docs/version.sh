#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# What a user copies names the version of include/redlock/version.hpp, and CHANGELOG.md begins with it.
set -euo pipefail
source "$(dirname "$0")/../../scripts/environment.sh"
now=$(version)
minor=${now%.*}
failed=0

named() # named AS FILE PATTERN: each match of the pattern is AS, and there is one
{
    local found
    found=$(grep -oP "$3" "$2" | sort -u || true)
    [ "$found" = "$1" ] || { failed=1; echo "$2: $3: ${found:-nothing}, not $1"; }
}

[[ $now =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "include/redlock/version.hpp: no version: $now"; exit 1; }
named "$now" <(grep -m 1 '^## ' CHANGELOG.md) '^## \K[0-9.]+'
for page in README.md docs/howto/install.md; do
    named "$minor" $page 'find_package\(asio-redlock \K[0-9.]+(?= CONFIG)'
    named "$now" $page '^ *asio-redlock/\K[0-9.]+$'
done
named "$now" docs/howto/install.md ' GIT_TAG v\K[0-9.]+(?=\))'
named "${now%%.*}" docs/howto/install.md 'libredlock\.so\.\K[0-9.]+(?=`)'
named "$now" packaging/vcpkg/asio-redlock/vcpkg.json '"version": "\K[^"]+'
exit $failed

#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# The commands of the pages that a new user follows run on a Debian that has what scripts/setup, or the page itself, installs:
# there is no make, so CMake's generator is named, and no other program that a Debian need not have.
set -euo pipefail
cd "$(dirname "$0")/../.."
pages=(README.md CONTRIBUTING.md benchmarks/README.md docs/{tutorial,cli,examples}.md docs/howto/install.md)
source test/docs/pages.sh

failed=0
complain() { failed=1; echo "$1"; }
declare -A configured
checked=0
while read -r place command rest; do
    case $command in
        cmake)
            if [[ " $rest " =~ \ -B\ ([^ ]+) ]]; then
                tree=${place%%:*}:${BASH_REMATCH[1]}
                [[ " $rest " =~ \ (-G\ Ninja|--preset)\  ]] || [ -n "${configured[$tree]-}" ] ||
                    complain "$place: CMake's own generator is make, which nothing installs: say -G Ninja"
                configured[$tree]=yes
            fi ;;
        apt-get)
            [[ ! " $rest " == *" cmake "* ]] || [[ " $rest " == *" ninja-build "* ]] || complain "$place: cmake without ninja-build" ;;
    esac
    case $command in
        */*) [ "${command%%/*}" != scripts ] || [ -x "$command" ] || complain "$place: there is no $command" ;;
        *) [[ $known == *" $command "* ]] || [ -z "$(type -P -- "$command" || true)" ] || complain "$place: nothing installs $command" ;;
    esac
    checked=$((checked + 1))
done < <(commands "${pages[@]}")
[ $checked -gt 40 ] || complain "only $checked commands found"
[ $failed = 1 ] || echo "$checked commands"
exit $failed

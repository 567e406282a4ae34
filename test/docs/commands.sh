#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# The commands of the pages that a new user follows run on a Debian that has what scripts/setup, or the page itself, installs:
# there is no make, so CMake's generator is named, and no other program that a Debian need not have.
set -euo pipefail
cd "$(dirname "$0")/../.."
pages=(README.md CONTRIBUTING.md benchmarks/README.md docs/{tutorial,cli,examples}.md docs/howto/install.md)
# Of g++, cmake, ninja-build, pkg-config, openssl and redis-server in scripts/setup; of the shell; of Debian itself.
known=' g++ nm cmake ninja pkg-config openssl redis-server redis-cli cd do done export for apt-get cat curl echo grep kill read sh sleep sort sudo systemctl source while '
# What a section is about.
known+='conan vcpkg redlock kubectl docker git man '

# The commands in indented blocks, without comments, one a line: PAGE:LINE COMMAND.
commands()
{
    awk '
        FNR == 1 { before = "" }
        /^    / && (before == "" || inside) {
            inside = 1
            line = $0
            sub(/^ +/, "", line)
            sub(/ +#.*$/, "", line)
            if (joined == "") place = FILENAME ":" FNR
            joined = joined line
            if (sub(/\\$/, "", joined)) next
            count = split(joined, part, / *(&&|\|\||;|\|) */)
            for (i = 1; i <= count; ++i)
                if (part[i] != "") print place, part[i]
            joined = ""
            next
        }
        { inside = 0; joined = ""; before = $0 }' "$@"
}

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

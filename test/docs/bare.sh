#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# bare.sh [PAGE...]: all commands of the pages run on a Debian 12 on which nothing is installed, in the order in which a
# reader meets them. Each page has a root of its own: a bare one, or that which its reader comes from another page with.
# What cannot run here is named, and what no command is. Takes an hour, root and debootstrap.
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/setup bare
source scripts/environment.sh
source test/docs/pages.sh
place=$PWD/build/bare
installed=docs/howto/install.md
pages=(README.md docs/tutorial.md $installed docs/{examples,cli}.md docs/howto/*.md docs/migration/*.md benchmarks/README.md CONTRIBUTING.md)

# The page that the reader comes from.
before()
{
    case $1 in
        docs/examples.md) echo $installed ;;
        $installed) ;;
        docs/howto/* | docs/migration/*) echo docs/cli.md ;;
    esac
}

# Changes a command for this environment, perhaps into a shorter one, or sets $why.
adapt()
{
    why=
    case $text in
        *conan_toolchain*) why="needs what Conan installs" ;;
        scripts/campaign* | scripts/matrix | scripts/platforms | scripts/abi) why="takes too long, and is a check of its own" ;;
        .ci/run) text=".ci/run format layers" ;;
        scripts/mutants) text+=" --check" ;;
        build/bench/*) [[ $text == *--quick* ]] || text+=" --quick" ;;
        *compile_cost.sh*) text+=" 1" ;;
        *1734[13]* | *3fdae97d* | *be89a9a4*) why="a number of the page's story" ;;
        *.example.com* | *--prepare\ --nodes-file* | *--nodes-file\ nodes) [[ $text == *secrets* ]] || why="needs servers elsewhere" ;;
    esac
    # The reader's servers and programs are here.
    text=${text//program.cpp/examples/01_hello.cpp} && text=${text#./}
    text=$(sed -E 's,redis://10\.0\.0\.([0-9]):6379,redis://127.0.0.1:700\1,g' <<<"$text")
    text=$(sed -E 's/(^|&& |do )(conan|vcpkg|kubectl|docker|systemctl) /\1skipped \2 /g' <<<"$text")
    [[ $text != export\ REDLOCK_NODES=* ]] || text+='; servers'
}

# steps PAGE: what is to be done, each ended by a NUL: a place and a command.
steps()
{
    local where text= why line said=
    while IFS=$'\t' read -r where line; do
        line=${line//<prefix>/\$HOME/redlock} # the reader fills it in
        if [ -n "$text" ]; then text+=$'\n'${line#> }
        elif [ -z "$where" ]; then said= && continue
        elif [[ $line == '> '* ]]; then continue
        elif [[ $known == *" ${line%% *} "* || $line =~ ^[a-z]+=\$\( || $line =~ ^[a-z.]+/[^:]*(\ |$) ]]; then text=$line
        else
            [ -n "$said" ] || printf '%s\0%s\0' "$where" "no command: $line"
            said=yes
            continue
        fi
        [ -n "$where" ] || { echo "$1: not a whole command: $text" >&2; return 1; }
        # Reads further lines until the command is complete, as a shell does.
        [ -z "$(bash -n <<<"$text" 2>&1)" ] || continue
        adapt
        printf '%s\0%s\0' "$where" "${why:+skipped, $why: }$text"
        text=
    done < <(files=1 blocks "$1")
}

# Runs inside, with the steps as its third file.
inside()
{
    mount -t proc proc /proc && mount -t devpts devpts /dev/pts && mount -t tmpfs tmpfs /dev/shm || exit
    ln -sf pts/ptmx /dev/ptmx
    export HOME=/root CDPATH=/root REDLOCK_ASSUME_FRESH=1 DEBIAN_FRONTEND=noninteractive name=nightly
    cd /root/asio-redlock || exit
    skipped() { echo "skipped, not here: $*"; }
    # The servers that the page's reader has.
    servers()
    {
        local url
        for url in $REDLOCK_NODES; do
            redis-cli -u "$url" ping &>/dev/null || redis-server --bind 127.0.0.1 --port "${url##*:}" --save '' --daemonize yes >/dev/null || return
        done
        mkdir -p /etc/redlock && echo "$REDLOCK_NODES" >/etc/redlock/nodes
    }
    for program in report scheduler serve replace transfer render-one mail first-half second-half; do
        ln -sf /bin/true "/usr/local/bin/$program"
    done
    export REDLOCK_NODES="redis://127.0.0.1:7001 redis://127.0.0.1:7002 redis://127.0.0.1:7003"
    ! type -P redlock >/dev/null || servers || exit
    while IFS= read -r -d '' -u 3 place && IFS= read -r -d '' -u 3 text; do
        echo "$place: ${text%%$'\n'*}"
        case $text in "no command:"* | skipped,*) continue ;; esac
        eval "$text" </dev/null 3<&-
        code=$?
        # These commands also answer by their status: nobody has the lock, a warning.
        [[ $code = 1 && $text =~ ^redlock\ (status|leader|doctor) ]] || [ $code = 0 ] || { echo "$place: ended with $code: $text"; exit 1; }
    done
}

mkdir -p "$place"
exec 9>"$place/lock"
flock -n 9 || { echo "another one runs"; exit 1; }
if [ ! -d "$place/bare" ]; then
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' | head -n 1)
    rm -rf "$place/new"
    debootstrap --variant=minbase bookworm "$place/new" "$mirror" >"$place/log" || { tail "$place/log"; exit 1; }
    # How packages are reached is the machine's affair, and the reader says yes.
    apt-config dump | grep -E '^Acquire::(Check|http|https)' >"$place/new/etc/apt/apt.conf.d/90host" || true
    echo 'APT::Get::Assume-Yes "true";' >>"$place/new/etc/apt/apt.conf.d/90host"
    echo '127.0.0.1 localhost' >"$place/new/etc/hosts"
    mv "$place/new" "$place/bare"
fi
tree()
{
    git clone -q . "$1"
    git ls-files -cmo --exclude-standard | sort -u | while read -r file; do [ ! -f "$file" ] || echo "$file"; done | tar -c -T - | tar -x -C "$1"
}
of() { echo "$place/root.${1//\//_}"; }
[ $# = 0 ] || pages=("$@")
declare -A done=()
failed=()
page()
{
    [ -z "${done[$1]-}" ] || return 0
    done[$1]=yes
    local from root
    from=$(before "$1")
    root=$(of "$1")
    steps "$1" >"$root.steps"
    # A page that only shows outputs needs no root.
    if ! grep -qzvE '^(no command:|skipped,|[^ ]*:[0-9]+$)' "$root.steps"; then
        tr '\0' '\n' <"$root.steps" | grep -v '^[^ ]*:[0-9]*$' | sed "s,^,$1: ," || echo "$1: has no commands"
        return
    fi
    [ -z "$from" ] || page "$from"
    if [[ " ${failed[*]-} " == *" ${from:-none} "* ]]; then echo "$1: not tried, for $from failed" && failed+=("$1") && return; fi
    echo "=== $1"
    # A page that fails leaves its root behind.
    rm -rf --one-file-system "$root"
    if [ -n "$from" ]; then cp -a "$(of "$from")" "$root"; else cp -a "$place/bare" "$root" && tree "$root/root/asio-redlock"; fi
    # Servers and mounts end with its first process.
    timeout --foreground 7200 unshare --mount --pid --fork --kill-child env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb \
        chroot "$root" bash -c "$(declare -f inside); inside" 3<"$root.steps" 9<&- || failed+=("$1")
    [[ "$installed docs/cli.md ${failed[*]-}" == *"$1"* ]] || rm -rf --one-file-system "$root"
}
for one in "${pages[@]}"; do page "$one"; done
[ ${#failed[@]} = 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
echo "all commands of ${#done[@]} pages ran"

# SPDX-License-Identifier: BSL-1.0
# The commands in the pages. commands.sh checks them, and bare.sh runs them.

# Commands of g++, cmake, ninja-build, pkg-config, openssl and redis-server in scripts/setup; of the shell; of Debian
# itself.
known=' g++ nm cmake ctest ninja pkg-config openssl redis-server redis-cli cd do done eval exit export for apt-get cat chgrp chmod cp curl echo grep install kill mkdir ps read sh sleep sort sudo systemctl source while '
# The commands that a section introduces.
known+='conan vcpkg redlock kubectl docker git man '

# blocks PAGE...: the lines of indented blocks without comments, one a line: PAGE:LINE, a tab, the line. An empty line ends a
# block. Where a block shows a prompt, "> " is before what is printed. With files=1, a fence behind a line "`NAME`:" is a
# file that the reader makes, and becomes the command for that.
blocks()
{
    awk -v files="${files-}" '
        function end_block() { if (inside) print ""; inside = prompt = 0; joined = "" }
        FNR == 1 { before = ""; name = "" }
        fence { if (!/^```/) { print place "\t" $0; next } print place "\tEND OF FILE\n"; fence = 0; name = ""; next }
        files && /^`[^`]+[.][a-z]+`[:,]/ { split($0, quoted, "`"); name = quoted[2] }
        /^```/ && name != "" { fence = 1; place = FILENAME ":" FNR; print place "\tcat >" name " <<\"END OF FILE\""; next }
        /^    / && (before == "" || inside) {
            if (!inside) prompt = /^ +\$ /
            inside = 1
            line = $0
            sub(/^ +/, "", line)
            sub(/ +#.*$/, "", line)
            if (prompt && !sub(/^\$ /, "", line)) line = "> " line
            if (joined == "") place = FILENAME ":" FNR
            joined = joined line
            if (sub(/\\$/, "", joined)) next
            if (joined != "") print place "\t" joined
            joined = ""
            next
        }
        /^[^`<]/ { name = "" }
        { end_block(); before = $0 }
        END { end_block() }' "$@"
}

# commands PAGE...: the single commands: PAGE:LINE COMMAND.
commands()
{
    blocks "$@" | awk -F '\t' '
        NF && $2 !~ /^> / {
            count = split($2, part, / *(&&|\|\||;|\|) */)
            for (i = 1; i <= count; ++i)
                if (part[i] != "") print $1, part[i]
        }'
}

#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# docs/errors.md and docs/errors/ explain every value that the library reports: each enumerator of the headers named below, and each reason
# for which a server does not vote. And they explain no value that there is not.
set -euo pipefail
cd "$(dirname "$0")/../.."
catalogue=(docs/errors.md docs/errors/*.md)
failed=0
complain() { failed=1; echo "$1"; }

# enumerators HEADER NAME: the enumerators of that enumeration, as the catalogue writes them.
enumerators()
{
    awk -v scope="${3:-$2}" -v start="enum class $2( |$)" '
        BEGIN { split(scope, part, "::"); outer = part[2] ? "struct " part[1] " " : "." }
        $0 ~ outer { within = 1 }
        within && $0 ~ start { inside = 1; next }
        inside && /}/ { exit }
        inside { sub(/\/\/.*/, ""); while (match($0, /[a-z][a-z_]*/)) {
            print scope "::" substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH) } }' "include/redlock/$1"
}

values=$(
    enumerators error.hpp errc
    enumerators error.hpp loss_cause
    enumerators node_outcome.hpp node_result
    enumerators node_outcome.hpp node_state
    enumerators node_outcome.hpp holder_kind
    enumerators server_error.hpp server_error
    enumerators inspection.hpp lock_status
    enumerators lease.hpp lease_state
    enumerators observer.hpp kind lease_event::kind
    enumerators observer.hpp kind warning_event::kind
)
for value in $values; do
    grep -qE "^(### |\| (\`[a-z_:]+\`, )*)\`$value\`(, | \||$)" "${catalogue[@]}" || complain "$value does not stand in the catalogue"
done
while read -r explained; do
    grep -qxF -- "$explained" <<<"$values" || complain "$explained, in the catalogue, is no value"
done < <(grep -hoE '^(### |\| )(`[a-z_:]+`, )*`[a-z_:]+::[a-z_]+`' "${catalogue[@]}" | grep -oE '[a-z_]+::[a-z_:]+')

# Reasons are the strings of those functions; what is put together there at run time is a "…" in the catalogue.
reasons=$(
    sed -nE '/^net::failure to_failure/,/^}/p; /^std::string to_words/,/^}/p; /admissions::refusal/,/^}/p' src/engine/admissions.cpp
    sed -nE '/^void report\(/,/^}/p' src/engine/replies.cpp
    sed -nE '/admissions::blind_spots/,/^}/p' src/engine/admissions.cpp
    sed -nE '/node_group::quarantine_of/,/^}/p' src/engine/node_group_admission.cpp
)
# Literals that the compiler joins are joined here, too; a sentence's beginning, up to a colon or "see", is enough.
while read -r reason; do
    grep -qF -- "$reason" "${catalogue[@]}" || complain "the reason '$reason' does not stand in the catalogue"
done < <(tr '\n' ' ' <<<"$reasons" | sed -E 's/" +"|""//g' | grep -oE '"[^"]{4,}"' | sed -E 's/^"|"$//g; s/[:;].*//; s/ +$//' | sort -u)

echo "$(wc -w <<<"$values") values checked"
exit $failed

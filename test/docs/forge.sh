#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# The workflows of the code host call stages that .ci/run has, for a change and at night those of its lists. forge.sh
# --schemas: the files are also what the host's schemas want, if check-jsonschema can be had from PyPI.
set -euo pipefail
cd "$(dirname "$0")/../.."
failed=0
complain() { failed=1; echo "$1"; }

stages() { sed -n 's/^ *stage: \[\(.*\)\]$/\1/p; s/.*- run: \.ci\/run \([a-z_ ]*\)$/\1/p' "$1" | tr -s ', ' '\n' | sort; }
for workflow in .github/workflows/*.yml; do
    called=$(stages "$workflow")
    [ -n "$called" ] || complain "$workflow: calls no stage"
    for stage in $called; do
        grep -q "^stage_$stage()" .ci/run || complain "$workflow: .ci/run has no stage $stage"
    done
done
list() { sed -n "s/^\[ .*$1.* stages=(\([a-z][a-z_ ]*\))\$/\1/p" .ci/run | tr ' ' '\n' | sort; }
same() { diff <(list "$1") <(stages ".github/workflows/$2.yml") || complain ".github/workflows/$2.yml: other stages than .ci/run's list"; }
same -gt checks
same night nightly

[ "${1:-}" = --schemas ] || exit $failed
source scripts/environment.sh
if pypi 'check-jsonschema>=0.30'; then
    check() { build/python/bin/check-jsonschema --builtin-schema "vendor.$1" "${@:2}" || failed=1; }
    check github-workflows .github/workflows/*.yml
    check dependabot .github/dependabot.yml
    check github-issue-forms .github/ISSUE_TEMPLATE/{fault,wish}.yml
    check github-issue-config .github/ISSUE_TEMPLATE/config.yml
else
    echo "the host's schemas: skipped, check-jsonschema is not to be had from PyPI"
fi
exit $failed

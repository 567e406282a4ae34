#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# install.sh DIRECTORY: puts the Redlock clients of the Node.js world there, for the interoperability tests.
# Exit 77: cannot be had here, and the last line says why.
set -euo pipefail

directory=$1
packages=(redlock@5.0.0-beta.2 redlock4@npm:redlock@4.2.0 ioredis@5.3.2)
[ ! -e "$directory/complete" ] || exit 0
for tool in node npm; do
    command -v $tool >/dev/null || { echo "skipped: $tool not available"; exit 77; }
done
mkdir -p "$directory"
# No package's own install scripts: a test has no business running them.
timeout 120 npm install --prefix "$directory" --no-save --ignore-scripts --no-audit --no-fund --fetch-retries=0 \
    "${packages[@]}" >"$directory/log" 2>&1 || { echo "skipped: the npm registry is not available"; exit 77; }
touch "$directory/complete"

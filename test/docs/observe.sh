#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# examples/observe fits examples/lock_metrics.hpp: the dashboard shows each of its metrics, and neither the dashboard nor the alerts
# name another metric or label. The alerts are those of docs/howto/observe.md. With promtool their tests run, too.
set -euo pipefail
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python3 - "$scratch/dashboard.yaml" <<'PYTHON'
import json
import re
import sys
from pathlib import Path

failed = False


def complain(words):
    global failed
    failed = True
    print(words)


observe = Path("examples/observe")
source = Path("examples/lock_metrics.hpp").read_text()
rules = (observe / "alerts.yaml").read_text()
tests = (observe / "alerts_test.yaml").read_text()
guide = Path("docs/howto/observe.md").read_text()
dashboard = json.loads((observe / "grafana.json").read_text())


def metrics(text):
    """The metrics in a query or a page. A histogram has one name in the source, and several series."""
    return {re.sub(r"_(bucket|count|sum)$", "", name) for name in re.findall(r"\bredlock_\w+", text)}


known = set(re.findall(r'"(redlock_\w+)"', source))
targets = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
queries = targets + [variable["query"]["query"] for variable in dashboard["templating"]["list"] if variable["type"] == "query"]
alerts = re.findall(r"^ *expr: (.*)$", rules, re.M)
names = re.findall(r"^ *- alert: (\w+)$", rules, re.M)

for file, text in {"grafana.json": " ".join(queries), "alerts.yaml": rules, "alerts_test.yaml": tests}.items():
    for name in sorted(metrics(text) - known):
        complain(f"{file}: {name} is not in examples/lock_metrics.hpp")
for name in sorted(known - metrics(" ".join(targets))):
    complain(f"grafana.json: does not show {name}")

# Labels and their values are quoted words of the source; le and the labels of a scrape come from Prometheus.
for query in queries + alerts:
    for label, value in re.findall(r'(\w+)(?:=|!=|=~|!~)"([^"]*)"', query):
        if label not in ("job", "instance", "le") and not (f'"{label}"' in source and f'"{value}"' in source):
            complain(f'{query}: no {label}="{value}" in examples/lock_metrics.hpp')
    for label in re.findall(r"\w+", " ".join(re.findall(r"by \(([^)]*)\)", query))):
        if label not in ("job", "instance", "le") and f'"{label}"' not in source:
            complain(f"{query}: no label {label} in examples/lock_metrics.hpp")

for panel in dashboard["panels"]:
    if panel["type"] != "row" and not panel.get("description"):
        complain(f"grafana.json: {panel['title']} has no description")
if len({panel["id"] for panel in dashboard["panels"]}) != len(dashboard["panels"]):
    complain("grafana.json: an id twice")

# The guide's table has the same queries.
table = guide.split("### What to alert on", 1)[1].split("\n#", 1)[0]
told = [re.search(r"`(.*?)`", row.split(" | ")[1])[1] for row in re.findall(r"^\| [^|]* \| `.*$", table, re.M)]
for query in sorted(set(told) ^ set(alerts)):
    complain(f"{query}: only in one of docs/howto/observe.md and alerts.yaml")
for name in names:
    if f'alertname="{name}",alertstate="firing"' not in tests:
        complain(f"alerts_test.yaml: {name} never fires")


def anchor(heading):
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


pages = re.findall(r"^ *runbook_url: (.*)$", rules, re.M)
if not len(alerts) == len(names) == len(pages):
    complain("alerts.yaml: an alert without a query or a page")
for page in pages:
    file, _, heading = page.partition("#")
    if not Path(file).is_file():
        complain(f"alerts.yaml: {page} does not exist")
    elif heading and heading not in map(anchor, re.findall(r"^#+ (.*)$", Path(file).read_text(), re.M)):
        complain(f"alerts.yaml: {page}: no such heading")

# The queries of the dashboard become rules, for promtool to parse.
with open(sys.argv[1], "w") as out:
    out.write("groups:\n- name: dashboard\n  rules:\n")
    for number, query in enumerate(targets):
        expression = json.dumps(query.replace("$__rate_interval", "5m"))
        out.write(f"  - record: query{number}\n    expr: {expression}\n")

print(f"{len(known)} metrics, {len(targets)} queries of the dashboard, {len(alerts)} alerts checked")
sys.exit(failed)
PYTHON

if command -v promtool >/dev/null; then
    promtool check rules examples/observe/alerts.yaml "$scratch/dashboard.yaml" >"$scratch/said" 2>&1 &&
        promtool test rules examples/observe/alerts_test.yaml >"$scratch/said" 2>&1 || { cat "$scratch/said" && exit 1; }
else
    echo "no promtool (Debian: prometheus), so the rules were not run"
fi

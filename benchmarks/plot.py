#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Draws what `redlock_benchmarks --json FILE` or `redlock_growth --json FILE` has measured: docs/images/cycles.svg and
docs/images/growth.svg, whichever the file has the figures for."""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "others"))
from harness import svg  # noqa: E402

GROWTH = [("nodes", ["nodes"]), ("keys, and held leases", ["keys", "leases held meanwhile"]),
          ("waiters, and all at once", ["waiters for one key", "acquired at once"])]
CONTESTANTS = ["awaitable", "raw", "fenced", "raw fenced"]
PLACES = [("redis", 1), ("redis", 3), ("redis", 5), ("null", 3)]


def growth(measured):
    points = {}
    for each in measured:
        points.setdefault(each["of"], []).append((each["count"], each["us"]))
    panels = [(title, {name: points.get(name, []) for name in names}) for title, names in GROWTH]
    everybody = [name for _, names in GROWTH for name in names]
    return svg.chart("Client CPU, us a cycle", panels, "how many", everybody)


def cycles(summaries):
    def points(servers, nodes, contestant):
        return [(each["concurrency"], each["client_us"]) for each in summaries
                if (each["servers"], each["nodes"], each["contestant"]) == (servers, nodes, contestant)]

    panels = [("null responder, N = 3" if servers == "null" else f"redis-server, N = {nodes}",
               {name: points(servers, nodes, name) for name in CONTESTANTS}) for servers, nodes in PLACES]
    return svg.chart("Client CPU, us a cycle", panels, "cycles in flight", CONTESTANTS)


def main(path):
    measured = [json.loads(each) for each in pathlib.Path(path).read_text(encoding="utf-8").splitlines()]
    for kind, picture, draw in [("growth", "growth", growth), ("summary", "cycles", cycles)]:
        chosen = [each for each in measured if each["kind"] == kind]
        if chosen:
            (HERE.parent / "docs" / "images" / f"{picture}.svg").write_text(draw(chosen), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: plot.py FILE")
    main(sys.argv[1])

#!/usr/bin/env python3
"""Draws what `redlock_growth --json FILE` has measured: docs/images/growth.svg."""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "others"))
from harness import svg  # noqa: E402

PANELS = [("nodes", ["nodes"]), ("keys, and held leases", ["keys", "leases held meanwhile"]),
          ("waiters, and all at once", ["waiters for one key", "acquired at once"])]


def main(path):
    measured = {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        point = json.loads(line)
        if point["kind"] == "growth":
            measured.setdefault(point["of"], []).append((point["count"], point["us"]))
    everybody = [name for _, names in PANELS for name in names]
    panels = [(title, {name: measured.get(name, []) for name in names}) for title, names in PANELS]
    picture = svg.chart("Client CPU, us a cycle", panels, "how many", everybody)
    (HERE.parent / "docs" / "images" / "growth.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: plot_growth.py FILE")
    main(sys.argv[1])

#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compares lock libraries on the same servers, in turns. README.md says what is measured and how to read it."""
import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from harness import drivers, points, report
from harness.measure import Failed, measure


def parse():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--build", type=Path, default=drivers.ROOT / "build/comparison", help="everything fetched or built goes here")
    options.add_argument("--results", type=Path, help="folder of results; default: results in the build folder")
    options.add_argument("--quick", action="store_true", help="does it work at all: few points, one round")
    options.add_argument("--rounds", type=int)
    options.add_argument("--seconds", type=float, help="one window")
    options.add_argument("--warm-up", type=float)
    options.add_argument("--only", default="", help="libraries, by parts of their names, separated by commas")
    options.add_argument("--points", default="", help="points, by parts of their names, separated by commas")
    options.add_argument("--list", action="store_true", help="names libraries and points, and ends")
    options.add_argument("--report", action="store_true", help="measures nothing; writes tables and plots from results that are there")
    options.add_argument("--publish", action="store_true", help="puts tables and plots into docs/comparison.md and docs/images")
    what = options.parse_args()
    what.build = what.build.resolve()
    what.results = (what.results or what.build / "results").resolve()
    what.rounds = what.rounds or (1 if what.quick else 3)
    what.seconds = what.seconds or (1.0 if what.quick else 2.0)
    what.warm_up = what.warm_up or (0.5 if what.quick else 1.0)
    return what


def chosen(all_of_them, names, name_of):
    parts = [each for each in names.split(",") if each]
    return [each for each in all_of_them if not parts or any(part in name_of(each) for part in parts)]


def placement():
    """Clients on the first CPU allowed, servers on the second; with one they share it."""
    allowed = sorted(os.sched_getaffinity(0))
    return {"client": {allowed[0]}, "servers": {allowed[1 if len(allowed) > 1 else 0]}}


def build_all(wanted, build):
    """Builds the drivers. A driver that cannot be built is skipped, with the reason."""
    build.mkdir(parents=True, exist_ok=True)
    known, skipped = {}, {}
    for driver in wanted:
        print(f"building {driver.name} ...", flush=True)
        try:
            known[driver.name] = driver.build(build)
        except (drivers.Missing, OSError) as error:
            skipped[driver.name] = str(error)
            print(f"skipped {driver.name}: {error}", flush=True)
    return known, skipped


def say(driver, point, told):
    latency = next((told[key] for key in ("latency", "hand_off", "wait") if key in told), {})
    print(f"  {driver.name:22} {told['rate']:10.0f}/s  p50 {latency.get('p50', float('nan')):10.1f} us  client {told['client_us'] or 0:8.1f} us"
          f"  neighbours {told['neighbours_share']:.2f}  {'OVERLAPS' if told.get('overlaps') else ''} {list(told['failures'].items())[:1] or ''}",
          flush=True)


def measure_all(what, wanted, built, places, out):
    cpus = placement()
    for round_number in range(what.rounds):
        for point in places:
            print(f"round {round_number + 1} of {what.rounds}, {point.name}", flush=True)
            for driver in wanted:
                if driver.name not in built or not driver.joins(point):
                    continue
                line = {"driver": driver.name, "point": point.name, "round": round_number}
                seconds = what.seconds * point.windows
                try:
                    told = measure(driver, built[driver.name], point, cpus, what.warm_up, seconds, f"{time.monotonic_ns():x}")
                    say(driver, point, told)
                except (Failed, OSError, ValueError) as error:
                    told = {"error": str(error)}
                    print(f"  {driver.name:22} FAILED: {error}", flush=True)
                out.write(json.dumps(line | told) + "\n")
                out.flush()


def note(folder, about):
    (folder / "about.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def main():
    what = parse()
    wanted = chosen(drivers.ALL, what.only, lambda each: each.name)
    places = chosen(points.QUICK if what.quick else points.ALL, what.points, lambda each: each.name)
    wanted = [each for each in wanted if any(each.joins(place) for place in places)]
    if what.list:
        print("\n".join(each.name for each in [*wanted, *places]))
        return 0
    what.results.mkdir(parents=True, exist_ok=True)
    if not what.report:
        built, skipped = build_all(wanted, what.build)
        about = report.machine() | {"rounds": what.rounds, "seconds": what.seconds, "warm_up": what.warm_up, "skipped": skipped}
        note(what.results, about)
        began = time.time()
        with open(what.results / "measurements.jsonl", "w", encoding="utf-8") as out:
            measure_all(what, wanted, built, places, out)
        note(what.results, about | {"minutes": round((time.time() - began) / 60, 1)})
    print(f"results in {what.results}")
    try:
        report.write(what.results, drivers.ROOT / "docs" if what.publish else None)
    except report.Unpublishable as error:
        sys.exit(f"not published: {error}")
    if what.publish:
        pictures = [sys.executable, drivers.ROOT / "scripts/site/pictures.py"]
        subprocess.run(pictures, check=True)
        return subprocess.run([*pictures, "--check"], check=False).returncode  # names figures of README.md that are not the page's
    return 0


if __name__ == "__main__":
    sys.exit(main())

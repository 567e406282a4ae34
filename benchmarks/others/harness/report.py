# SPDX-License-Identifier: BSL-1.0
"""Medians over the rounds, as tables and plots."""
import csv
import json
import os
import platform
import re
import statistics
import subprocess

from . import drivers, points, samples, svg


def first_line(*command):
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "none"
    return ((told.stdout + told.stderr).strip().splitlines() or ["none"])[0]


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = re.findall(r"model name\s*: (.*)", file.read())
    return names[0] if names else platform.machine()


def machine():
    return {"processor": processor(), "cpus": len(os.sched_getaffinity(0)), "kernel": platform.release(),
            "redis": first_line("redis-server", "--version"), "c++": first_line("c++", "--version"),
            "go": first_line("go", "version"), "java": first_line("java", "-version"), "node": first_line("node", "--version"),
            "python": first_line("python3", "--version"), "rust": first_line("rustc", "--version")}


class Results:
    def __init__(self, lines):
        self.lines = lines
        self.names = [each.name for each in drivers.ALL if any(line["driver"] == each.name for line in self.lines)]

    def about(self, kinds):
        """The part that is of points of these kinds."""
        names = {each.name for each in points.ALL if each.kind in kinds}
        return Results([each for each in self.lines if each["point"] in names])

    def of(self, driver, point):
        return [each for each in self.lines if each["driver"] == driver and each["point"] == point.name]

    def pooled(self, driver, point, *path):
        """The figure over the samples of all rounds, if all were kept; otherwise None."""
        if len(path) != 2:
            return None
        rounds = [told[path[0]].get("values") for told in self.of(driver, point) if path[0] in told]
        if not rounds or None in rounds:
            return None
        return samples.quantiles([each for values in rounds for each in values]).get(path[1])

    def figure(self, driver, point, *path):
        """None where there is none."""
        pooled = self.pooled(driver, point, *path)
        return self.median(driver, point, *path) if pooled is None else pooled

    def median(self, driver, point, *path):
        """None where a round lacks it, but for rounds without a single cycle."""
        values = []
        for told in self.of(driver, point):
            if not told.get("done") and path not in (("done",), ("rate",)):
                continue
            for key in path:
                told = told.get(key) if isinstance(told, dict) else None
            values.append(told)
        return None if not values or None in values else statistics.median(values)

    def ratios(self, driver, point):
        """Ratios of the rates to the first driver's, sorted. They are taken in each round, because other programs change from round to round."""
        first = next(name for name in self.names if self.of(name, point))
        pairs = [(mine.get("rate"), its.get("rate")) for mine, its in zip(self.of(driver, point), self.of(first, point))]
        return sorted(mine / its for mine, its in pairs) if all(mine and its for mine, its in pairs) else []

    def failures(self, driver, point):
        out = []
        for told in self.of(driver, point):
            out += [told["error"]] if "error" in told else []
            out += [f"{count} × {text}" for text, count in told.get("failures", {}).items()]
        return out


def number(value, unit=1.0):
    if value is None:
        return "–"
    value *= unit
    if value >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def table(heads, rows):
    return "\n".join("| " + " | ".join(each) + " |" for each in [heads, ["---"] * len(heads), *rows]) + "\n"


def measured_rows(results, place, columns):
    rows = []
    for name in results.names:
        if not results.of(name, place):
            continue
        if results.median(name, place, "done") in (None, 0):
            rows.append([name, "none", *["–"] * (len(columns) - 1)])
            continue
        rows.append([name, *(ratio(results, name, place) if path == RATIO else number(results.figure(name, place, *path), unit)
                             for _, path, unit in columns)])
    return rows


RATIO = ("ratio",)


def ratio(results, name, place):
    """The median, the least and the greatest."""
    all_of_them = results.ratios(name, place)
    if not all_of_them or all_of_them[0] == all_of_them[-1]:
        return number(statistics.median(all_of_them) if all_of_them else None)
    return f"{number(statistics.median(all_of_them))} ({number(all_of_them[0])}–{number(all_of_them[-1])})"


CYCLE_COLUMNS = [("cycles/s", ("rate",), 1), ("p50 us", ("latency", "p50"), 1), ("p99 us", ("latency", "p99"), 1),
                 ("p99.9 us", ("latency", "p999"), 1), ("client CPU us", ("client_us",), 1),
                 ("server CPU us", ("server_us",), 1), ("commands", ("commands_each",), 1)]
HAND_OFF_COLUMNS = [("leases/s", ("rate",), 1), ("hand-off p50 ms", ("hand_off", "p50"), 1e-3),
                    ("p99 ms", ("hand_off", "p99"), 1e-3), ("p99.9 ms", ("hand_off", "p999"), 1e-3),
                    ("wait p50 ms", ("wait", "p50"), 1e-3), ("p99 ms", ("wait", "p99"), 1e-3),
                    ("longest ms", ("wait", "most"), 1e-3), ("commands a lease", ("commands_each",), 1),
                    ("client CPU us", ("client_us",), 1), ("server CPU us", ("server_us",), 1)]
FAIR_COLUMNS = HAND_OFF_COLUMNS + [("same again", ("again_share",), 1), ("workers served", ("served",), 1)]

RATE_COLUMNS = [("leases/s", ("rate",), 1), ("ratio", RATIO, 1)]
WAIT_COLUMNS = [("wait p50 ms", ("wait", "p50"), 1e-3), ("p99 ms", ("wait", "p99"), 1e-3), ("longest ms", ("wait", "most"), 1e-3)]
COST_COLUMNS = [("workers served", ("served",), 1), ("least share", ("least_share",), 1),
                ("commands a lease", ("commands_each",), 1), ("client CPU us", ("client_us",), 1),
                ("server CPU us", ("server_us",), 1), ("neighbours", ("neighbours_share",), 1)]
PERMIT_COLUMNS = RATE_COLUMNS + WAIT_COLUMNS + COST_COLUMNS
READER_COLUMNS = RATE_COLUMNS + [("of them writers'", ("writer_share",), 1), *((f"readers' {head}" if "wait" in head else head, path, unit)
                                 for head, path, unit in WAIT_COLUMNS),
                                 *((f"writers' {head}" if "wait" in head else head, ("writer_wait", path[1]), unit)
                                   for head, path, unit in WAIT_COLUMNS)] + COST_COLUMNS


def point_table(results, place):
    columns = {"cycles": CYCLE_COLUMNS, "convoy": HAND_OFF_COLUMNS, "permits": PERMIT_COLUMNS, "readers": READER_COLUMNS}.get(
        place.workload, FAIR_COLUMNS)
    rows = measured_rows(results, place, columns)
    return table(["", *(head for head, _, _ in columns)], rows) if rows else ""


def overview(results):
    """One figure of each library: the best one for each workload of the overview."""
    places = [("cycles/s, C = 256", points.Point("cycles", 256), ("rate",), 1),
              ("client CPU us a cycle, C = 256", points.Point("cycles", 256), ("client_us",), 1),
              ("cycle p50 us, C = 1", points.Point("cycles", 1), ("latency", "p50"), 1),
              *((f"hand-off p50 ms, {count} waiting", points.Point("convoy", count, hold_us=1000), ("hand_off", "p50"), 1e-3)
                for count in (16, 256)),
              ("longest wait ms of 16 in 4 processes", points.Point("processes", 16, hold_us=1000, processes=4), ("wait", "most"), 1e-3),
              ("cycle p99 ms, a node stalled", points.Point("stalled", 16), ("latency", "p99"), 1e-3)]
    rows = [[name, *(number(results.figure(name, place, *path), unit) for _, place, path, unit in places)] for name in results.names]
    return table(["", *(head for head, _, _, _ in places)], rows)


def library_table(results):
    rows = [[each.name, each.language, each.version, each.settings, each.waits_by] for each in drivers.ALL if each.name in results.names]
    return table(["Library", "", "Version", "Settings here", "Waits by"], rows)


def failure_table(results):
    rows = [[name, place.name, "; ".join(results.failures(name, place)[:3]).replace("|", "/").replace("\n", " ")[:300]]
            for name in results.names for place in points.ALL if results.failures(name, place)]
    return table(["Library", "Point", "What it said"], rows) if rows else "No library reported a failure.\n"


def exclusion(results, what="two holders at once"):
    checked = [each for each in results.lines if "overlaps" in each]
    broken = [f"{each['driver']} ({each['point']}: {each['overlaps']})" for each in checked if each["overlaps"]]
    return f"{len(checked)} contended measurements; {what}: {', '.join(broken) or 'never'}.\n"


def neighbours(results):
    shares = [each["neighbours_share"] for each in results.lines if "neighbours_share" in each]
    low, middle, high = statistics.quantiles(shares, n=10)[::4] if len(shares) > 1 else (0, 0, 0)
    return (f"Other programs used {middle:.2f} CPUs in the median window "
            f"(a tenth of the windows less than {low:.2f}, a tenth more than {high:.2f}).\n")


def series(results, places, *path, unit=1.0):
    out = {}
    for name in results.names:
        found = [(place.workers, results.figure(name, place, *path)) for place in places]
        out[name] = [(x, y * unit) for x, y in found if y]
    return out


def plots(results):
    everybody = [each.name for each in drivers.ALL]
    convoy = {hold: [each for each in points.ALL if each.kind == "convoy" and each.hold_us == hold and not each.pause_ms]
              for hold in (1000, 0)}
    cycles = [each for each in points.ALL if each.kind == "cycles" and each.nodes == 3]
    shares = [("p50", "p50"), ("p99", "p99"), ("p99.9", "p999")]
    return {
        **{f"comparison_hand_off_{'held' if hold else 'at_once'}.svg": svg.chart(
            f"Hand-off, N = 3, {'held for 1 ms' if hold else 'released at once'}: ms from release to the next grant",
            [(head, series(results, places, "hand_off", key, unit=1e-3)) for head, key in shares], "contenders", everybody)
           for hold, places in convoy.items()},
        "comparison_throughput.svg": svg.chart("Uncontended, N = 3: cycles a second", [
            ("cycles/s", series(results, cycles, "rate"))], "cycles in flight", everybody),
        "comparison_cpu.svg": svg.chart("Uncontended, N = 3: CPU time of a cycle, us", [
            ("client", series(results, cycles, "client_us")), ("all servers", series(results, cycles, "server_us"))],
            "cycles in flight", everybody),
        "comparison_commands.svg": svg.chart("Contended, N = 3, held for 1 ms: what a lease costs the servers", [
            ("commands", series(results, convoy[1000], "commands_each")),
            ("server CPU, us", series(results, convoy[1000], "server_us"))], "contenders", everybody),
    }


def lock_blocks(results, about):
    if not results.lines:
        return {}
    return {"overview": overview(results), "libraries": library_table(results), "failures": failure_table(results),
            "exclusion": exclusion(results), "neighbours": neighbours(results), "machine": machine_table(about),
            "skipped": skipped(about, points.LOCKS)}


def further_blocks(results, about):
    """The part of the page for kinds that few libraries have. They are measured in a run of their own."""
    if not results.lines:
        return {}
    return {"further-libraries": library_table(results), "further-failures": failure_table(results),
            "further-exclusion": exclusion(results, "more holders at once than allowed"), "further-neighbours": neighbours(results),
            "further-machine": machine_table(about), "further-skipped": skipped(about, points.FURTHER)}


def machine_table(about):
    return table(["", ""], [[key, str(value)] for key, value in about.items() if key != "skipped"])


def skipped(about, kinds):
    names = {each.name for each in drivers.ALL if set(each.only) & set(kinds)}
    return "".join(f"- {name}: {why.split(';')[0]}\n" for name, why in about["skipped"].items() if name in names) or "None.\n"


def blocks(results, about):
    return (lock_blocks(results.about(points.LOCKS), about) | further_blocks(results.about(points.FURTHER), about)
            | {place.name: point_table(results, place) for place in points.ALL})


def publish(docs, tables, images):
    """Replaces what stands between the markers <!-- figures: NAME --> and <!-- end -->."""
    page = docs / "comparison.md"
    told = page.read_text(encoding="utf-8")
    for name, words in tables.items():
        if words:
            told = re.sub(rf"(<!-- figures: {re.escape(name)} -->\n).*?(<!-- end -->)", lambda found, words=words:
                          found.group(1) + "\n" + words + "\n" + found.group(2), told, flags=re.S)
    page.write_text(told, encoding="utf-8")
    (docs / "images").mkdir(exist_ok=True)
    for name, words in images.items():
        (docs / "images" / name).write_text(words, encoding="utf-8")


def write_csv(folder, results):
    flat = [{"driver": each["driver"], "point": each["point"], "round": each["round"], "error": each.get("error", ""),
             **{key: each.get(key) for key in ("done", "rate", "client_us", "server_us", "neighbours_share", "commands_each", "again_share",
                                               "served", "least_share", "writer_share", "overlaps")},
             **{f"{kind}_{key}_us": each.get(kind, {}).get(key) for kind in ("latency", "hand_off", "wait", "writer_wait")
                for key in ("p50", "p99", "p999", "most", "count")}} for each in results.lines]
    with open(folder / "measurements.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, flat[0])
        out.writeheader()
        out.writerows(flat)


def write(folder, docs):
    results = Results([json.loads(each) for each in (folder / "measurements.jsonl").read_text(encoding="utf-8").splitlines()])
    if not results.lines:
        return
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    locks = results.about(points.LOCKS)
    tables, images = blocks(results, about), plots(locks) if locks.lines else {}
    write_csv(folder, results)
    (folder / "tables.md").write_text("".join(f"## {name}\n\n{words}\n" for name, words in tables.items() if words), encoding="utf-8")
    for name, words in images.items():
        (folder / name).write_text(words, encoding="utf-8")
    if docs:
        publish(docs, tables, images)

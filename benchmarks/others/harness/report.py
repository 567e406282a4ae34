# SPDX-License-Identifier: BSL-1.0
"""Medians over the rounds, as tables and plots."""
import csv
import json
import os
import platform
import re
import statistics
import subprocess
import textwrap

from . import drivers, points, samples, svg


class Unpublishable(Exception):
    """The results cannot be put into the page."""


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
            "redis": first_line("redis-server", "--version"), "etcd": first_line("etcd", "--version"), "c++": first_line("c++", "--version"),
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
        return [each for each in self.lines if each["driver"] == driver and each["point"] == point]

    def pooled(self, driver, point, *path):
        """The figure over the samples of all rounds, if all were kept; otherwise None."""
        if len(path) != 2:
            return None
        rounds = [told[path[0]].get("values") for told in self.of(driver, point) if path[0] in told]
        if not rounds or None in rounds:
            return None
        return samples.quantiles([each for values in rounds for each in values]).get(path[1])

    def figure(self, driver, point, path):
        """None where there is none. Hand-offs and waits are recorded in us and shown in ms."""
        keys = path.split(".")
        value = self.pooled(driver, point, *keys)
        value = self.median(driver, point, *keys) if value is None else value
        return value if value is None or keys[0] not in ("hand_off", "wait", "writer_wait") else value * 1e-3

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


def number(value):
    if value is None:
        return "–"
    if value >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def table(heads, rows):
    lines = ["|" + "".join(f" {cell} |" if cell else " |" for cell in each) for each in [heads, *rows]]
    return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]]) + "\n"


def ratio(results, name, place):
    """The median, the least and the greatest."""
    all_of_them = results.ratios(name, place)
    if not all_of_them or all_of_them[0] == all_of_them[-1]:
        return number(statistics.median(all_of_them) if all_of_them else None)
    return f"{number(statistics.median(all_of_them))} ({number(all_of_them[0])}–{number(all_of_them[-1])})"


def cell(results, name, place, path):
    if results.median(name, place, "done") in (None, 0):
        return "none" if path == "rate" else "–"
    return ratio(results, name, place) if path == "ratio" else number(results.figure(name, place, path))


# Columns are heads and paths to figures.
CYCLE_COLUMNS = [("cycles/s", "rate"), ("p50 us", "latency.p50"), ("p99 us", "latency.p99"), ("p99.9 us", "latency.p999"),
                 ("client CPU us", "client_us"), ("server CPU us", "server_us"), ("commands", "commands_each")]
WAIT_COLUMNS = [("wait p50 ms", "wait.p50"), ("p99 ms", "wait.p99"), ("longest ms", "wait.most")]
PRICE_COLUMNS = [("commands a lease", "commands_each"), ("client CPU us", "client_us"), ("server CPU us", "server_us")]
HAND_OFF_COLUMNS = [("leases/s", "rate"), ("hand-off p50 ms", "hand_off.p50"), ("p99 ms", "hand_off.p99"),
                    ("p99.9 ms", "hand_off.p999"), *WAIT_COLUMNS, *PRICE_COLUMNS]
FAIR_COLUMNS = [*HAND_OFF_COLUMNS, ("same again", "again_share"), ("workers served", "served")]
RATE_COLUMNS = [("leases/s", "rate"), ("ratio", "ratio")]
COST_COLUMNS = [("workers served", "served"), ("least share", "least_share"), *PRICE_COLUMNS, ("neighbours", "neighbours_share")]
PERMIT_COLUMNS = [*RATE_COLUMNS, *WAIT_COLUMNS, *COST_COLUMNS]
READER_COLUMNS = [*RATE_COLUMNS, ("writers' share", "writer_share"),
                  ("readers' wait p50 ms", "wait.p50"), ("p99 ms", "wait.p99"), ("longest ms", "wait.most"),
                  ("writers' wait p50 ms", "writer_wait.p50"), ("p99 ms", "writer_wait.p99"), ("longest ms", "writer_wait.most"),
                  *COST_COLUMNS]

ELECTION_COLUMNS = [("terms/s", "rate"), ("ratio", "ratio"), ("hand-off p50 ms", "hand_off.p50"), ("p99 ms", "hand_off.p99"), *WAIT_COLUMNS,
                    ("same again", "again_share"), ("workers served", "served"), ("commands a term", "commands_each"), *PRICE_COLUMNS[1:]]

# Tables of the page: the head of the rows' points, or none if columns have points; points by label; columns.
TABLES = {
    "convoy": ("", {"2": "convoy-N3-C2-hold1000us", "16": "convoy-N3-C16-hold1000us", "256": "convoy-N3-C256-hold1000us"}, [
        ("leases/s (16)", "rate"), ("leases/s (256)", "rate"),
        ("hand-off p50 ms (2)", "hand_off.p50"), ("p50 (16)", "hand_off.p50"), ("p50 (256)", "hand_off.p50"), ("p99 (16)", "hand_off.p99"),
        ("longest wait ms (16)", "wait.most"), ("longest (256)", "wait.most"),
        ("commands a lease (2)", "commands_each"), ("commands (16)", "commands_each"), ("commands (256)", "commands_each"),
        ("client CPU us (16)", "client_us"), ("server CPU us (16)", "server_us")]),
    "pauses": ("", {"16": "convoy-N3-C16-hold1000us-pause10-50ms", "64": "convoy-N3-C64-hold1000us-pause10-50ms"}, [
        ("leases/s (16)", "rate"), ("leases/s (64)", "rate"), ("hand-off p50 ms (16)", "hand_off.p50"), ("p50 (64)", "hand_off.p50"),
        ("commands a lease (16)", "commands_each"), ("commands (64)", "commands_each")]),
    "again": ("", {"16": "contended-N3-C16-hold1000us", "16/4": "processes-N3-C16-hold1000us-P4", "4/4": "processes-N3-C4-hold1000us-P4"}, [
        ("leases/s (16)", "rate"), ("leases/s (16/4)", "rate"), ("leases/s (4/4)", "rate"), ("hand-off p50 ms (4/4)", "hand_off.p50"),
        ("longest wait ms (16)", "wait.most"), ("longest (16/4)", "wait.most"), ("longest (4/4)", "wait.most"),
        ("same again (16)", "again_share"), ("same again (4/4)", "again_share"), ("workers served (16)", "served"),
        ("commands a lease (4/4)", "commands_each"), ("client CPU us (4/4)", "client_us")]),
    "single": ("", {"": "single-N1-C16-hold1000us"}, [
        ("leases/s", "rate"), ("hand-off p50 ms", "hand_off.p50"), ("p99 ms", "hand_off.p99"), ("longest wait ms", "wait.most"),
        ("commands a lease", "commands_each"), ("server CPU us", "server_us")]),
    "cycles": ("", {"1": "cycles-N3-C1", "16": "cycles-N3-C16", "256": "cycles-N3-C256", "16, N = 5": "cycles-N5-C16"}, [
        ("cycles/s (1)", "rate"), ("cycles/s (16)", "rate"), ("cycles/s (256)", "rate"), ("cycles/s (16, N = 5)", "rate"),
        ("p50 us (1)", "latency.p50"), ("p50 (256)", "latency.p50"), ("p99 us (1)", "latency.p99"),
        ("client CPU us (1)", "client_us"), ("client CPU (16)", "client_us"), ("client CPU (256)", "client_us"),
        ("server CPU us (256)", "server_us")]),
    "stalled": ("", {"": "stalled-N3-C16"}, [
        ("cycles/s", "rate"), ("p50 us", "latency.p50"), ("p99 us", "latency.p99"), ("client CPU us", "client_us")]),
    "permits": ("Servers, processes", {
        "3, 1": "permits-N3-C64-K8-hold1000us", "1, 1": "permits-N1-C64-K8-hold1000us",
        "3, 4": "permits-N3-C64-K8-hold1000us-P4", "1, 4": "permits-N1-C64-K8-hold1000us-P4"},
        [*RATE_COLUMNS, *WAIT_COLUMNS, ("least share", "least_share"), *PRICE_COLUMNS]),
    "readers": ("Servers, processes", {
        "3, 1": "readers-N3-C40-hold1000us", "1, 1": "readers-N1-C40-hold1000us",
        "3, 4": "readers-N3-C40-hold1000us-P4", "1, 4": "readers-N1-C40-hold1000us-P4"},
        [*RATE_COLUMNS, ("writers' share", "writer_share"), ("readers' wait p99 ms", "wait.p99"),
         ("writers' wait p99 ms", "writer_wait.p99"), *PRICE_COLUMNS]),
    "elections": ("Candidates, processes", {
        "16, 1": "elections-N3-C16-hold1000us", "16, 4": "elections-N3-C16-hold1000us-P4", "4, 4": "elections-N3-C4-hold1000us-P4"},
        ELECTION_COLUMNS),
    "several": ("Servers, processes", {
        "3, 1": "several-N3-C64-hold1000us", "1, 1": "several-N1-C64-hold1000us",
        "3, 4": "several-N3-C64-hold1000us-P4", "1, 4": "several-N1-C64-hold1000us-P4"},
        [*RATE_COLUMNS, *WAIT_COLUMNS, ("least share", "least_share"), *PRICE_COLUMNS]),
}


def merged(results, corner, places, columns):
    """A row for each library measured, and if there is a corner, for each place. Otherwise a head names its column's place in brackets."""
    rows = []
    for label, among in [(label, {"": place}) for label, place in places.items()] if corner else [("", places)]:
        where = [(among[re.search(r"\((.+)\)$|$", head)[1] or ""], path) for head, path in columns]
        rows += [[label, re.sub("^asio-redlock (.+)", r"`\1`", name) if corner else name, *(cell(results, name, *each) for each in where)]
                 for name in results.names if results.of(name, where[0][0])]
    begin = 0 if corner else 1
    return table([corner, "", *(head for head, _ in columns)][begin:], [row[begin:] for row in rows]) if rows else ""


def columns_of(place):
    return {"cycles": CYCLE_COLUMNS, "convoy": HAND_OFF_COLUMNS, "permits": PERMIT_COLUMNS, "readers": READER_COLUMNS,
            "elections": ELECTION_COLUMNS, "several": PERMIT_COLUMNS}.get(place.workload, FAIR_COLUMNS)


def library_table(results):
    rows = [[each.name, each.language, each.version, each.settings, each.waits_by] for each in drivers.ALL if each.name in results.names]
    return table(["Library", "", "Version", "Settings here", "Waits by"], rows)


def failure_table(results):
    rows = [[name, place.name, "; ".join(results.failures(name, place.name)[:3]).replace("|", "/").replace("\n", " ")[:300]]
            for name in results.names for place in points.ALL if results.failures(name, place.name)]
    return table(["Library", "Point", "What it said"], rows) if rows else "No library reported a failure.\n"


def exclusion(results, what):
    checked = [each for each in results.lines if "overlaps" in each]
    broken = [f"{each['driver']} ({each['point']}: {each['overlaps']})" for each in checked if each["overlaps"]]
    told = f"{len(checked)} contended measurements; {what}: {', '.join(broken) or 'never'}."
    return textwrap.fill(told, 120, break_on_hyphens=False) + "\n"


def neighbours(results):
    shares = [each["neighbours_share"] for each in results.lines if "neighbours_share" in each]
    low, middle, high = statistics.quantiles(shares, n=10)[::4] if len(shares) > 1 else (0, 0, 0)
    return (f"Other programs used {middle:.2f} CPUs in the median window "
            f"(a tenth of the windows less than {low:.2f}, a tenth more than {high:.2f}).\n")


def series(results, places, path):
    out = {}
    for name in results.names:
        found = [(place.workers, results.figure(name, place.name, path)) for place in places]
        out[name] = [(x, y) for x, y in found if y]
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
            [(head, series(results, places, f"hand_off.{key}")) for head, key in shares], "contenders", everybody)
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


def machine_table(about):
    return table(["", ""], [[key, str(value)] for key, value in about.items() if key != "skipped"])


PARTS = [(points.LOCKS, "", "two holders at once"),
         (points.FURTHER, "further-", "more holders at once than allowed"),
         (points.ELECTIONS, "elections-", "two leaders at once"),
         (points.SEVERAL, "several-", "two holders of a name at once")]  # each can be measured in a run of its own


def blocks(results, about):
    """Words and tables about each part that was measured, by name."""
    out = {}
    for kinds, prefix, what in PARTS:
        part = results.about(kinds)
        if part.lines:
            told = {"libraries": library_table(part), "failures": failure_table(part), "exclusion": exclusion(part, what),
                    "neighbours": neighbours(part), "machine": machine_table(about)}
            out |= {prefix + name: words for name, words in told.items()}
    return out


def problems(results):
    """Names that are not known, and what is missing in a part that was measured."""
    for key, known in ("driver", drivers.ALL), ("point", points.ALL):
        for name in dict.fromkeys(each[key] for each in results.lines):
            if name not in [each.name for each in known]:
                yield f"unknown {key} {name}"
    measured = [kind for kinds, *_ in PARTS if results.about(kinds).lines for kind in kinds]
    for place in points.ALL:
        needed = {"done", *(path.split(".")[0] for _, path in columns_of(place))} - {"ratio"}
        for driver in drivers.ALL:
            if place.kind in measured and driver.joins(place):
                rounds = results.of(driver.name, place.name)
                lacks = [told.get("error") or "no " + ", ".join(sorted(needed - told.keys())) for told in rounds if needed - told.keys()]
                yield from (f"{driver.name} in {place.name}: {why}" for why in (lacks if rounds else ["not measured"]))


def publish(docs, results, about, images):
    """Replaces what stands between the markers <!-- figures: NAME --> and <!-- end -->. Parts that were not measured stay."""
    page = docs / "comparison.md"
    told = page.read_text(encoding="utf-8")
    wrong = [*problems(results), *(f"no <!-- figures: {name} --> in {page}" for name in TABLES if f"<!-- figures: {name} -->\n" not in told)]
    if wrong:
        raise Unpublishable("; ".join(wrong[:5]) + (f"; and {len(wrong) - 5} more" if len(wrong) > 5 else ""))
    for name, words in (blocks(results, about) | {name: merged(results, *each) for name, each in TABLES.items()}).items():
        if words:
            told = re.sub(rf"(<!-- figures: {name} -->\n).*?(<!-- end -->)", lambda found, words=words:
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
        if docs:
            raise Unpublishable("no measurements")
        return
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    locks = results.about(points.LOCKS)
    images = plots(locks) if locks.lines else {}
    tables = blocks(results, about) | {each.name: merged(results, "", {"": each.name}, columns_of(each)) for each in points.ALL}
    write_csv(folder, results)
    (folder / "tables.md").write_text("".join(f"## {name}\n\n{words}\n" for name, words in tables.items() if words), encoding="utf-8")
    for name, words in images.items():
        (folder / name).write_text(words, encoding="utf-8")
    if docs:
        publish(docs, results, about, images)

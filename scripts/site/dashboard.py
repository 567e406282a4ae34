#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""dashboard.py PROMETHEUS DASHBOARD [END]: writes a Grafana dashboard as one SVG to standard output.

Asks the Prometheus at that URL for the panels of the JSON file DASHBOARD, over the five minutes before END (seconds since
1970, default: now), with all variables at "All" and a scrape interval of one second. The grid, titles, units and legends
are like those of Grafana; times are UTC. A series that is zero all the time is left out. A panel without data is an error.
"""

import json
import math
import re
import sys
import time
from html import escape
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

from pictures import picture

SPAN, STEP, SCRAPE = 300, 2, 1  # seconds
WIDTH, MARGIN, GAP, TOP, UNIT, LINE = 820, 8, 6, 34, 24, 14  # UNIT: the height of a grid cell
COLOURS = ["#2e7d32 #73bf69", "#b26a00 #f2cc0c", "#1565c0 #5794f2", "#e64a19 #ff9830", "#c2185b #ff8fc7", "#7b1fa2 #b877d9",
           "#00838f #4dd0e1", "#5d4037 #bcaaa4"]
NAMED = {"green": "#43a047 #56a64b", "red": "#d32f2f #e02f44"}


def style():
    """Lines and keys have the first colour of a pair on a light page, and the second one on a dark page."""
    pairs = [(f"c{number}", pair) for number, pair in enumerate(COLOURS)] + list(NAMED.items())
    light, dark = (" ".join(f".{name} {{ stroke: {colour}; fill: {colour} }}" for name, colour in
                            ((name, pair.split()[which]) for name, pair in pairs)) for which in (0, 1))
    return ("<style>.l, .axis { font-size: 10.5px } .b { font-weight: 600; font-size: 11.5px } "
            "path { fill: none !important; stroke-width: 1.3; stroke-linejoin: round } .dot { stroke-width: 3.5; stroke-linecap: round } "
            f"{light} @media (prefers-color-scheme: dark) {{ {dark} }}</style>")


def text(x, y, words, kind="l", anchor="start"):
    at = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{kind}" x="{x:g}" y="{y:g}"{at}>{escape(words)}</text>'


def length(words):
    """About the width of a text in the small font."""
    return sum(3.7 if letter in " .:/ijlrtf" else 6.3 for letter in words)


def query(prometheus, expression, end):
    """The series of a query: (labels, {time: value})."""
    asked = urlencode({"query": expression, "start": end - SPAN, "end": end, "step": STEP})
    with urlopen(f"{prometheus}/api/v1/query_range?{asked}") as answer:
        found = json.load(answer)["data"]["result"]
    for series in found:
        values = {int(at): float(value) for at, value in series["values"]}
        yield series["metric"], {at: value for at, value in values.items() if math.isfinite(value)}


def series_of(panel, variables, prometheus, end):
    """The series of a panel: (legend, {time: value})."""
    interval = {"__rate_interval": f"{max(STEP + SCRAPE, 4 * SCRAPE)}s"}
    for target in panel["targets"]:
        expression = re.sub(r"\$(\w+)", lambda found: (variables | interval)[found[1]], target["expr"])
        for labels, values in query(prometheus, expression, end):
            yield re.sub(r"{{(\w+)}}", lambda found: labels[found[1]], target["legendFormat"]), values


def shown(value, unit):
    """A value of an axis with its unit, as Grafana writes it."""
    if unit == "s" and value:
        factor, unit = next((f, u) for f, u in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")) if abs(value) >= f or u == "µs")
        value /= factor
    return f"{value:.4g}" + {"short": "", "ops": " ops/s"}.get(unit, f" {unit}")


def ticks(low, high, count):
    """About that number of round values, of which the first and the last are the ends of the axis."""
    high = high if high > low else low + 1
    rough = (high - low) / count
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def paths(values, x, y, kind):
    """A line through values that follow each other, and a dot for each value that stands alone."""
    runs = []
    for at in sorted(values):
        if not runs or at - runs[-1][-1][0] != STEP:
            runs.append([])
        runs[-1].append((at, values[at]))
    drawn = {"": "", " dot": ""}
    for run in runs:
        places = [(round(10 * x(at)), round(10 * y(value))) for at, value in run]
        places = [place for number, place in enumerate(places)
                  if not 0 < number < len(places) - 1 or not places[number - 1][1] == place[1] == places[number + 1][1]]
        moves = [(b[0] - a[0], b[1] - a[1]) for a, b in zip(places, places[1:])]
        line = "l" + " ".join(f"{dx / 10:g} {dy / 10:g}" for dx, dy in moves) if moves else "h0"
        drawn["" if moves else " dot"] += f"M{places[0][0] / 10:g} {places[0][1] / 10:g}{line.replace(' -', '-')}"
    return [f'<path class="{kind}{dot}" d="{d}"/>' for dot, d in drawn.items() if d]


def legend(entries, left, right):
    """Keys and words in lines, to be drawn at a height that is known later."""
    lines, x = [[]], left
    for kind, words in entries:
        wide = 14 + length(words)
        if x + wide > right and lines[-1]:
            lines.append([])
            x = left
        lines[-1].append((x, kind, words))
        x += wide + 9
    return lines


def draw_legend(lines, bottom):
    for number, line in enumerate(reversed(lines)):
        y = bottom - number * LINE
        for x, kind, words in line:
            yield f'<rect class="{kind}" x="{x:g}" y="{y - 5:g}" width="10" height="2"/>' + text(x + 14, y, words)


def time_axis(left, right, top, bottom, end):
    """The x of a time, and the drawn axis."""
    def x(at):
        return left + (right - left) * (at - end + SPAN) / SPAN

    out = []
    for minute in range(math.ceil((end - SPAN) / 60) * 60, end - 4, 60):  # at the end there is no room for the text
        at = round(x(minute), 1)
        out += [f'<path class="grid" d="M{at:g} {top:g}V{bottom:g}"/>',
                text(at, bottom + 15, time.strftime("%H:%M", time.gmtime(minute)), "axis", "middle")]
    return x, out


def lines_panel(panel, series, box, end):
    defaults = panel["fieldConfig"]["defaults"]
    left, top, right, bottom = box
    drawn = [(name, values) for name, values in series if any(values.values())] or series
    drawn = [(f"c{number % len(COLOURS)}", *one) for number, one in enumerate(drawn)]
    keys = legend([(kind, name) for kind, name, _ in drawn], left + 8, right - 6)
    everything = [value for _, _, values in drawn for value in values.values()]
    upper, lower = top + 27, bottom - 24 - LINE * len(keys)
    marks = ticks(min([defaults.get("min", math.inf), *everything]), max(everything), max(1, (lower - upper) // 24))
    words = [shown(mark, defaults["unit"]) for mark in marks]
    plot = left + 12 + max(map(length, words)), upper, right - 10, lower

    def y(value):
        return lower - (lower - upper) * (value - marks[0]) / (marks[-1] - marks[0])

    x, out = time_axis(plot[0], plot[2], plot[1], plot[3], end)
    for mark, said in zip(marks, words):
        out.append(f'<path class="grid" d="M{plot[0]:.1f} {y(mark):.1f}H{plot[2]:g}"/>')
        out.append(text(round(plot[0] - 5, 1), round(y(mark) + 3.5, 1), said, "axis", "end"))
    for kind, _, values in drawn:
        out += paths(values, x, y, kind)
    return out + [*draw_legend(keys, bottom - 7)]


def states_panel(panel, series, box, end):
    states = panel["fieldConfig"]["defaults"]["mappings"][0]["options"]
    left, top, right, bottom = box
    keys = legend([(state["color"], state["text"]) for state in states.values()], left + 8, right - 6)
    plot = left + 14 + max(length(name) for name, _ in series), top + 27, right - 10, bottom - 24 - LINE * len(keys)
    x, out = time_axis(plot[0], plot[2], plot[1], plot[3], end)
    height = (plot[3] - plot[1]) / len(series)
    for number, (name, values) in enumerate(series):
        y = plot[1] + number * height
        out.append(text(round(plot[0] - 6, 1), round(y + height / 2 + 4, 1), name, "axis", "end"))
        changes = [at for at in sorted(values) if values.get(at - STEP) != values[at]]
        for at, until in zip(changes, changes[1:] + [end]):
            out.append(f'<rect class="{states[f"{values[at]:g}"]["color"]}" x="{x(at):.1f}" y="{y + 4:.1f}" '
                       f'width="{x(until) - x(at):.1f}" height="{height - 8:.1f}"/>')
    return out + [*draw_legend(keys, bottom - 7)]


def main(prometheus, file, end):
    dashboard = json.loads(Path(file).read_text())
    variables = {variable["name"]: variable["allValue"] for variable in dashboard["templating"]["list"] if "allValue" in variable}
    parts, bottom, empty = [style()], 0, []
    for panel in dashboard["panels"]:
        place, cell = panel["gridPos"], (WIDTH - 2 * MARGIN + GAP) / 24
        left, top = MARGIN + cell * place["x"], TOP + UNIT * place["y"]
        box = [round(edge, 1) for edge in (left, top, left + cell * place["w"] - GAP, top + UNIT * place["h"] - GAP)]
        bottom = max(bottom, box[3])
        if panel["type"] == "row":
            parts.append(text(left + 4, top + 16, panel["title"], "title"))
            continue
        draw = {"timeseries": lines_panel, "state-timeline": states_panel}[panel["type"]]
        series = [*series_of(panel, variables, prometheus, end)]
        if not any(values for _, values in series):
            empty.append(panel["title"])
            continue
        parts.append(f'<rect class="lane" x="{box[0]}" y="{box[1]}" width="{box[2] - box[0]:g}" height="{box[3] - box[1]:g}" rx="2"/>')
        parts += [text(box[0] + 8, box[1] + 17, panel["title"], "b"), *draw(panel, series, box, end)]
    print(picture(dashboard["title"], WIDTH, round(bottom + MARGIN), parts), end="")
    print(*(f"no data: {title}" for title in empty), sep="\n", end="\n" if empty else "", file=sys.stderr)
    return 1 if empty else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].rstrip("/"), sys.argv[2], int(sys.argv[3]) if sys.argv[3:] else int(time.time())))

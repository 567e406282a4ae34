# SPDX-License-Identifier: BSL-1.0
"""Line charts with logarithmic axes, as SVG, with nothing but the standard library."""
import math
from xml.sax.saxutils import escape

PANEL_WIDTH, PANEL_HEIGHT, GAP, TOP, BOTTOM, LEFT = 300, 260, 64, 62, 52, 66
LEGEND_WIDTH = 190
COLOURS = ["#000000", "#888888", "#d62728", "#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#17becf",
           "#bcbd22", "#7f5f00", "#004d00", "#0000ff"]


class Axis:
    def __init__(self, values, begin, end):
        self.low, self.high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        self.high = max(self.high, self.low + 1)
        self.begin, self.end = begin, end

    def at(self, value):
        return self.begin + (math.log10(value) - self.low) / (self.high - self.low) * (self.end - self.begin)

    def ticks(self):
        return [10.0 ** power for power in range(self.low, self.high + 1)]


class Steps:
    """The few values that were measured, at equal distances."""

    def __init__(self, values, begin, end):
        self.values = sorted(set(values))
        self.begin, self.width = begin, (end - begin) / max(1, len(self.values))

    def at(self, value):
        return self.begin + (self.values.index(value) + 0.5) * self.width

    def ticks(self):
        return self.values


def text(x, y, words, anchor="middle", size=11, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" {more}>{escape(words)}</text>'


def line(x1, y1, x2, y2, colour, width=1.0, more=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}" {more}/>'


def shown(value):
    return f"{value:g}" if value < 1e5 else f"{value:.0e}".replace("e+0", "e")


def frame(x, y, title, x_label, left):
    out = [text(left + PANEL_WIDTH / 2, TOP - 10, title, size=12, more='font-weight="bold"')]
    for tick in y.ticks():
        out.append(line(left, y.at(tick), left + PANEL_WIDTH, y.at(tick), "#dddddd"))
        out.append(text(left - 6, y.at(tick) + 4, shown(tick), "end"))
    for tick in x.ticks():
        out.append(text(x.at(tick), TOP + PANEL_HEIGHT + 16, shown(tick)))
    out.append(text(left + PANEL_WIDTH / 2, TOP + PANEL_HEIGHT + 36, x_label))
    out.append(f'<rect x="{left}" y="{TOP}" width="{PANEL_WIDTH}" height="{PANEL_HEIGHT}" fill="none" stroke="#444444"/>')
    return out


def curve(x, y, measured, colour, ours):
    places = [(x.at(a), y.at(b)) for a, b in sorted(measured)]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    width = 2.6 if ours else 1.4
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>',
            *(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{width + 0.8:.1f}" fill="{colour}"/>' for a, b in places)]


def panel(index, title, series, x_label, colours, ours):
    left = LEFT + index * (PANEL_WIDTH + GAP)
    everything = [each for measured in series.values() for each in measured]
    x = Steps([a for a, _ in everything], left, left + PANEL_WIDTH)
    y = Axis([b for _, b in everything], TOP + PANEL_HEIGHT, TOP)
    out = frame(x, y, title, x_label, left)
    for name, measured in series.items():
        out += curve(x, y, measured, colours[name], name == ours)
    return out


def chart(title, panels, x_label, everybody):
    """panels: [(title, {series: [(x, y), ...]})]; all values positive. Colours go by the place in everybody, whose first
    is drawn in bold."""
    panels = [(name, {k: v for k, v in series.items() if v}) for name, series in panels]
    panels = [(name, series) for name, series in panels if series]
    names = list(dict.fromkeys(name for _, series in panels for name in series))
    colours = {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(everybody)}
    ours = everybody[0]
    width = LEFT + len(panels) * (PANEL_WIDTH + GAP) + LEGEND_WIDTH
    height = TOP + PANEL_HEIGHT + BOTTOM
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           'font-family="sans-serif">', f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
           text(LEFT, 24, title, "start", 15, 'font-weight="bold"')]
    for index, (name, series) in enumerate(panels):
        out += panel(index, name, series, x_label, colours, ours)
    left = width - LEGEND_WIDTH - GAP + 20
    for index, name in enumerate(names):
        y = TOP + 8 + index * 18
        out += [line(left, y, left + 22, y, colours[name], 2.6 if name == ours else 1.6), text(left + 28, y + 4, name, "start")]
    return "\n".join([*out, "</svg>", ""])

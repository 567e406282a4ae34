#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""pictures.py [--check]: draws the pictures that no run of a program tells: the logo, one acquisition, one loss, the
queue, and the chart of docs/comparison.md's figures. --check: are they as they would be drawn, and do README.md and
docs/index.md have the same figures?

Times follow from the default options, and figures are read from the page, so that a picture cannot differ from the text.
"""

import re
import sys
from html import escape
from pathlib import Path

from timeline import LANE, LINE, STYLE, TOP, draw

ROOT = Path(__file__).resolve().parents[2]
TTL, SLACK = 10000, 1000
VALIDITY = TTL - TTL // 100 - 2  # rule V2
MORE = """
.arrow { fill: none; stroke: #546e7a; stroke-width: 1.3; marker-end: url(#head) } .back { stroke-dasharray: 4 3 } .head { fill: #546e7a }
.gap { stroke: #fff; stroke-width: 5 } .small { font-size: 12px } .here { fill: #26a69a } .other { fill: #b0bec5 }
@media (prefers-color-scheme: dark) { .arrow { stroke: #a3b4bd } .head { fill: #a3b4bd } .gap { stroke: #222b30 } .here { fill: #1f8a80 } .other { fill: #607d8b } }
"""


def seconds(ms):
    return f"{ms / 1000:.3f} s" if ms % 1000 else f"{ms // 1000} s"


def picture(title, width, height, parts):
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(title)}</title><style>{STYLE}{MORE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        '<path class="head" d="M0 0 8 4 0 8z"/></marker></defs>',
        f'<rect class="paper" width="{width}" height="{height}"/>',
        f'<text class="title" x="12" y="21">{escape(title)}</text>',
        *parts,
        "</svg>",
        "",
    ])


class Lanes:
    """Named lanes below each other, with bars, arrows between them, and numbered events that are told below."""

    def __init__(self, width, left, names):
        self.width, self.left, self.names, self.parts, self.told = width, left, names, [], []
        for name in names:
            y = self.middle(name)
            self.parts.append(f'<text x="12" y="{y + 5:g}">{escape(name)}</text>')
            self.parts.append(f'<rect class="lane" x="{left}" y="{y - 12:g}" width="{width - left - 12}" height="24"/>')

    def middle(self, name):
        return TOP + self.names.index(name) * LANE + LANE / 2

    def bar(self, name, kind, start, end, text=""):
        y = self.middle(name)
        self.parts.append(f'<rect class="{kind}" x="{start}" y="{y - 9:g}" width="{end - start}" height="18"/>')
        if text:
            self.parts.append(f'<text class="small" x="{start + 14}" y="{y + 4.5:g}">{escape(text)}</text>')

    def arrow(self, start, at, end, to, kind=""):
        down = 1 if self.middle(end) > self.middle(start) else -1
        y, y_to = self.middle(start) + 9 * down, self.middle(end) - 10 * down
        self.parts.append(f'<path class="arrow{kind}" d="M{at} {y:g} {to} {y_to:g}"/>')

    def mark(self, name, x, text, bad=False):
        self.told.append(text)
        y = self.middle(name)
        self.parts.append(f'<circle class="mark{" bad" if bad else ""}" cx="{x}" cy="{y:g}" r="8.5"/>')
        self.parts.append(f'<text class="number" x="{x}" y="{y + 4:g}">{len(self.told)}</text>')

    def drawn(self, title, axis=()):
        bottom = TOP + len(self.names) * LANE
        for x, words in axis:
            self.parts.append(f'<text class="axis" x="{x}" y="{bottom + 12}" text-anchor="middle">{escape(words)}</text>')
        below = bottom + (34 if axis else 22)
        for number, text in enumerate(self.told, 1):
            y = below + (number - 1) * LINE
            self.parts.append(f'<text x="28" y="{y}" text-anchor="end">{number}</text><text x="38" y="{y}">{escape(text)}</text>')
        return picture(title, self.width, below + len(self.told) * LINE - 6, self.parts)


def acquisition():
    lanes = Lanes(580, 78, ["client", "server 1", "server 2", "server 3"])
    asked, expires, ends = 96, 500, 420
    answers = {"server 1": (130, 166), "server 2": (150, 204), "server 3": (190, 284)}
    held = answers["server 2"][1]
    lanes.bar("client", "waits", asked, held)
    lanes.bar("client", "valid", held, ends, "the lease is valid")
    for server, (arrives, back) in answers.items():
        lanes.bar(server, "up", arrives, expires + (arrives - asked) // 2, "")
        lanes.arrow("client", asked, server, arrives)
        lanes.arrow(server, arrives, "client", back, " back")
    for name in lanes.names:
        y = lanes.middle(name)
        lanes.parts.append(f'<path class="gap" d="M352 {y + 13:g} 360 {y - 13:g}"/>')
    for server in answers:
        y = lanes.middle(server)
        lanes.parts.append(f'<text class="small" x="376" y="{y + 4.5:g}">the key lives</text>')
    lanes.mark("client", asked, "The client asks all servers at once. The lease counts from here.")
    lanes.mark("client", held, "Two of three servers have set the key: the lock is held.")
    lanes.mark("client", ends, "The lease ends: ttl \u2212 1 % \u2212 2 ms. A renewal moves the end.", bad=True)
    lanes.mark("server 1", expires, "The keys expire: ttl + slack. Only now can another client win.")
    return lanes.drawn("One acquisition, and no renewal", [
        (asked, "0"), (held, "one round trip"), (ends, seconds(VALIDITY)), (expires, seconds(TTL + SLACK))])


def loss():
    """The table of docs/stories.md, When a lease is lost."""
    renewed, silent, failed, again = round(TTL / 3), 4000, round(2 * TTL / 3), 7925
    end = renewed + VALIDITY
    told = [
        (0, "holder", "until", str(VALIDITY)),
        (0, "holder", "holds", f"holds the lock: three votes, valid until {VALIDITY} ms"),
        (renewed, "holder", "renews", f"renews: three servers confirm, valid until {end} ms"),
        (silent, "server 2", "down", "falls silent"),
        (silent, "server 3", "down", "falls silent, too"),
        (failed, "holder", "failed", "renews: one server confirms, which is no majority"),
        (again, "holder", "failed", "tries again, and then after ever shorter pauses"),
        (end - 1, "holder", "until", str(end)),
        (end - 1, "holder", "over_lost", "has lost the lock: valid() is false, and with_lock cancels the work"),
        (2000, "waiter", "waits", "waits for the lock"),
        (renewed + TTL + SLACK, "waiter", "first", "can win from here on, if a majority of the servers answers"),
        (15500, "-", "end", "-"),
    ]
    return draw({"id": "loss", "title": "One loss: two of three servers fall silent", "events": sorted(told, key=lambda e: e[0]), "end": 15500})


def queue():
    lanes = Lanes(720, 136, ["client A", "client B", "client C", "queue on server 2", "key on server 2", "key on 1 and 3"])
    own, key, others = lanes.names[3:]
    asks, asks_too, releases, called, holds = 200, 290, 400, 470, 590
    lanes.bar("client A", "valid", 148, releases, "has the lock")
    lanes.bar("client B", "waits", asks, holds, "")
    lanes.bar("client B", "valid", holds, 700, "has the lock")
    lanes.bar("client C", "waits", asks_too, 700, "")
    lanes.bar(own, "waits", asks + 10, asks_too + 10, "B")
    lanes.bar(own, "waits", asks_too + 14, releases + 26, "B, C")
    lanes.bar(own, "waits", releases + 30, 700, "C")
    lanes.bar(key, "up", 148, releases + 26, "A")
    lanes.bar(key, "valid", releases + 30, 700, "B")
    lanes.bar(others, "up", 148, 494, "A")
    lanes.bar(others, "valid", 540, 700, "B")
    lanes.arrow("client B", asks, own, asks + 10)
    lanes.arrow("client C", asks_too, own, asks_too + 10)
    lanes.arrow("client A", releases, key, releases + 26)
    lanes.arrow(key, releases + 30, "client B", called)
    lanes.arrow("client A", releases + 40, others, 492)
    lanes.arrow("client B", called + 14, others, 536)
    lanes.mark("client B", asks, "B is refused, and takes the first position in the queue.")
    lanes.mark("client C", asks_too, "C takes the second position.")
    lanes.mark("client A", releases, "A releases at the queue's server alone. That server gives its key to B\u2026")
    lanes.mark("client B", called, "\u2026keeps the lock there for B during the claim window, and sends B a message.")
    lanes.mark("client A", releases + 40, "A deletes its key on the other servers.")
    lanes.mark("client B", holds, "B has asked all servers, and a majority agrees. C is first now.")
    return lanes.drawn("The queue: how a lock passes from A to B while C waits")


def table(heading, columns):
    """Those columns of the table of docs/comparison.md below a heading: library -> numbers."""
    lines = (ROOT / "docs/comparison.md").read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0].split("\n")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return {row[0]: [row[rows[0].index(column)] for column in columns] for row in rows[2:] if len(row) == len(rows[0])}


def chart():
    """Bars of cycles a second, and the client's CPU time in words."""
    rows = sorted(((float(rate.replace(" ", "")), name, rate, cpu) for name, (rate, cpu) in
                   table("Uncontended", ["cycles/s (256)", "client CPU (256)"]).items()), reverse=True)
    width, left, bars, step = 620, 140, 300, 21
    parts = [f'<text class="axis" x="{width - 12}" y="42" text-anchor="end">client CPU for each</text>',
             f'<text class="axis" x="{left}" y="42">locks a second</text>']
    for number, (rate, name, words, cpu) in enumerate(rows):
        y = 50 + number * step
        here = name == "asio-redlock"
        strong = ' font-weight="600"' if here else ""
        parts.append(f'<text x="{left - 10}" y="{y + 13}" text-anchor="end"{strong}>{escape(name)}</text>')
        length = round(bars * rate / rows[0][0], 1)
        parts.append(f'<rect class="{"here" if here else "other"}" x="{left}" y="{y + 1}" width="{length}" height="{step - 5}"/>')
        parts.append(f'<text class="small" x="{left + length + 6:g}" y="{y + 13}"{strong}>{words}</text>')
        parts.append(f'<text class="small" x="{width - 12}" y="{y + 13}" text-anchor="end"{strong}>{cpu} \u00b5s</text>')
    below = 50 + len(rows) * step + 12
    parts.append(f'<text class="axis" x="12" y="{below}">hiredis by hand: no timeout, no renewal, no reconnection</text>')
    return picture("Locks taken and released, 256 at a time, on three servers", width, below + 10, parts)


def unlike():
    """The figures of docs/comparison.md that README.md or docs/index.md does not repeat as they are."""
    cycles = table("Uncontended", ["cycles/s (256)", "client CPU (256)"])
    hand_off = table("Waiting for one key", ["p50 (16)"])
    for page in ("README.md", "docs/index.md"):
        words = (ROOT / page).read_text()
        for name in ("asio-redlock", "redsync", "Redisson"):
            for figure in (cycles[name][0], cycles[name][1] + " \u00b5s", hand_off[name][0][:5] + " ms"):
                if figure not in words:
                    yield f"{page}: {name} has {figure} in docs/comparison.md"


def logo(mark, held, free):
    """A lock of three servers, two of which suffice."""
    bars = "".join(f'<rect x="8" y="{y}" width="48" height="10" rx="3" {style}/>' for y, style in
                   ((27, held), (39.5, held), (52, free)))
    return f'<path fill="none" {mark} stroke-width="6" d="M20 28V18a12 12 0 0 1 24 0v10"/>{bars}'


def drawings():
    style = (".shackle { stroke: #263238 } .held { fill: #00897b } .free { fill: #b0bec5 } "
             "@media (prefers-color-scheme: dark) { .shackle { stroke: #eceff1 } .held { fill: #4db6ac } .free { fill: #78909c } }")
    box = '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64" viewBox="0 0 64 64"'
    coloured = logo('class="shackle"', 'class="held"', 'class="free"')
    plain = logo('stroke="currentColor"', 'fill="currentColor"', 'fill="currentColor" fill-opacity=".45"')
    images = ROOT / "docs/images"
    return {
        images / "logo.svg": f"{box} role=\"img\"><title>asio-redlock</title><style>{style}</style>{coloured}</svg>\n",
        ROOT / "scripts/site/theme/.icons/redlock.svg": f"{box}>{plain}</svg>\n",
        images / "acquisition.svg": acquisition(),
        images / "loss.svg": loss(),
        images / "queue.svg": queue(),
        images / "locks_a_second.svg": chart(),
    }


def main(check):
    wrong = [path for path, text in drawings().items() if check and (not path.exists() or path.read_text() != text)]
    for path in wrong:
        print(f"{path.relative_to(ROOT)}: differs from what scripts/site/pictures.py draws")
    complaints = [*unlike()] if check else []
    print(*complaints, sep="\n", end="\n" if complaints else "")
    for path, text in {} if check else drawings().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return 1 if wrong or complaints else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))

#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Draws what examples/guide_stories tells on standard input: one SVG for each story, in the directory that is named.

One lane for each server and participant; a bar while a server votes, and while a lease is valid; a number for each event,
with its time and words below. The picture is light or dark as its page is.
"""

import sys
from html import escape
from pathlib import Path

WIDTH, LEFT, RIGHT, LANE, TOP, LINE = 860, 86, 88, 34, 34, 19  # on the right, room for events at the end
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #263238 } .paper { fill: #fff }
.title { font-weight: 600 } .axis { font-size: 11px; fill: #546e7a } .grid { stroke: #eceff1 }
.lane { fill: #f5f7f8 } .up { fill: #b0bec5 } .quarantined { fill: url(#hatch) } .valid { fill: #26a69a }
.stopped { fill: #ffcc80 } .waits { fill: #cfe8fc } .hatch { fill: #eceff1 } .line { fill: #b0bec5 }
.mark { fill: #fff; stroke: #263238; stroke-width: 1.2 } .number { font-size: 11px; text-anchor: middle }
.bad { stroke: #c62828; stroke-width: 1.8 } .when { fill: #546e7a; text-anchor: end; font-variant-numeric: tabular-nums }
@media (prefers-color-scheme: dark) {
text { fill: #dde5e9 } .paper { fill: #222b30 } .axis, .when { fill: #a3b4bd } .grid { stroke: #35434b }
.lane { fill: #2a353b } .up { fill: #546e7a } .valid { fill: #1f8a80 } .stopped { fill: #d99a3d } .waits { fill: #33546b }
.hatch { fill: #35434b } .line { fill: #546e7a } .mark { fill: #222b30; stroke: #dde5e9 } .bad { stroke: #ff8a80 } }
"""
BAD = {"down", "dead", "refused", "over_lost"}
SILENT = {"until", "end"}  # drawn, not numbered


def read(stream):
    stories = []
    for text in stream:
        fields = text.rstrip("\n").split("\t")
        if fields[0] == "story" and len(fields) == 3:
            stories.append({"id": fields[1], "title": fields[2], "events": []})
        elif stories and len(fields) == 4 and fields[0].isdigit():
            stories[-1]["events"].append((int(fields[0]), *fields[1:]))
        elif text.strip():
            print(text.rstrip())  # the example's own messages
    for story in stories:
        story["events"].sort(key=lambda event: event[0])
        story["end"] = next(at for at, _, what, _ in reversed(story["events"]) if what == "end")
    return stories


def server_bars(events, end):
    state, since = "up", 0
    for at, _, what, _ in events:
        following = {"down": None, "up": None, "quarantined": "quarantined", "votes": "up"}.get(what, state)
        if following != state:
            if state:
                yield state, since, at
            state, since = following, at
    if state:
        yield state, since, end


def participant_bars(events, end):
    waits = holds = until = stopped = None
    for at, _, what, text in events:
        if what == "waits":
            waits = at
        elif what == "until":
            until = int(text)
            if holds is None:
                if waits is not None:
                    yield "waits", waits, at
                holds, waits = at, None
        elif what in ("over", "dead"):
            if holds is not None:
                yield "valid", holds, min(until, at) if what == "over" else until
            holds = waits = None
        if "is stopped" in text:
            stopped = at
        elif what == "resumed" and stopped is not None:
            yield "stopped", stopped, at
    if waits is not None:
        yield "waits", waits, end
    if holds is not None:
        yield "valid", holds, min(until, end)


def draw(story):
    events, end = story["events"], story["end"]
    numbered = [event for event in events if event[2] not in SILENT]
    names = {who for _, who, _, _ in numbered} | {"server 1", "server 2", "server 3"}
    names = sorted(names, key=lambda name: (name.startswith("server"), name))
    bottom = TOP + len(names) * LANE
    height = bottom + 34 + len(numbered) * LINE + 8

    def x(at):
        return round(LEFT + (WIDTH - LEFT - RIGHT) * min(at, end) / end, 1)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(story['title'])}</title><style>{STYLE}</style>",
        '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect width="6" height="6" class="hatch"/><rect width="2.5" height="6" class="line"/></pattern></defs>',
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>',
        f'<text class="title" x="12" y="21">{escape(story["title"])}</text>',
    ]
    for second in range(0, end // 1000 + 1):
        at = x(second * 1000)
        out.append(f'<line class="grid" x1="{at}" y1="{TOP}" x2="{at}" y2="{bottom}"/>')
        out.append(f'<text class="axis" x="{at}" y="{bottom + 14}" text-anchor="middle">{second} s</text>')
    lane_of = {}
    for index, name in enumerate(names):
        y = TOP + index * LANE
        lane_of[name] = y
        out.append(f'<text x="12" y="{y + 22}">{escape(name)}</text>')
        out.append(f'<rect class="lane" x="{LEFT}" y="{y + 5}" width="{WIDTH - LEFT - 12}" height="{LANE - 10}"/>')
        own = [event for event in events if event[1] == name]
        bars = server_bars(own, end) if name.startswith("server") else participant_bars(own, end)
        for kind, start, stop in sorted(bars, key=lambda bar: bar[0] == "stopped"):  # over the others
            inset, thick = (LANE - 13, 6) if kind == "stopped" else (8, LANE - 16)
            length = round(x(stop) - x(start), 1)
            out.append(f'<rect class="{kind}" x="{x(start)}" y="{y + inset}" width="{length}" height="{thick}"/>')
    last = {}
    for number, (at, who, what, text) in enumerate(numbered, 1):
        centre = max(x(at), last.get(who, 0) + 18)  # side by side where they happened together
        last[who] = centre
        y = lane_of[who] + LANE / 2
        bad = " bad" if what in BAD or "lost" in text else ""
        out.append(f'<circle class="mark{bad}" cx="{centre}" cy="{y}" r="8.5"/>')
        out.append(f'<text class="number" x="{centre}" y="{y + 4}">{number}</text>')
        below = bottom + 40 + (number - 1) * LINE
        out.append(f'<text x="34" y="{below}" text-anchor="end">{number}</text>')
        out.append(f'<text class="when" x="106" y="{below}">{at} ms</text>')
        out.append(f'<text x="118" y="{below}"><tspan font-weight="600">{escape(who)}</tspan> {escape(text)}</text>')
    return "\n".join(out + ["</svg>", ""])


def main(directory):
    stories = read(sys.stdin)
    for story in stories:
        path = directory / f"story-{story['id']}.svg"
        path.write_text(draw(story))
        print(path)
    return 0 if stories else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

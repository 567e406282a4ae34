# SPDX-License-Identifier: BSL-1.0
"""From the moments that drivers recorded to latencies."""
from array import array
from collections import Counter

FIELDS = 5  # worker, asked, granted, releasing, released
WRITERS = 10  # the first of this many workers wants the lock for itself
NAMES, LOCKED = 16, 4  # so many of so many names in a ring; a worker's begin at five times its number


def read(paths):
    """Columns over all files; workers of different processes get different numbers."""
    columns = [array("q") for _ in range(FIELDS)]
    for process, path in enumerate(paths):
        raw = array("q")
        raw.frombytes(path.read_bytes())
        for index in range(FIELDS):
            columns[index].extend(raw[index::FIELDS])
        fresh = len(raw) // FIELDS
        for at in range(len(columns[0]) - fresh, len(columns[0])):
            columns[0][at] += process * 100_000
    return columns


FEW = 3000  # as many are kept one by one, so that quantiles can be taken over all rounds together


def quantiles(values):
    """A quantile is told only where at least one sample lies beyond it."""
    values = sorted(values)
    out = {"count": len(values)}
    if values:
        out["most"] = values[-1]
    for name, share in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999)):
        if len(values) * (1 - share) >= 0.9999:
            out[name] = values[int(share * len(values))]
    if len(values) <= FEW:
        out["values"] = [round(each, 1) for each in values]
    return out


def quantiles_us(values_ns):
    return quantiles([each / 1000 for each in values_ns])


def cycles(columns):
    _, asked, _, _, released = columns
    return {"latency": quantiles_us([end - begin for begin, end in zip(asked, released)])}


def hand_offs(columns, convoy):
    """From the beginning of a release to the next grant: in a convoy to a worker that was waiting by then, otherwise
    to any other worker than the former holder."""
    worker, asked, granted, releasing, _ = columns
    order = sorted(range(len(granted)), key=granted.__getitem__)
    passed, again, overlaps = [], 0, 0
    for last, following in zip(order, order[1:]):
        took = granted[following] - releasing[last]
        overlaps += took < 0
        again += worker[last] == worker[following]
        if (asked[following] <= releasing[last]) if convoy else (worker[last] != worker[following]):
            passed.append(took)
    waits = [end - begin for begin, end in zip(asked, granted)]
    return {"hand_off": quantiles_us(passed), "wait": quantiles_us(waits), "overlaps": overlaps,
            "again_share": again / max(1, len(order) - 1), "served": len(set(worker))}


def overlaps(columns, room, needs):
    """Grants that came while there was no room for them: a lease needs as much of it as needs(worker) says."""
    worker, _, granted, releasing, _ = columns
    needed = [needs(each) for each in worker]
    changes = [*zip(granted, needed), *((moment, -need) for moment, need in zip(releasing, needed))]
    used, found = 0, 0
    for _, change in sorted(changes):  # capacity that is released at a moment can be taken at that moment
        used += change
        found += change > 0 and used > room
    return found


def fairness(worker, workers):
    """How many workers had a lease, and the part of an even share that the worker with the fewest had."""
    had = Counter(worker)
    least = min(had.values(), default=0) if len(had) == workers else 0
    return {"served": len(had), "least_share": least * workers / max(1, len(worker))}


def waits(columns, wanted=lambda worker: True):
    worker, asked, granted, _, _ = columns
    return quantiles_us([end - begin for who, begin, end in zip(worker, asked, granted) if wanted(who)])


def permits(columns, count, workers):
    return {"wait": waits(columns), "overlaps": overlaps(columns, count, lambda worker: 1), **fairness(columns[0], workers)}


def several(columns, workers):
    """Each name has one holder at once."""
    found = 0
    for name in range(NAMES):
        leases = [each for each in zip(*columns) if (name - 5 * each[0]) % NAMES < LOCKED]
        found += overlaps([*zip(*leases)], 1, lambda worker: 1) if leases else 0
    return {"wait": waits(columns), "overlaps": found, **fairness(columns[0], workers)}


def writes(worker):
    return worker % WRITERS == 0


def readers(columns, workers, exclusive=False):
    """Writers, and with `exclusive` readers, too, hold the lock alone."""
    needs = (lambda worker: workers) if exclusive else (lambda worker: workers if writes(worker) else 1)
    writing = sum(map(writes, columns[0]))
    return {"wait": waits(columns, lambda worker: not writes(worker)), "writer_wait": waits(columns, writes),
            "writer_share": writing / max(1, len(columns[0])), "overlaps": overlaps(columns, workers, needs),
            **fairness(columns[0], workers)}

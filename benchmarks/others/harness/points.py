# SPDX-License-Identifier: BSL-1.0
"""The measured points."""
from dataclasses import dataclass


LOCKS = ("cycles", "convoy", "contended", "processes", "single", "stalled")
FURTHER = ("permits", "readers")  # kinds of lock that few libraries have
ELECTIONS = ("elections",)
SEVERAL = ("several",)  # names locked together


@dataclass(frozen=True)
class Point:
    kind: str
    workers: int
    nodes: int = 3
    hold_us: int = 0
    processes: int = 1  # the workers are divided among them
    pause_ms: str = ""
    permits: int = 0  # holders at once, of a semaphore

    @property
    def workload(self):
        return {"single": "convoy", "processes": "contended", "stalled": "cycles"}.get(self.kind, self.kind)

    @property
    def windows(self):
        """The factor of the usual window: longer if little happens, or for rows of one process."""
        return 4 if self.kind == "stalled" else 3 if self.processes > 1 else 1

    @property
    def name(self):
        parts = [self.kind, f"N{self.nodes}", f"C{self.workers}"]
        if self.permits:
            parts.append(f"K{self.permits}")
        if self.workload != "cycles":
            parts.append(f"hold{self.hold_us}us")
        if self.processes > 1:
            parts.append(f"P{self.processes}")
        if self.pause_ms:
            parts.append(f"pause{self.pause_ms}ms")
        return "-".join(parts)


CONTENDERS = (2, 16, 64, 256)

ALL = [
    *(Point("cycles", workers) for workers in (1, 16, 256)),
    Point("cycles", 16, nodes=5),
    *(Point("convoy", workers, hold_us=hold) for hold in (1000, 0) for workers in CONTENDERS),
    *(Point("convoy", workers, hold_us=1000, pause_ms="10-50") for workers in (16, 64)),
    *(Point("contended", workers, hold_us=1000) for workers in (16, 256)),
    Point("processes", 16, hold_us=1000, processes=4),
    Point("processes", 4, hold_us=1000, processes=4),
    Point("single", 16, nodes=1, hold_us=1000),
    Point("stalled", 16),
    *(Point("permits", 64, nodes=nodes, hold_us=1000, processes=processes, permits=8) for processes in (1, 4) for nodes in (3, 1)),
    *(Point("readers", 40, nodes=nodes, hold_us=1000, processes=processes) for processes in (1, 4) for nodes in (3, 1)),
    Point("elections", 16, hold_us=1000),
    *(Point("elections", candidates, hold_us=1000, processes=4) for candidates in (16, 4)),
    *(Point("several", 64, nodes=nodes, hold_us=1000, processes=processes) for processes in (1, 4) for nodes in (3, 1)),
]

QUICK = [
    Point("cycles", 16), Point("convoy", 16, hold_us=1000), Point("contended", 16, hold_us=1000),
    Point("processes", 16, hold_us=1000, processes=4), Point("stalled", 16),
    Point("permits", 64, nodes=1, hold_us=1000, permits=8), Point("readers", 40, nodes=1, hold_us=1000),
    Point("elections", 16, hold_us=1000), Point("several", 64, hold_us=1000),
]

# SPDX-License-Identifier: BSL-1.0
"""The drivers' common line protocol (README.md), for those in Python. A driver gives (acquire, release) for a key."""
import argparse
import array
import asyncio
import json
import os
import sys
import time

WORKERS_SAMPLED = 16
now = time.monotonic_ns


def parse():
    options = argparse.ArgumentParser()
    options.add_argument("--nodes", required=True)
    options.add_argument("--workload", default="cycles")
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--hold-us", type=int, default=0)
    options.add_argument("--pause-ms", default="")
    options.add_argument("--variant", default="")
    options.add_argument("--samples", required=True)
    options.add_argument("--run", default="")
    what = options.parse_args()
    what.nodes = what.nodes.split(",")
    what.pause_s = [float(each) / 1000 for each in what.pause_ms.split("-")] if what.pause_ms else None
    return what


class Record:
    def __init__(self, what, begins, ends):
        self.what, self.begins, self.ends = what, begins, ends
        self.done = 0
        self.samples = array.array("q")
        self.failures = {}

    def cycle(self, one):
        if not self.begins <= one[-1] < self.ends:
            return
        self.done += 1
        if self.what.workload != "cycles" or one[0] < WORKERS_SAMPLED:
            self.samples.extend(one)

    def failure(self, error):
        text = f"{type(error).__name__}: {error}"
        self.failures[text] = self.failures.get(text, 0) + 1

    def finish(self):
        with open(self.what.samples, "wb") as file:
            self.samples.tofile(file)
        print(json.dumps({"done": self.done, "failures": self.failures}), flush=True)
        os._exit(0)


def key(what, worker):
    return f"contended:{what.run}" if what.workload != "cycles" else f"own:{what.run}:{worker}"


async def work(what, lock, worker, seen):
    acquire, release = lock
    again = True
    while again and now() < seen.ends:
        again = what.workload != "convoy"
        try:
            asked = now()
            held = await acquire()
            granted = now()
            if what.hold_us:
                await asyncio.sleep(what.hold_us / 1e6)
            releasing = now()
            await release(held)
            seen.cycle((worker, asked, granted, releasing, now()))
        except Exception as error:  # the library's exception is part of the result
            seen.failure(error)
            await asyncio.sleep(0)


async def rounds(what, lock_for, seen):
    """A round ends when all workers have had their turn, or, unless they are a convoy, with the window."""
    locks = [lock_for(key(what, worker)) for worker in range(what.workers)]
    while now() < seen.ends:
        await asyncio.gather(*(work(what, lock, worker, seen) for worker, lock in enumerate(locks)))


async def drive(what, lock_for):
    acquire, release = lock_for(f"warm:{what.run}:{now()}")
    await release(await acquire())
    print("ready", flush=True)
    begins, ends = map(int, sys.stdin.readline().split())
    seen = Record(what, begins, ends)
    running = asyncio.create_task(rounds(what, lock_for, seen))
    await asyncio.sleep((ends - now()) / 1e9)
    assert not running.cancelled()
    seen.finish()

# SPDX-License-Identifier: BSL-1.0
"""redlock-ng's AsyncRedlock."""
import asyncio

from redlock import AsyncRedlock

from python_driver import drive, parse

what = parse()


async def main():
    pause = {}  # else 0.1 to 0.3 s
    if what.pause_s:
        pause = {"retry_delay_min": what.pause_s[0], "retry_delay_max": what.pause_s[1]}
    locks = AsyncRedlock([f"redis://{node}/0" for node in what.nodes], **pause)

    def lock_for(key):
        return lambda: locks.acquire(key, 10_000, blocking=True), locks.release

    await drive(what, lock_for)


asyncio.run(main())

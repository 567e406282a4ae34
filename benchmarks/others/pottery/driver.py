# SPDX-License-Identifier: BSL-1.0
"""pottery's AIORedlock."""
import asyncio
import logging

from pottery import AIORedlock
from redis.asyncio import Redis

from python_driver import drive, parse

what = parse()
logging.disable(logging.CRITICAL)
if what.pause_s:
    AIORedlock._RETRY_DELAY = what.pause_s[1]  # a random part of it; 0.2 s else


async def main():
    settings = {"max_connections": 2 * what.workers + 8}  # redis-py 8 allows 100: beyond them a vote is lost
    if what.variant == "timeouts":
        settings["socket_timeout"] = 0.05
    masters = {Redis.from_url(f"redis://{node}/0", **settings) for node in what.nodes}

    def lock_for(key):
        lock = AIORedlock(key=key, masters=masters, auto_release_time=10)

        async def release(_):
            await lock.release()

        return lock.acquire, release

    await drive(what, lock_for)


asyncio.run(main())

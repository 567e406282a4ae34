# SPDX-License-Identifier: BSL-1.0
"""redis-py's Lock on one server, driven by lines on standard input: see ../integration/interop_partner.hpp."""
import sys


def say(*words):
    print(*words, flush=True)


try:
    import redis
except ImportError:
    say("absent python3-redis")
    sys.exit()

server = redis.Redis(port=int(sys.argv[1]))
lock = None


def acquire(name, ttl):
    global lock
    lock = server.lock(name, timeout=int(ttl) / 1000, blocking=False)
    return "held " + lock.local.token.decode() if lock.acquire() else "busy"


def adopt(name, value):
    global lock
    lock = server.lock(name, timeout=60)
    lock.local.token = value.encode()
    return "adopted"


def extend(ttl):
    lock.extend(int(ttl) / 1000, replace_ttl=True)
    return "extended"


def release():
    lock.release()
    return "released"


say("ready")
for line in sys.stdin:
    command, *arguments = line.split()
    try:
        say({"acquire": acquire, "adopt": adopt, "extend": extend, "release": release}[command](*arguments))
    except (redis.exceptions.LockError, redis.exceptions.ResponseError) as error:  # the latter: it is no string
        say("failed", error)

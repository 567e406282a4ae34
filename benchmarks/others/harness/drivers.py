# SPDX-License-Identifier: BSL-1.0
"""The libraries compared: how each driver is built, started, and which points it takes part in."""
import os
import shutil
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import points, servers

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent


class Missing(Exception):
    """Why a driver cannot be had here, in plain words."""


@dataclass(frozen=True)
class Driver:
    name: str
    language: str
    version: str
    settings: str
    waits_by: str
    build: object = field(repr=False)
    variant: str = ""
    only: tuple = points.LOCKS  # points by kind
    servers: object = field(default=servers.redis, repr=False)
    most_nodes: int = 1000
    exclusive: bool = False  # a plain lock, as a reference for libraries with several holders
    own_pause: bool = True  # takes --pause-ms
    settles_s: float = 0  # longer warm-up: just-in-time compilers, and clients that connect once for each command in flight

    def joins(self, point):
        if point.pause_ms and not self.own_pause:
            return False
        return point.kind in self.only and point.nodes <= self.most_nodes

    def command(self, built):
        return [*built, "--variant", self.variant] if self.variant else built


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Missing(f"no {tool} in the PATH")


def run(words, where, log, minutes=20):
    with open(log, "ab") as out:
        try:
            done = subprocess.run(words, cwd=where, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                  timeout=60 * minutes, check=False)
        except subprocess.TimeoutExpired as error:
            raise Missing(f"{words[0]} took more than {minutes} minutes; see {log}") from error
    if done.returncode != 0:
        raise Missing(f"{' '.join(words[:2])} failed (no registry?); see {log}")


def copy(name, build, *more):
    target = build / name
    shutil.copytree(HERE / name, target, dirs_exist_ok=True)
    for each in more:
        shutil.copy(HERE / each, target)
    return target


def cmake(target):
    def build(build):
        need("cmake", "c++")
        tree = Path(os.environ.get("COMPARISON_CMAKE_BUILD", build / "cmake"))
        log = build / f"{target}.log"
        if not (tree / "CMakeCache.txt").exists():
            run(["cmake", "-S", str(ROOT), "-B", str(tree), "-DCMAKE_BUILD_TYPE=Release", "-DREDLOCK_BUILD_TESTS=OFF",
                 "-DREDLOCK_BUILD_EXAMPLES=OFF", "-DREDLOCK_BUILD_BENCHMARKS=ON"], build, log)
        run(["cmake", "--build", str(tree), "--target", target], build, log)
        return [str(tree / "benchmarks" / "others" / target)]
    return build


def go(name, *more):
    def build(build):
        need("go", *more)
        where = copy(name, build, "go_driver.go")
        run(["go", "build", "-o", "driver", "."], where, build / f"{name}.log")
        return [str(where / "driver")]
    return build


def maven(name):
    def build(build):
        need("mvn", "java")
        where = copy(name, build)
        run(["mvn", "-q", "-B", "compile", "dependency:copy-dependencies"], where, build / f"{name}.log")
        return ["java", "-cp", f"{where}/target/classes:{where}/target/dependency/*", "Driver"]
    return build


def npm(name):
    def build(build):
        need("npm", "node")
        where = copy(name, build, "node_driver.mjs")
        run(["npm", "ci", "--no-audit", "--no-fund"], where, build / f"{name}.log")
        return ["node", str(where / "driver.mjs")]
    return build


def pip(name):
    def build(build):
        need("python3")
        where = copy(name, build, "python_driver.py")
        log = build / f"{name}.log"
        if not (where / "venv").exists():
            run(["python3", "-m", "venv", "venv"], where, log)
        run(["venv/bin/pip", "install", "-q", "-r", "requirements.txt"], where, log)
        return [str(where / "venv/bin/python"), str(where / "driver.py")]
    return build


def cargo(name):
    def build(build):
        need("cargo")
        where = copy(name, build)
        run(["cargo", "build", "--release"], where, build / f"{name}.log")
        return [str(where / "target/release" / f"{name}-driver")]
    return build


ETCD = "client 3.5.35"
SESSIONS = "one client, a session with a lease of 10 s for each worker"
NODE_SETTINGS = "ioredis 5.11.1 with auto-pipelining, one connection a node"

ALL = [
    Driver("asio-redlock", "C++", "this tree", "defaults: 10 s, renewed", "a queue in the client; a queue on one server, push from it",
           cmake("comparison_asio_redlock"), own_pause=False),
    Driver("asio-redlock polling", "C++", "this tree", "`try_acquire` alone, asks again after 10–50 ms",
           "polling", cmake("comparison_asio_redlock"), variant="polling",
           only=("convoy", "contended", "processes", "single")),
    Driver("hiredis by hand", "C++", "hiredis 0.14.1", "pipelined, decided by the majority, asks again after 10–50 ms; "
           "no timeout, no renewal, no reconnection", "polling", cmake("comparison_hiredis")),
    Driver("redsync", "Go", "4.18.1, go-redis 9.23.0", "10 s, a connection for each goroutine; asks again after 50–250 ms",
           "polling", go("redsync")),
    Driver("redsync fail-fast", "Go", "4.18.1, go-redis 9.23.0", "the same with `WithFailFast(true)`", "polling",
           go("redsync"), variant="fail-fast", only=("stalled",)),
    Driver("Redisson", "Java", "3.52.0", "`RedissonRedLock` (`RLock` where N = 1), `lock()` with the watchdog, pool of 64 "
           "or a connection for each thread", "publish/subscribe on each node in turn", maven("redisson"), own_pause=False, settles_s=3),
    Driver("Redisson MultiLock", "Java", "3.52.0", "`getMultiLock`, which needs all nodes", "the same", maven("redisson"),
           variant="multilock", only=("stalled",), settles_s=3),
    Driver("redlock 4", "Node", "4.2.0", f"{NODE_SETTINGS}; asks again after 200–300 ms", "polling", npm("redlock4")),
    Driver("redlock 5", "Node", "5.0.0-beta.2", f"{NODE_SETTINGS}; asks again after 100–300 ms", "polling", npm("redlock5")),
    Driver("redlock-universal", "Node", "0.8.5", f"{NODE_SETTINGS}; asks again after 200 ms", "polling",
           npm("redlock_universal")),
    Driver("pottery", "Python", "3.0.1, redis 8.1.0", "`AIORedlock`, hiredis parser, a connection for each command in flight; "
           "asks again after 0–200 ms", "polling",
           pip("pottery"), settles_s=3),
    Driver("redlock-ng", "Python", "2.0.4, redis 5.3.1", "`AsyncRedlock`, hiredis parser; asks again after 100–300 ms",
           "polling", pip("redlock_ng"), settles_s=3),
    Driver("rslock", "Rust", "0.10.0", "Tokio, one connection a node; asks again after 0–200 ms", "polling", cargo("rslock")),
    Driver("etcd", "Go", ETCD, f"`concurrency.Mutex`, {SESSIONS}; members' files in memory", "a watch of the key of who came before",
           go("etcd", "etcd"), own_pause=False, only=tuple(kind for kind in points.LOCKS if kind != "stalled"), servers=servers.etcd),
]

ALL += [replace(each, name=f"{each.name}, timeouts", settings=f"the same with {how}", variant="timeouts", only=("stalled",))
        for each, how in ((next(known for known in ALL if known.name == name), how) for name, how in (
            ("redsync", "`ReadTimeout` 50 ms, `MaxRetries` -1"), ("Redisson", "`setTimeout(50)`, `setRetryAttempts(0)`"),
            ("redlock 4", "`commandTimeout` 50 ms"), ("redlock-universal", "`commandTimeout` 50 ms"),
            ("pottery", "`socket_timeout` 50 ms")))]

OURS = cmake("comparison_asio_redlock")
ALL += [
    Driver("asio-redlock semaphore", "C++", "this tree", "`semaphore`, defaults: 10 s, renewed", "a queue in the client; a queue on one "
           "server, push from it", OURS, only=("permits",)),
    Driver("asio-redlock shared_mutex", "C++", "this tree", "`shared_mutex`, defaults: 10 s, renewed", "a queue in the client; a queue on "
           "one server, push from it", OURS, only=("readers",)),
    Driver("asio-redlock mutex", "C++", "this tree", "`mutex`, defaults; a reference: one holder at a time, who hands over", "a queue in "
           "the client; a queue on one server, push from it", OURS, variant="mutex", only=points.FURTHER, exclusive=True),
    Driver("redis-semaphore", "Node", "5.8.0", f"`RedlockSemaphore` (`Semaphore` where N = 1), renewed; {NODE_SETTINGS}; asks again "
           "after 10 ms", "polling", npm("redis_semaphore"), only=("permits",)),
    Driver("Redisson semaphore", "Java", "3.52.0", "`RPermitExpirableSemaphore`, `acquire(10, SECONDS)`, not renewed; pool of 64",
           "publish/subscribe", maven("redisson"), variant="semaphore", only=("permits",), most_nodes=1, settles_s=3),
    Driver("Redisson read-write", "Java", "3.52.0", "`RReadWriteLock`, `lock()` with the watchdog; pool of 64", "publish/subscribe",
           maven("redisson"), variant="read-write", only=("readers",), most_nodes=1, settles_s=3),
    Driver("asio-redlock election", "C++", "this tree", "`election`, defaults: 10 s, renewed", "a queue on one server, push from it", OURS,
           only=points.ELECTIONS),
    Driver("etcd election", "Go", ETCD, f"`concurrency.Election`, {SESSIONS}", "a watch of the candidate before it", go("etcd", "etcd"),
           only=points.ELECTIONS, servers=servers.etcd),
    Driver("asio-redlock multi_mutex", "C++", "this tree", "`multi_mutex`, defaults: 10 s, renewed", "queues of all its names in the client; "
           "the queue of the name that is taken on one server, push from it", OURS, only=points.SEVERAL),
    Driver("Redisson MultiLock of names", "Java", "3.52.0", "`RedissonMultiLock` of a `RedissonRedLock` (`RLock` where N = 1) for each name, "
           "in one order; `lock()` with the watchdog", "publish/subscribe, and asks again", maven("redisson"), variant="names",
           only=points.SEVERAL, settles_s=3),
]

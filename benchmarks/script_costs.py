#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""script_costs.py BUILD_DIR [SERVER]: a server's time for each request of each kind of lock, and the commands inside its script.

The requests are sent one behind the other, each about another lock. The server's own statistics count time and commands.
Medians of five rounds."""

import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

LOCKS = 4000
NAMES = 4
MS = 30000


class Server:
    def __init__(self, program):
        with socket.socket() as place:
            place.bind(("127.0.0.1", 0))
            port = place.getsockname()[1]
        self.process = subprocess.Popen([program, "--bind", "127.0.0.1", "--port", str(port), "--save", ""], stdout=subprocess.DEVNULL)
        while self.process.poll() is None:
            try:
                self.socket = socket.create_connection(("127.0.0.1", port))
                break
            except ConnectionRefusedError:
                time.sleep(0.01)
        self.file = self.socket.makefile("rb")

    def read(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2].decode()
        if kind == b"-":
            raise SystemExit(rest)
        if kind == b"$":
            return self.file.read(int(rest) + 2)[:-2].decode() if rest != "-1" else None
        return [self.read() for _ in range(int(rest))] if kind == b"*" else rest

    def ask(self, commands):
        replies = []
        for begin in range(0, len(commands), 200):
            some = commands[begin:begin + 200]
            self.socket.sendall("".join(f"*{len(each)}\r\n" + "".join(f"${len(str(word))}\r\n{word}\r\n" for word in each)
                                        for each in some).encode())
            replies += [self.read() for _ in some]
        return replies

    def statistics(self):
        told = self.ask([["INFO", "commandstats"]])[0]
        return {name: (int(calls), float(usec)) for name, calls, usec in re.findall(r"cmdstat_([^:]+):calls=(\d+),usec=(\d+)", told)}


def embedded(build):
    """The scripts as they are sent, by name."""
    return dict(re.findall(r'script (\w+)\{R"lua\((.*?)\)lua"', (build / "generated/redis/scripts.hpp").read_text(), re.S))


def requests(sha):
    """Rows: kind, request, commands before it, the request. Each makes its words from the number of a lock."""
    def call(script, keys, *words):
        return ["EVALSHA", sha[script], len(keys), *keys, *words]

    def nonce(i):
        return f"{i:032x}"

    def lock(i):
        return [f"lock:{i}", f"lock:{i}:redlock-queue"]

    def fenced(i):
        return [*lock(i), f"lock:{i}:redlock-fence", "redlock-marker"]

    def names(i, suffix=""):
        return [f"lock:{i}:{name}{suffix}" for name in range(NAMES)]

    def plain(i):
        return ["SET", lock(i)[0], nonce(i), "NX", "PX", MS]

    def fenced_vote(i):
        return call("vote", fenced(i), "x", nonce(i), MS, "", 10 * MS, 1, "")

    def reader(i, owner=0):
        return call("vote", lock(i), "r", nonce(i + owner), MS, "")

    def permit(i, owner=0):
        return call("vote", lock(i), "p", nonce(i + owner), MS, "", 1, 8, 0, "", "")

    def several(i):
        return call("multi_vote", names(i), NAMES, nonce(i), MS, "")

    def position(i):
        return nonce(i + LOCKS) + "x0000050" + "00000000" + "redlock-to:" + nonce(1)

    def give_back(i, kind, word, permits=""):
        return call("give_back", lock(i), kind, nonce(i), "", word, 0, permits)

    return [
        ("plain", "vote", [], plain),
        ("plain", "extension", [plain], lambda i: call("extend", lock(i)[:1], nonce(i), MS)),
        ("plain", "release", [plain], lambda i: call("release", lock(i)[:1], nonce(i))),
        ("plain", "entry into the queue", [plain], lambda i: call("enter", lock(i), position(i), 60000, 4096, "")),
        ("plain", "release through the queue", [plain], lambda i: give_back(i, "x", "take")),
        ("fenced", "vote", [lambda i: ["SET", fenced(i)[2], 0]], fenced_vote),
        ("fenced", "extension", [fenced_vote],
         lambda i: call("fenced_extend", [fenced(i)[0], *fenced(i)[2:]], MS, 10 * MS, nonce(i), 1, "")),
        ("reader", "vote, free", [], reader),
        ("reader", "vote, another reads", [reader], lambda i: reader(i, LOCKS)),
        ("reader", "extension", [reader], lambda i: call("renew", lock(i), "r", nonce(i), MS, "")),
        ("reader", "release", [reader], lambda i: give_back(i, "r", "take")),
        ("permit", "vote, free", [], permit),
        ("permit", "vote, one taken", [permit], lambda i: permit(i, LOCKS)),
        ("permit", "extension", [permit], lambda i: call("renew", lock(i), "p", nonce(i), MS, "0")),
        ("permit", "release", [permit], lambda i: give_back(i, "p", "take", "0")),
        ("four names", "vote", [], several),
        ("four names", "extension", [several], lambda i: call("multi_extend", names(i), NAMES, nonce(i), MS, "")),
        ("four names", "release", [several],
         lambda i: call("multi_release", [*names(i), *names(i, ":redlock-queue")], nonce(i), NAMES, "take", 0)),
    ]


def measure(server, before, request):
    """Returns microseconds, and the commands inside."""
    for each in before:
        server.ask([each(i) for i in range(LOCKS)])
    asked = [request(i) for i in range(LOCKS)]
    server.ask([["CONFIG", "RESETSTAT"]])
    server.ask(asked)
    told = server.statistics()
    server.ask([["FLUSHALL"]])
    inside = {name: calls / LOCKS for name, (calls, _) in told.items() if name not in ("evalsha", "config|resetstat", "info")}
    return told[asked[0][0].lower()][1] / LOCKS, inside


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    server = Server(sys.argv[2] if len(sys.argv) > 2 else "redis-server")
    try:
        sha = {name: server.ask([["SCRIPT", "LOAD", text]])[0] for name, text in embedded(Path(sys.argv[1])).items()}
        print("| Kind | Request | us | Commands | |\n|---|---|---|---|---|")
        for kind, what, before, request in requests(sha):
            rounds = [measure(server, before, request) for _ in range(5)]
            inside = rounds[0][1]
            listed = ", ".join(name if calls == 1 else f"{calls:g} {name}" for name, calls in sorted(inside.items()))
            print(f"| {kind} | {what} | {median(us for us, _ in rounds):.1f} | {sum(inside.values()):g} | {listed} |")
    finally:
        server.process.terminate()
        server.process.wait()


if __name__ == "__main__":
    main()

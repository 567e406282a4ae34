#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Server CPU of a cycle of plain locks, with the server's commands that compare and with scripts (rule K8).

Three servers for each kind of server named; the same servers are asked by a user that may use the commands and by one that
may not, in turns (native, scripts, native, scripts ...), each time in a fresh process. The figures are medians over the
rounds; the ratio is the median of the rounds' own."""
import argparse
import os
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

USERS = ("native", "scripts")
IN_MEMORY = ["--save", "", "--appendonly", "no"]


def free_port():
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


class Server:
    def __init__(self, program, cpu, directory):
        self.port = free_port()
        self.process = subprocess.Popen(
            [program, "--bind", "127.0.0.1", "--port", str(self.port), *IN_MEMORY], cwd=directory,
            stdout=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        while self.process.poll() is None:
            try:
                return self.add_users()
            except ConnectionRefusedError:
                time.sleep(0.01)
        raise SystemExit(f"{program} does not start")

    def add_users(self):
        for name in USERS:
            self.ask(f"ACL SETUSER {name} on nopass ~* &* +@all")
        for command in ("delex", "delifeq"):  # each server knows one of them, and refuses the other
            self.ask(f"ACL SETUSER scripts -{command}")

    def ask(self, command):
        with socket.create_connection(("127.0.0.1", self.port)) as peer:
            peer.sendall(f"{command}\r\nQUIT\r\n".encode())
            return peer.makefile().read()

    def end(self):
        self.process.kill()
        self.process.wait()

    def cpu_us(self):
        """The CPU time of all its threads."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1000

    def executed(self, command):
        """How often, and how many microseconds each time took inside the server."""
        for line in self.ask("INFO commandstats").splitlines():
            name, _, figures = line.partition(":")
            if name == f"cmdstat_{command}":
                told = dict(pair.split("=") for pair in figures.split(","))
                return int(told["calls"]), int(told["usec"])
        return 0, 0


def measure(cycles_program, cpu, servers, user, concurrency, cycles):
    """Server CPU and client CPU in microseconds a cycle."""
    urls = [f"redis://{user}:any@127.0.0.1:{server.port}" for server in servers]
    before = sum(server.cpu_us() for server in servers)
    client = subprocess.Popen([cycles_program, str(concurrency), str(cycles), *urls],
                              preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    _, status, used = os.wait4(client.pid, 0)
    if status != 0:
        raise SystemExit(f"{cycles_program} failed")
    spent = sum(server.cpu_us() for server in servers) - before
    return spent / cycles, (used.ru_utime + used.ru_stime) * 1e6 / cycles


def compare(program, what, cpus):
    with ExitStack() as ending:
        directory = ending.enter_context(tempfile.TemporaryDirectory())
        servers = [Server(program, cpus[1], directory) for _ in range(3)]
        for server in servers:
            ending.callback(server.end)
        for concurrency in what.concurrency:
            cycles = what.cycles if concurrency > 1 else what.cycles // 5
            rounds = {user: [] for user in USERS}
            for number in range(what.rounds + 1):
                for user in USERS:
                    one = measure(what.build / "benchmarks/redlock_cycles", cpus[0], servers, user, concurrency, cycles)
                    if number:  # the first warms up
                        rounds[user].append(one)
            figures = {user: [median(side) for side in zip(*all_of_it)] for user, all_of_it in rounds.items()}
            ratio = [median(n / s for n, s in zip(*(list(zip(*rounds[user]))[side] for user in USERS))) for side in (0, 1)]
            print(f"C = {concurrency}: servers {figures['native'][0]:.2f} us a cycle natively, {figures['scripts'][0]:.2f} by "
                  f"scripts, {ratio[0]:.2f}; client {figures['native'][1]:.2f}, {figures['scripts'][1]:.2f}, {ratio[1]:.2f}",
                  flush=True)
        for command in ("set", "delex", "delifeq", "evalsha"):
            calls, spent = map(sum, zip(*(server.executed(command) for server in servers)))
            if calls:
                print(f"    {command}: {calls} times, {spent / calls:.2f} us inside the server")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="build directory with the benchmarks")
    parser.add_argument("servers", nargs="+", metavar="SERVER", help="programs: Redis from 8.4 on, Valkey from 9.0 on")
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 16, 256], metavar="C")
    parser.add_argument("--cycles", type=int, default=50000, help="of one measurement; a fifth with C = 1")
    parser.add_argument("--rounds", type=int, default=9)
    what = parser.parse_args()
    allowed = sorted(os.sched_getaffinity(0))
    for program in what.servers:
        print(subprocess.check_output([program, "--version"], text=True).strip(), flush=True)
        compare(program, what, (allowed[0], allowed[-1]))


if __name__ == "__main__":
    main()

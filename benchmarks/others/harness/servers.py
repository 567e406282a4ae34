# SPDX-License-Identifier: BSL-1.0
"""redis-servers of our own on free loopback ports, and what they and the kernel tell."""
import os
import signal
import socket
import subprocess
import time


def cpu_seconds(pid):
    """All threads of a process, dead ones included, by its CPU clock."""
    return time.clock_gettime((~pid << 3) | 2)


def busy_seconds():
    """The busy time of all CPUs, for all processes."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq = map(int, file.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def pinned(cpus):
    return lambda: os.sched_setaffinity(0, cpus)


class Server:
    def __init__(self, cpus):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "no",
             "--maxclients", "20000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=pinned(cpus))
        self.connection = self.connect()

    def connect(self):
        deadline = time.monotonic() + 10
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.port), timeout=10)
            except ConnectionRefusedError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.01)

    def commands(self):
        """Calls of every command so far, those inside scripts included, our own INFO not."""
        self.connection.sendall(b"INFO commandstats\r\n")
        told = b""
        while not (b"\r\n" in told and len(told) >= int(told[1:told.index(b"\r\n")]) + told.index(b"\r\n") + 4):
            told += self.connection.recv(65536)
        calls = {}
        for line in told.decode().splitlines():
            if line.startswith("cmdstat_") and not line.startswith("cmdstat_info"):
                name, fields = line[len("cmdstat_"):].split(":", 1)
                calls[name] = int(fields.split(",", 1)[0].split("=")[1])
        return calls

    def stall(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def end(self):
        self.connection.close()
        self.process.kill()
        self.process.wait()


class Fleet:
    def __init__(self, count, cpus):
        self.all = []
        try:
            for _ in range(count):
                self.all.append(Server(cpus))
        except BaseException:
            self.__exit__()
            raise
        self.stalled = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in self.all:
            each.end()

    def stall_one(self):
        self.stalled = self.all[-1]
        self.stalled.stall()

    def commands(self):
        total = {}
        for each in self.all:
            if each is not self.stalled:
                for name, calls in each.commands().items():
                    total[name] = total.get(name, 0) + calls
        return total

    def cpu_seconds(self):
        return sum(cpu_seconds(each.process.pid) for each in self.all)

    def addresses(self):
        return ",".join(f"127.0.0.1:{each.port}" for each in self.all)

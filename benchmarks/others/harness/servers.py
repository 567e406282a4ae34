# SPDX-License-Identifier: BSL-1.0
"""redis-servers and etcd members of our own on free loopback ports, and what they and the kernel tell."""
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path


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


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    def __init__(self, cpus):
        self.port = free_port()
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


class Member:
    """One of an etcd cluster. Its files are in memory, where there is a file system for that."""

    def __init__(self, cpus, port, peers):
        self.port = port
        memory = Path("/dev/shm")
        self.files = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
        mine, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peers[port]}"
        self.process = subprocess.Popen(
            ["etcd", "--name", str(port), "--data-dir", self.files.name, "--listen-client-urls", mine, "--advertise-client-urls", mine,
             "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster",
             ",".join(f"{name}=http://127.0.0.1:{its}" for name, its in peers.items()), "--logger", "zap", "--log-level", "error"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=pinned(cpus))

    def ask(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{path}", timeout=10) as told:
            return told.read().decode()

    def wait_until_ready(self):
        deadline = time.monotonic() + 30
        while True:
            try:
                self.ask("health")
                return
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.05)

    def commands(self):
        """Messages of clients so far, by gRPC method."""
        found = re.findall(r'^grpc_server_msg_received_total{grpc_method="(\w+)".*} (\S+)$', self.ask("metrics"), re.M)
        return {name: int(float(calls)) for name, calls in found if float(calls)}

    def end(self):
        self.process.kill()
        self.process.wait()
        self.files.cleanup()


def redis(count, cpus):
    for _ in range(count):
        yield Server(cpus)


def etcd(count, cpus):
    """The members are ready when the last has been taken."""
    peers = {free_port(): free_port() for _ in range(count)}
    members = []
    for port in peers:
        members.append(Member(cpus, port, peers))
        yield members[-1]
    for each in members:
        each.wait_until_ready()


class Fleet:
    def __init__(self, start):
        self.all = []
        try:
            for each in start:
                self.all.append(each)
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

# SPDX-License-Identifier: BSL-1.0
"""One measurement: fresh servers, the driver's processes, one window."""
import json
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from . import samples
from .servers import Fleet, busy_seconds, cpu_seconds, pinned


class Failed(Exception):
    pass


class Process:
    def __init__(self, command, cpus, limit):
        self.errors = tempfile.TemporaryFile()
        self.popen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                      preexec_fn=pinned(cpus))
        self.alarm = threading.Timer(limit, self.popen.kill)
        self.alarm.daemon = True
        self.alarm.start()

    def line(self):
        told = self.popen.stdout.readline().decode()
        if not told:
            self.errors.seek(0)
            raise Failed("ended or hung without a result: " + self.errors.read()[-300:].decode(errors="replace").strip())
        return told

    def wait_until_ready(self):
        while self.line().strip() != "ready":
            pass

    def start(self, begins, ends):
        self.popen.stdin.write(f"{begins} {ends}\n".encode())
        self.popen.stdin.flush()

    def cpu_seconds(self):
        try:
            return cpu_seconds(self.popen.pid)
        except OSError as error:
            raise Failed("ended within the window") from error

    def end(self):
        self.alarm.cancel()
        self.popen.kill()
        self.popen.wait()
        for stream in (self.popen.stdin, self.popen.stdout, self.errors):
            try:
                stream.close()
            except BrokenPipeError:
                pass


def sleep_until(moment_ns):
    time.sleep(max(0, moment_ns - time.monotonic_ns()) / 1e9)


def reading(fleet, processes):
    """CPU first: asking the servers costs them."""
    return {"at": time.monotonic(), "client": sum(each.cpu_seconds() for each in processes),
            "servers": fleet.cpu_seconds(), "all": busy_seconds(), "commands": fleet.commands()}


def window(fleet, processes, warm_up, seconds):
    begins = time.monotonic_ns() + int(warm_up * 1e9)
    ends = begins + int(seconds * 1e9)
    for each in processes:
        each.start(begins, ends)
    sleep_until(begins)
    before = reading(fleet, processes)
    sleep_until(ends - 2_000_000)  # a driver ends itself when the window is over
    return before, reading(fleet, processes), [json.loads(each.line()) for each in processes]


def latencies(point, columns, exclusive):
    if point.workload == "cycles":
        return samples.cycles(columns)
    if point.workload == "permits":
        return samples.permits(columns, 1 if exclusive else point.permits, point.workers)
    if point.workload == "several":
        return samples.several(columns, point.workers)
    if point.workload == "readers":
        return samples.readers(columns, point.workers, exclusive)
    return samples.hand_offs(columns, point.workload == "convoy")


def summary(point, columns, before, after, told, exclusive):
    took = after["at"] - before["at"]
    done = sum(each["done"] for each in told)
    calls = {name: count - before["commands"].get(name, 0) for name, count in after["commands"].items()}
    client, servers = after["client"] - before["client"], after["servers"] - before["servers"]
    failures = {}
    for one in told:
        for text, count in one["failures"].items():
            failures[text] = failures.get(text, 0) + count
    each = (lambda amount: amount / done) if done else (lambda amount: None)
    out = {"done": done, "rate": done / took, "client_us": each(1e6 * client), "server_us": each(1e6 * servers),
           "client_share": client / took, "server_share": servers / took,
           "neighbours_share": max(0.0, (after["all"] - before["all"] - client - servers) / took),
           "commands_each": each(sum(calls.values())), "calls": {k: v for k, v in calls.items() if v},
           "failures": failures}
    return out | latencies(point, columns, exclusive)


def measure(driver, built, point, cpus, warm_up, seconds, run):
    with tempfile.TemporaryDirectory() as folder, Fleet(driver.servers(point.nodes, cpus["servers"])) as fleet:
        files = [Path(folder) / str(index) for index in range(point.processes)]
        processes = []
        try:
            for file in files:
                words = [*driver.command(built), "--nodes", fleet.addresses(), "--workload", point.workload,
                         "--workers", str(point.workers // point.processes), "--hold-us", str(point.hold_us),
                         "--samples", str(file), "--run", run]
                if point.pause_ms:
                    words += ["--pause-ms", point.pause_ms]
                if point.permits:
                    words += ["--permits", str(point.permits)]
                processes.append(Process(words, cpus["client"], 60 + warm_up + seconds))
            for each in processes:
                each.wait_until_ready()
            if point.kind == "stalled":
                fleet.stall_one()
            before, after, told = window(fleet, processes, warm_up + driver.settles_s, seconds)
            for each in processes:
                each.popen.wait()
            return summary(point, samples.read(files), before, after, told, driver.exclusive)
        finally:
            for each in processes:
                each.end()

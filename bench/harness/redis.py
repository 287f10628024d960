# SPDX-License-Identifier: BSL-1.0
"""The benchmark of Redis clients: each peer is a program on one CPU that calls a redis-server on another, and its own
CPU time is divided by its commands."""
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from . import machine
from .serving import TIMEOUT_S, end, free_port, start, wait_until_accepted

KEY, VALUE = "k16", "0123456789abcdef"  # macro/common/redis_calls.hpp
# How many commands redis-benchmark sends, which cannot be told to end after a time: about as long as the others.
COMMANDS = {1: 8_000, 50: 100_000, 1000: 500_000}


def callers_of(case):
    return int(case.partition("-")[2])


def batches(count, pipelined):
    """`count`, made a whole number of pipelines, which is what redis-benchmark sends."""
    return max(1, count // pipelined) * pipelined


def cpu_and_wall_ns(command, cpu):
    """Runs a program to its end. Gives the CPU time of the process, and how long it took."""
    began = time.monotonic_ns()
    process = start(command, cpu, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        said = process.stdout.read().decode()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        end(process)
    if process.returncode != 0 or "rror" in said:
        raise machine.RunError(f"{' '.join(command)}: status {process.returncode}\n{said.strip()}")
    return round((used.ru_utime + used.ru_stime) * 1e9), time.monotonic_ns() - began


class RedisCalls:
    """Peers that are clients. `programs` runs them; redis-benchmark and the server are those of the system."""

    def __init__(self, programs):
        self.programs, self.duration_ms = programs, programs.duration_ms
        self.folder = self.server = self.port = None

    def __enter__(self):
        if not shutil.which("redis-server"):
            raise machine.RunError("redis-server is not installed (Debian: redis-server)")
        self.folder = Path(tempfile.mkdtemp(prefix="beck-redis-"))  # short: the path of a UNIX socket is
        self.port = free_port()
        command = ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--dir"]
        command += [str(self.folder), "--unixsocket", str(self.socket()), "--daemonize", "no"]
        self.server = start(command, self.programs.other_cpu, stdout=subprocess.DEVNULL)
        try:
            wait_until_accepted(self.port, self.server, "redis-server")
            self.set_value()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        end(self.server)
        shutil.rmtree(self.folder)

    def socket(self):
        return self.folder / "socket"

    def set_value(self):
        command = ["redis-cli", "-p", str(self.port), "SET", KEY, VALUE]
        if machine.run(command, TIMEOUT_S).strip() != "OK":
            raise machine.RunError("redis-server does not take the value")

    def missing(self, slot):
        """Why the slot cannot run, or ""."""
        if slot.peer == "redis-benchmark":
            return "" if shutil.which("redis-benchmark") else "redis-benchmark is not installed"
        return self.programs.missing(slot)

    def run(self, slot, warm_up):
        is_local = slot.case.name.startswith("unix")
        if slot.peer == "redis-benchmark":
            place = ["-s", str(self.socket())] if is_local else ["-p", str(self.port)]
            return self.benchmark(place, callers_of(slot.case.name), warm_up)
        place = ["--path", str(self.socket())] if is_local else ["--port", str(self.port)]
        return self.programs.run(slot, warm_up, place)

    def benchmark(self, place, pipelined, warm_up):
        """Its start is not counted, as that of the others is not: a run of one pipeline is subtracted."""
        few = pipelined
        many = few + batches(COMMANDS[pipelined] // (5 if warm_up else 1), pipelined)
        (less, less_wall), (more, more_wall) = (
            cpu_and_wall_ns(self.benchmark_command(place, pipelined, count), self.programs.cpu)
            for count in (few, many)
        )
        if more <= less:
            raise machine.RunError("redis-benchmark: too few commands to be measured")
        return {
            "cpu_ns_per_op": (more - less) / (many - few),
            "wall_ns_per_op": (more_wall - less_wall) / (many - few),
        }

    @staticmethod
    def benchmark_command(place, pipelined, count):
        return ["redis-benchmark", *place, "-c", "1", "-P", str(pipelined), "-n", str(count), "-q", "GET", KEY]

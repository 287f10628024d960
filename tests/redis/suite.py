#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs Redis' own test suite against redis-servers behind beck-redis-proxy, a fresh pair for each unit.

usage: suite.py BECK_REDIS_PROXY SOURCES [--direct] [--shared] [--singledb] [UNIT...]
SOURCES: the folder of the sources of Redis 7.0
"""
import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

UNIT_LIMIT_S = 300
START_LIMIT_S = 30
# Tests that cannot run against a server that the suite has not started, or not through a proxy, with the reason.
SKIPPED = {
    "SRANDMEMBER with a dict containing long chain": "it needs the process id of the server",
}
# The same with --shared. Two clients send without waiting for each other, and the test expects that the first one's
# command is first; but that one blocks, and so comes after a new connection of its own is made.
SKIPPED_SHARED = dict.fromkeys(
    (
        "Blocking XREADGROUP: key deleted",
        "Blocking XREADGROUP: key type changed with SET",
        "Blocking XREADGROUP: key type changed with transaction",
        "Blocking XREADGROUP: flushed DB",
        "Blocking XREAD: key deleted",
        "Blocking XREAD: key type changed with SET",
    ),
    "it expects an order of the commands of two connections that do not wait for each other",
)
SKIPPED_SHARED |= dict.fromkeys(
    (
        "After CLIENT SETNAME, connection can still be closed",
        "query buffer resized correctly",
        "query buffer resized correctly when not idle",
        "verify reply buffer limits",
    ),
    "it looks for the name in CLIENT LIST, and the proxy keeps the names of clients that share",
)


class Failed(Exception):
    pass


def units_of(sources):
    """Returns the units of the suite that need one server only."""
    text = (sources / "tests/test_helper.tcl").read_text()
    listed = re.search(r"set ::all_tests \{(.*?)\}", text, re.S)[1].split()
    return [unit for unit in listed if unit.startswith("unit/")]


def skipped(asked):
    """Returns the tests that are left out, with the reasons."""
    return SKIPPED | (SKIPPED_SHARED if asked.shared else {})


def wait_for(path, text, process):
    """Waits until the log of a program has the text."""
    end = time.monotonic() + START_LIMIT_S
    while not re.search(text, path.read_text(errors="replace")):
        if process.poll() is not None or time.monotonic() > end:
            raise Failed(f"{process.args[0]} does not begin: {path.read_text(errors='replace')[-2000:]}")
        time.sleep(0.01)
    return re.search(text, path.read_text(errors="replace"))


def start(command, log, folder):
    with log.open("w") as output:
        return subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, cwd=folder)


def stop(process):
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Pair:
    """A redis-server with the settings of the suite, and a proxy in front of it."""

    def __init__(self, proxy, options, sources, folder):
        self.processes = []
        self.port = free_port()
        log = folder / "server.log"
        config = (sources / "tests/assets/default.conf").read_text()
        (folder / "redis.conf").write_text(config + f"\nport {self.port}\npidfile {folder}/pid\n")
        self.processes.append(start(["redis-server", str(folder / "redis.conf")], log, folder))
        wait_for(log, "eady to accept", self.processes[-1])
        if proxy is None:
            return
        log = folder / "proxy.log"
        command = [str(proxy), *options, "--port", "0", f"redis://127.0.0.1:{self.port}"]
        self.processes.append(start(command, log, folder))
        self.port = int(wait_for(log, r"listening: tcp://127\.0\.0\.1:(\d+)", self.processes[-1])[1])

    def ended(self):
        """Returns the name of a program that has ended, or nothing."""
        return next((one.args[0] for one in self.processes if one.poll() is not None), None)

    def stop(self):
        for one in reversed(self.processes):
            stop(one)


class Counts:
    def __init__(self, text=""):
        text = re.sub(r"\x1b\[[0-9;]*m", "", text)
        self.ok = len(re.findall(r"^\[ok\]", text, re.M))
        self.ignored = len(re.findall(r"^\[ignore\]", text, re.M))
        self.errors = re.findall(r"^\[(?:err|exception)\].*", text, re.M)

    def add(self, other):
        self.ok += other.ok
        self.ignored += other.ignored
        self.errors += other.errors

    def __str__(self):
        return f"{self.ok:5} ok {len(self.errors):3} err {self.ignored:4} ignored"


def run_unit(unit, proxy, asked):
    """Runs a unit. Returns its counts, and its output."""
    sources, options = asked.sources.resolve(), ["--shared"] * asked.shared
    with tempfile.TemporaryDirectory(prefix="beck-suite-") as folder:
        folder = Path(folder)
        pair = Pair(proxy, options, sources, folder)
        try:
            command = ["tclsh", "tests/test_helper.tcl", "--host", "127.0.0.1", "--port", str(pair.port)]
            command += ["--single", unit] + ["--singledb"] * asked.singledb
            for name in skipped(asked):
                command += ["--skiptest", name]
            try:
                done = subprocess.run(command, cwd=sources, stdin=subprocess.DEVNULL, capture_output=True,
                                      timeout=UNIT_LIMIT_S)  # fmt: skip
                output, status = done.stdout.decode(errors="replace"), done.returncode
            except subprocess.TimeoutExpired as late:
                output, status = (late.stdout or b"").decode(errors="replace"), f"none after {UNIT_LIMIT_S} s"
            counts = Counts(output)
            if status != 0 and not counts.errors:
                counts.errors.append(f"the suite's status is {status}: {output[-500:]}")
            if gone := pair.ended():
                counts.errors.append(f"{gone} has ended")
            return counts, output
        finally:
            pair.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("proxy", type=Path)
    parser.add_argument("sources", type=Path)
    parser.add_argument("--direct", action="store_true", help="without the proxy, to compare")
    parser.add_argument("--shared", action="store_true", help="the proxy shares connections to the server")
    parser.add_argument("--singledb", action="store_true", help="without SELECT, which --shared cannot share")
    parser.add_argument("units", nargs="*", metavar="UNIT", help="such as unit/type/list; none: all")
    asked = parser.parse_intermixed_args()
    known = units_of(asked.sources)
    for unit in asked.units:
        if unit not in known:
            parser.error(f"there is no unit {unit}; there are: {', '.join(known)}")
    for name, reason in skipped(asked).items():
        print(f"skipped: {name}: {reason}")
    begin, total = time.monotonic(), Counts()
    proxy = None if asked.direct else asked.proxy.resolve()
    logs = Path(os.environ.get("BECK_SUITE_LOGS", "build/logs/redis-suite")).resolve()
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    for unit in asked.units or known:
        unit_begin = time.monotonic()
        counts, output = run_unit(unit, proxy, asked)
        (logs / f"{unit.replace('/', '-')}.log").write_text(output)
        total.add(counts)
        print(f"{unit:28} {counts} {time.monotonic() - unit_begin:6.1f} s", flush=True)
        for error in counts.errors:
            print(f"    {error}", flush=True)
    print(f"{'total':28} {total} {time.monotonic() - begin:6.1f} s; logs: {logs}")
    return 1 if total.errors else 0


if __name__ == "__main__":
    sys.exit(main())

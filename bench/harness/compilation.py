# SPDX-License-Identifier: BSL-1.0
"""The benchmark without a program: how long the compiler takes for an echo server, and how much it has to read."""
import os
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

from .machine import RunError

FLAGS = ["-std=c++20", "-O2", "-pthread"]
TIMEOUT_S = 120
# The examples of the library, which do what the peers in bench/compile do.
BECK_FILES = {
    "callback": ("examples/echo_server_callback.cpp", "examples/echo_callback.cpp"),
    "coroutine": ("examples/echo_server_coroutine.cpp", "examples/echo_server.cpp", "examples/echo_coroutine.cpp"),
}
ASIO_URING = ["-DASIO_HAS_IO_URING", "-DASIO_DISABLE_EPOLL"]


class Compilations:
    def __init__(self, root):
        self.root = root
        self.compiler = os.environ.get("CXX", "g++")
        self.duration_ms = 0

    def source(self, slot):
        """The file to compile, relative to the root, and the flags that only this peer needs."""
        if slot.peer.startswith("beck-"):
            candidates = BECK_FILES[slot.case.name]
            return next((c for c in candidates if (self.root / c).exists()), candidates[0]), ["-Iinclude"]
        if slot.peer == "raw":
            return "bench/compile/base.cpp", []
        return f"bench/compile/asio_echo_{slot.case.name}.cpp", ASIO_URING if slot.peer == "asio-uring" else []

    def missing(self, slot):
        path, _ = self.source(slot)
        return "" if (self.root / path).exists() else f"{path} is not there"

    def run(self, slot, warm_up):
        path, flags = self.source(slot)
        command = [self.compiler, *FLAGS, *flags, path]
        text = self.call(command + ["-E"])[0]
        # Of code, as tools/budgets.py counts: documentation leaves blank lines, which cost nothing.
        lines = sum(1 for line in text.splitlines() if line.strip() and not line.startswith("#"))
        with tempfile.TemporaryDirectory() as folder:
            _, usage = self.call(command + ["-c", "-o", str(Path(folder) / "echo.o")])
        return {
            "cpu_ns_per_op": usage.ru_utime * 1e9,
            "system_ns_per_op": usage.ru_stime * 1e9,
            "code_lines": lines,
            "peak_mb": usage.ru_maxrss / 1024,
        }

    def call(self, command):
        """Runs the compiler; gives its output and what it used together with its children."""
        environment = os.environ | {"CCACHE_DISABLE": "1"}
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                command, cwd=self.root, stdout=output, stderr=errors, env=environment, start_new_session=True
            )
            watchdog = threading.Timer(TIMEOUT_S, os.killpg, (process.pid, signal.SIGKILL))
            watchdog.start()
            _, status, usage = os.wait4(process.pid, 0)
            watchdog.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            errors.seek(0)
            if process.returncode != 0:
                raise RunError(f"{' '.join(command)} failed\n{errors.read()[-2000:]}")
            return output.read(), usage


def add_base(samples):
    """Adds what a compilation costs above the base file of the same round."""
    for (case, _), rounds in samples.items():
        for sample, base in zip(rounds, samples.get((case, "raw"), ())):
            sample["above_base_s"] = (sample["cpu_ns_per_op"] - base["cpu_ns_per_op"]) / 1e9

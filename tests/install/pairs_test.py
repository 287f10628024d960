#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compiles the consumer's ping-pong against an installed package, from a folder of its own, and counts the system
calls that it makes: the library enters the kernel once a turn and not once an operation.

usage: pairs_test.py PREFIX          where beck was installed
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "consumer" / "pairs.cpp"
TOSSES = 200
MESSAGES = 2 * 100 * TOSSES
LIMIT_S = 60
prefix = Path(".")


def call(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def compile_into(folder):
    packages = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    flags = call("pkg-config", "--cflags", "--libs", "beck", env=packages).split()
    call("g++", "-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", str(SOURCE), *flags, "-o", "pairs", cwd=folder)


def counts_of_calls(folder, backend):
    """Runs the program under strace; gives how often it made each system call."""
    command = ["strace", "-f", "-c", "-o", "calls", "./pairs", str(TOSSES)]
    said = call(*command, cwd=folder, env=os.environ | {"BECK_BACKEND": backend})
    counts = {}
    for line in (Path(folder) / "calls").read_text(encoding="utf-8").splitlines():
        row = re.fullmatch(r" *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)", line)
        if row:
            counts[row[2]] = int(row[1])
    return said, counts


def entries_in(said):
    """The entries that the program counted."""
    return int(re.search(r", (\d+) entries$", said, re.MULTILINE)[1])


class Pairs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        compile_into(cls.folder.name)
        cls.said, cls.counts = counts_of_calls(cls.folder.name, os.environ.get("BECK_BACKEND", "automatic"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_every_message_is_sent(self):
        self.assertRegex(self.said, f"^{MESSAGES} messages on ")

    def test_a_message_costs_one_send(self):
        sends = sum(self.counts.get(name, 0) for name in ("sendto", "sendmsg", "write"))
        self.assertLess(sends, 1.01 * MESSAGES)

    def test_the_loop_enters_the_kernel_at_most_once_for_twenty_messages(self):
        # By the program's own count: strace makes entries slow, and sends are then passed on sooner.
        said = call("./pairs", str(TOSSES), cwd=self.folder.name)
        self.assertLess(entries_in(said), 0.05 * MESSAGES)

    def test_the_entries_that_the_program_counts_are_those_of_the_kernel(self):
        names = ("io_uring_enter", "epoll_wait", "epoll_pwait", "epoll_pwait2")
        entries = sum(self.counts.get(name, 0) for name in names)
        self.assertGreater(entries, 0)
        self.assertAlmostEqual(entries, entries_in(self.said), delta=10)  # those of probing are not counted

    def test_neither_kernel_timers_nor_futexes_are_used(self):
        used = {name: count for name, count in self.counts.items() if name.startswith(("timerfd", "futex"))}
        if used.get("futex") == 1:
            used.pop("futex")  # of pthread_once, with which newer versions of libstdc++ make their first locale
        self.assertEqual(used, {})

    def test_on_io_uring_nothing_is_received_by_a_system_call_of_its_own(self):
        if "io_uring" not in self.said:
            self.skipTest("io_uring is not in use")
        self.assertLess(self.counts.get("recvfrom", 0), 0.01 * MESSAGES)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    prefix = Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)

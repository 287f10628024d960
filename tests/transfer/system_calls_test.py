#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Copies and sends a file by each mechanism under strace, and looks at the system calls: a mechanism that is named is
the one that moves the bytes, and automatic ones move them where they say they do.

usage: system_calls_test.py TRANSFER_PROBE
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LIMIT_S = 60
BYTES = 3_000_000
BULK = ("copy_file_range", "sendfile", "splice")
BLOCKS = ("pread64", "pwrite64", "preadv2", "sendto", "sendmsg")
probe = Path(".")


def counts_in(text):
    counts = {}
    for line in text.splitlines():
        row = re.fullmatch(r" *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:(\d+) +)?(\w+)", line)
        if row:
            counts[row[3]] = int(row[1]) - int(row[2] or 0)
    return counts


class Calls(unittest.TestCase):
    def setUp(self):
        if shutil.which("strace") is None:
            self.skipTest("there is no strace")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.source = Path(self.folder.name) / "from"
        self.source.write_bytes(os.urandom(BYTES))

    def look(self, what, mechanism, backend, *target, inject=()):
        """Gives what the probe said, and how often each system call succeeded."""
        log = Path(self.folder.name) / "calls"
        command = ["strace", "-f", "-c", *inject, "-o", log, probe, what, mechanism, self.source, *target]
        # LeakSanitizer traces the process itself, and two tracers are one too many.
        environment = os.environ | {"BECK_BACKEND": backend, "ASAN_OPTIONS": "detect_leaks=0"}
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=LIMIT_S,
                              check=False, env=environment)
        return done.stdout.strip(), counts_in(log.read_text(encoding="utf-8"))

    def copy(self, mechanism, backend, inject=()):
        target = Path(self.folder.name) / "to"
        said, counts = self.look("copy", mechanism, backend, target, inject=inject)
        if said.endswith("done"):
            self.assertEqual(target.read_bytes(), self.source.read_bytes())
        return said, counts

    def test_each_named_mechanism_of_a_copy_makes_its_own_call(self):
        calls = {"copy_range": "copy_file_range", "send_file": "sendfile", "splice": "splice"}
        for backend in ("epoll", "io_uring"):
            for mechanism, call in calls.items():
                with self.subTest(backend=backend, mechanism=mechanism):
                    said, counts = self.copy(mechanism, backend)
                    self.assertEqual(said, f"{BYTES} bytes by {mechanism}: done")
                    self.assertGreater(counts.get(call, 0), 0)
                    self.assertEqual([name for name in BULK if name != call and counts.get(name)], [])
                    self.assertEqual(counts.get("pwrite64", 0), 0)

    def test_reads_and_writes_move_nothing_inside_the_kernel(self):
        for backend in ("epoll", "io_uring"):
            with self.subTest(backend=backend):
                said, counts = self.copy("read_write", backend)
                self.assertEqual(said, f"{BYTES} bytes by read_write: done")
                self.assertEqual([name for name in BULK if counts.get(name)], [])
                self.assertGreater(counts.get("pwrite64" if backend == "epoll" else "io_uring_enter", 0), 0)

    def test_a_copy_steps_down_where_the_kernel_refuses(self):
        for error in ("EXDEV", "EINVAL", "ENOSYS", "EOPNOTSUPP", "EPERM"):
            with self.subTest(error=error):
                inject = ("-e", f"inject=copy_file_range:error={error}")
                said, counts = self.copy("automatic", "epoll", inject)
                self.assertEqual(said, f"{BYTES} bytes by read_write: done")
                self.assertEqual(counts.get("copy_file_range", 0), 0)

    def test_a_named_mechanism_does_not_step_down(self):
        said, _ = self.copy("copy_range", "epoll", ("-e", "inject=copy_file_range:error=EXDEV"))
        self.assertRegex(said, "^0 bytes by automatic: .*cross-device")  # nothing was moved by anything

    def test_an_error_in_the_middle_is_told_with_what_is_there(self):
        inject = ("-e", "inject=pwrite64:error=ENOSPC:when=3")
        said, _ = self.copy("read_write", "epoll", inject)
        self.assertRegex(said, r"^\d+ bytes by read_write: No space left on device")
        told = int(said.split()[0])
        self.assertLess(told, BYTES)
        self.assertEqual((Path(self.folder.name) / "to").read_bytes()[:told], self.source.read_bytes()[:told])

    def test_a_file_is_sent_by_sendfile_and_not_read(self):
        for backend in ("epoll", "io_uring"):
            for mechanism in ("automatic", "send_file"):
                with self.subTest(backend=backend, mechanism=mechanism):
                    said, counts = self.look("send", mechanism, backend)
                    self.assertEqual(said, f"{BYTES} bytes by send_file: done")
                    self.assertGreater(counts.get("sendfile", 0), 0)
                    self.assertEqual(counts.get("sendto", 0), 0)

    def test_what_is_not_in_memory_is_read_ahead_before_it_is_sent(self):
        with open(self.source, "rb") as opened:
            os.fsync(opened.fileno())
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            try:
                os.preadv(opened.fileno(), [bytearray(1)], BYTES // 2, os.RWF_NOWAIT)
                self.skipTest("this file system keeps its files in memory")
            except BlockingIOError:
                pass
            # The kernel may have begun to read ahead for that look, and keeps pages that it is reading.
            for _ in range(5):
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                said, counts = self.look("send", "automatic", "epoll")
                if counts.get("fadvise64", 0) > 0:
                    break
        self.assertEqual(said, f"{BYTES} bytes by send_file: done")
        self.assertGreater(counts.get("fadvise64", 0), 0)
        self.assertGreater(counts.get("pread64", 0), 0)

    def test_a_file_is_sent_by_reads_and_writes_where_there_is_no_sendfile(self):
        said, counts = self.look("send", "automatic", "epoll", inject=("-e", "inject=sendfile:error=EINVAL"))
        self.assertEqual(said, f"{BYTES} bytes by read_write: done")
        self.assertGreater(counts.get("sendto", 0), 0)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    probe = Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)

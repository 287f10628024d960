# SPDX-License-Identifier: BSL-1.0
"""Interrupted copies: the target is what it was, or complete. And what is seen on a terminal."""
import os
import pty
import random
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from tool import LIMIT_S, CopyCase, command, engines, traced

KILLS = 200


def child_of(process):
    """The process that strace runs, as soon as there is one."""
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        children = path.read_text().split()
        if children:
            return int(children[0])
    raise AssertionError("strace started nothing")


class Killed(CopyCase):
    def test_kill_9_at_any_point_leaves_the_old_file_or_all_of_the_new_one(self):
        data = self.fill(2 << 20)
        choose = random.Random(os.getpid())
        names = engines()
        began = time.monotonic()
        self.copies("--engine", "sync", "--block", "512", self.source, self.target)
        whole = time.monotonic() - began
        ends = {"before": 0, "after": 0}
        for i in range(KILLS):
            old = b"old" * 1000 if i % 2 else None
            self.target.unlink(missing_ok=True)
            if old:
                self.target.write_bytes(old)
            arguments = ("--engine", names[i % len(names)], "--block", "512", self.source, self.target)
            started = subprocess.Popen(command(*arguments))
            until = time.monotonic() + choose.uniform(0, whole * 1.5)
            while time.monotonic() < until and started.poll() is None:
                pass
            started.kill()
            started.wait(LIMIT_S)
            now = self.target.read_bytes() if self.target.exists() else None
            self.assertIn(now, (old, data))
            ends["after" if now == data else "before"] += 1
            for name in set(self.names()) - {"source", "target"}:
                self.assertRegex(name, r"^\.target\.beck-copy-[0-9a-f]{6}$")
                (self.folder / name).unlink()
        self.assertGreater(ends["before"], 0, ends)


class Interrupted(CopyCase):
    def copying_from_a_pipe(self, engine, *more):
        """A copy that has begun and waits for more input."""
        started = subprocess.Popen(
            command("--engine", engine, *more, "-", self.target),
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        started.stdin.write(b"some")
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:  # the tool has read it, so it is in the midst of copying
            if not select.select([], [started.stdin], [], 0)[1] or self.unread(started.stdin.fileno()) == 0:
                return started
        raise AssertionError("the copy did not begin")

    def unread(self, fd):
        import array
        import fcntl
        import termios

        count = array.array("i", [0])
        fcntl.ioctl(fd, termios.FIONREAD, count)
        return count[0]

    def test_signals_leave_the_target_as_it_was_and_say_so(self):
        for engine in engines("auto", "sync", "posix-aio", "uring", "uring-splice"):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                with self.subTest(engine=engine, number=number), self.copying_from_a_pipe(engine) as started:
                    started.send_signal(number)
                    said = started.stderr.read().decode()
                    self.assertEqual(started.wait(LIMIT_S), -number)
                    self.assertEqual(said, f"beck-copy: interrupted: {self.target} was not created\n")
                    self.assertEqual(self.names(), [])

    def test_an_old_target_is_as_it_was(self):
        self.target.write_bytes(b"old")
        with self.copying_from_a_pipe("sync") as started:
            started.send_signal(signal.SIGINT)
            self.assertIn(f"{self.target} is as it was", started.stderr.read().decode())
        self.assertEqual((self.names(), self.target.read_bytes()), (["target"], b"old"))

    def test_in_place_there_is_a_part_and_it_says_so(self):
        with self.copying_from_a_pipe("sync", "--in-place") as started:
            started.send_signal(signal.SIGINT)
            self.assertIn("has a part of the copy", started.stderr.read().decode())
        self.assertEqual(self.names(), ["target"])

    def test_who_ignores_a_signal_keeps_ignoring_it(self):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            started = self.copying_from_a_pipe("sync")
        finally:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with started:
            started.send_signal(signal.SIGHUP)
            started.stdin.close()
            self.assertEqual(started.wait(LIMIT_S), 0)
        self.assertEqual(self.target.read_bytes(), b"some")


@unittest.skipUnless(shutil.which("strace"), "needs strace")
class Temporary(CopyCase):
    """Where the file system has no files without names."""

    def fault(self, source="/dev/zero"):
        _, calls = traced("--size", "0", source, self.target)
        self.target.unlink()
        return f"openat:error=EOPNOTSUPP:when={calls.place('openat', 'O_TMPFILE')}"

    def test_a_temporary_beside_the_target_is_renamed(self):
        data = self.fill(100000)
        done, calls = traced(self.source, self.target, inject=[self.fault(self.source)])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.target.read_bytes(), data)
        self.assertEqual(self.names(), ["source", "target"])
        self.assertEqual(len(calls.named("rename", "renameat", "renameat2")), 1)

    def test_an_error_removes_it(self):
        fault = self.fault()
        done, _ = traced("--size", "9", "--engine", "sync", "/dev/zero", self.target,
                         inject=[fault, "pwrite64:error=ENOSPC"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("ENOSPC", done.stderr)
        self.assertEqual(self.names(), [])

    def test_an_interrupt_at_any_change_of_the_mask_during_an_error_leaves_nothing(self):
        failing = ("--size", "9", "--engine", "sync", "/dev/zero", self.target)
        faults = [self.fault(), "pwrite64:error=ENOSPC"]
        _, calls = traced(*failing, inject=faults)
        changes = len(calls.named("rt_sigprocmask"))
        self.assertGreater(changes, 0)
        for place in range(1, changes + 1):
            traced(*failing, inject=[*faults, f"rt_sigprocmask:signal=SIGTERM:when={place}"])
            self.assertEqual(self.names(), [], f"call {place} of {changes}")

    def test_a_folder_that_cannot_be_synchronized_is_an_error_though_the_copy_is_complete(self):
        done, _ = traced("--size", "9", "--fsync", "/dev/zero", self.target, inject=["fsync:error=EIO:when=2"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("fsync of the folder", done.stderr)
        self.assertIn("target is complete", done.stderr)
        self.assertEqual(self.target.read_bytes(), bytes(9))

    def test_an_fsync_that_fails_leaves_no_copy(self):
        done, _ = traced("--size", "9", "--fsync", "/dev/zero", self.target, inject=["fsync:error=EIO"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("EIO", done.stderr)
        self.assertEqual(self.names(), [])

    def test_an_interrupt_removes_it(self):
        fault = self.fault("-")
        with tempfile.TemporaryDirectory() as logs:
            strace = ["strace", "-f", "-o", f"{logs}/calls", "-e", f"inject={fault}"]
            with subprocess.Popen(
                strace + command("-", self.target), stdin=subprocess.PIPE, stderr=subprocess.PIPE
            ) as started:
                end = time.monotonic() + LIMIT_S
                while not self.names() and time.monotonic() < end:
                    pass
                self.assertRegex(self.names()[0], r"^\.target\.beck-copy-[0-9a-f]{6}$")
                os.kill(child_of(started), signal.SIGTERM)
                started.wait(LIMIT_S)
                self.assertIn("was not created", started.stderr.read().decode())
        self.assertEqual(self.names(), [])


class Terminal(CopyCase):
    def on_terminal(self, *arguments):
        """Starts the tool with a terminal as its standard error, from which Ctrl-C comes, and a pipe to read from."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        started = subprocess.Popen(
            command(*arguments), stdin=subprocess.PIPE, stderr=slave, bufsize=0, start_new_session=True,
            preexec_fn=lambda: self.take_terminal(slave),
        )
        os.close(slave)
        return started, master

    def take_terminal(self, slave):
        import fcntl
        import termios

        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    def feed_until(self, started, master, pattern):
        """Writes to the tool until the screen shows the pattern."""
        screen = ""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            started.stdin.write(b"x" * 4096)
            while select.select([master], [], [], 0)[0]:
                screen += os.read(master, 65536).decode()
            if re.search(pattern, screen):
                return screen
        raise AssertionError(f"the screen has {screen!r}")

    def rest_of(self, master):
        screen = ""
        try:
            while select.select([master], [], [], LIMIT_S)[0]:
                screen += os.read(master, 65536).decode()
        except OSError:  # the tool has closed it
            pass
        return screen

    def test_a_bar_with_rate_and_time_left(self):
        started, master = self.on_terminal("--size", "1T", "-", "/dev/null")
        with started:
            bar = r"\r\x1b\[K\[\.+\]   0 %  \S+ \wiB of 1\.00 TiB  \S+ \wiB/s  ETA \d+:\d\d"
            self.feed_until(started, master, bar)
            started.kill()

    def test_without_a_size_there_is_the_amount(self):
        started, master = self.on_terminal("-", self.target)
        with started:
            self.feed_until(started, master, r"\r\x1b\[K\S+ \wiB  \S+ \wiB/s  0:\d\d")
            started.stdin.close()
            self.assertRegex(self.rest_of(master), r"beck-copy: \S+ \wiB .* in \d.* s, .*/s, engine sync\r\n$")
            self.assertEqual(started.wait(LIMIT_S), 0)

    def test_ctrl_c(self):
        started, master = self.on_terminal("-", self.target)
        with started:
            self.feed_until(started, master, r"/s  0:")
            os.write(master, b"\x03")
            self.assertIn(f"interrupted: {self.target} was not created\r\n", self.rest_of(master))
            self.assertEqual(started.wait(LIMIT_S), -signal.SIGINT)
        self.assertEqual(self.names(), [])

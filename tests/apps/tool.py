# SPDX-License-Identifier: BSL-1.0
"""What the tests of beck-copy share: running it, watching its system calls, files to copy."""
import contextlib
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

LIMIT_S = 30
ENGINES = ("sync", "posix-aio", "uring", "uring-splice", "sendfile", "copy-range")
ALL = ("auto",) + ENGINES
BUFFERED = ("sync", "posix-aio", "uring")
NOBODY = 65534
program = Path("beck-copy")


def ring_is_refused():
    done = run("--engine", "uring", "--size", "1", "/dev/zero", "/dev/null")
    return done.returncode != 0


def engines(*names):
    """The engines of these that the kernel allows here."""
    without_ring = os.environ.get("BECK_BACKEND") == "epoll" or ring_is_refused()
    return [name for name in names or ALL if not (without_ring and name.startswith("uring"))]


def command(*arguments):
    return [str(program), *map(str, arguments)]


@contextlib.contextmanager
def reachable_program():
    """A copy that every user may run: the folders above the program may be one user's alone."""
    with tempfile.TemporaryDirectory(prefix="beck-copy-") as folder:
        os.chmod(folder, 0o755)
        if not all(place.stat().st_mode & 0o001 for place in Path(folder).resolve().parents):
            raise unittest.SkipTest(f"other users cannot reach {folder}")
        yield shutil.copy(program, folder)


def run(*arguments, **how):
    """Runs the tool to its end; gives what subprocess.run gives, with texts unless told otherwise."""
    how = {"text": True, "capture_output": True, "timeout": LIMIT_S, "stdin": subprocess.DEVNULL} | how
    if "input" in how:
        del how["stdin"]
    if "user" not in how:
        return subprocess.run(command(*arguments), **how)
    with reachable_program() as reachable:
        return subprocess.run(command(*arguments), executable=reachable, **how)


class Calls:
    """The system calls of a run under strace, as lines."""

    def __init__(self, text):
        self.lines = [line for line in text.splitlines() if "(" in line]

    def named(self, *names):
        pattern = re.compile(rf"^(?:\d+ +)?(?:{'|'.join(names)})\(")
        return [line for line in self.lines if pattern.match(line)]

    def on(self, path, *names):
        return [line for line in self.named(*names) if f"<{path}" in line]

    def place(self, name, text):
        """Which call of that name is the first one with the text, as strace's when= counts."""
        for place, line in enumerate(self.named(name), 1):
            if text in line:
                return place
        raise AssertionError(f"no {name} with {text}")


def traced(*arguments, inject=(), **how):
    """Runs the tool under strace, with faults injected; gives the run and its calls."""
    with tempfile.NamedTemporaryFile("r", prefix="calls-") as log:
        strace = ["strace", "-f", "-y", "-s", "0", "-o", log.name]
        for fault in inject:
            strace += ["-e", f"inject={fault}"]
        how = {"text": True, "capture_output": True, "timeout": LIMIT_S, "stdin": subprocess.DEVNULL} | how
        done = subprocess.run(strace + command(*arguments), **how)
        return done, Calls(log.read())


class CopyCase(unittest.TestCase):
    """A test with a folder of its own; the folder's files are on a disk where TMPDIR is."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="beck-copy-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.source = self.folder / "source"
        self.target = self.folder / "target"

    def fill(self, size, path=None, seed=1):
        data = random.Random(seed).randbytes(size)
        (path or self.source).write_bytes(data)
        return data

    def copies(self, *arguments, **how):
        done = run(*arguments, **how)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def fails(self, *arguments, says, status=1, **how):
        """The run ends with an error that says all of these."""
        done = run(*arguments, **how)
        self.assertEqual(done.returncode, status, done.stderr)
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, done.stderr)
        return done

    def report(self, *arguments, **how):
        done = self.copies("--json", *arguments, **how)
        self.assertEqual(done.stdout.count("\n"), 1)
        return json.loads(done.stdout)

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

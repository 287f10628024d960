# SPDX-License-Identifier: BSL-1.0
"""Every engine uses its mechanism and no other; a named one never falls back; auto does, and says so."""
import json
import shutil
import unittest

from tool import CopyCase, engines, run, traced

MOVERS = ("read", "write", "pread64", "pwrite64", "readv", "writev", "sendfile", "copy_file_range", "splice")
BLOCK = 65536
BLOCKS = 5


@unittest.skipUnless(shutil.which("strace"), "needs strace")
class Mechanism(CopyCase):
    def setUp(self):
        super().setUp()
        self.data = self.fill(BLOCK * BLOCKS)

    def copy_traced(self, engine, *more):
        done, calls = traced("--engine", engine, "--block", BLOCK, *more, self.source, self.target)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.target.read_bytes(), self.data)
        return calls

    def moved_by(self, calls):
        """Which calls touched the source or the target, by name, and how many."""
        names = {}
        for name in MOVERS:
            on = [line for line in calls.named(name) if f"<{self.source}" in line or f"<{self.folder}/#" in line]
            if on:
                names[name] = len(on)
        return names

    def test_sync_reads_and_writes(self):
        self.assertEqual(self.moved_by(self.copy_traced("sync")), {"pread64": BLOCKS, "pwrite64": BLOCKS})

    def test_posix_aio_signals_through_a_signalfd(self):
        calls = self.copy_traced("posix-aio")
        self.assertEqual(self.moved_by(calls), {"pread64": BLOCKS, "pwrite64": BLOCKS})
        main = calls.lines[0].split()[0]
        self.assertFalse([line for line in calls.on(self.source, "pread64") if line.startswith(main + " ")])
        self.assertEqual(len(calls.named("rt_sigqueueinfo", "rt_tgsigqueueinfo")), 2 * BLOCKS)
        self.assertEqual(len(calls.named("signalfd4")), 1)
        self.assertTrue([line for line in calls.named("read") if "<anon_inode:[signalfd]>" in line])

    def test_uring_submits_everything_through_the_ring(self):
        if "uring" not in engines():
            self.skipTest("io_uring is refused here")
        calls = self.copy_traced("uring")
        self.assertEqual(self.moved_by(calls), {})
        self.assertTrue(calls.named("io_uring_setup"))
        self.assertEqual(calls.named("pipe2"), [])

    def test_uring_has_the_whole_depth_in_flight(self):
        if "uring" not in engines():
            self.skipTest("io_uring is refused here")
        submitted = self.submitted(self.copy_traced("uring", "--depth", BLOCKS))
        self.assertGreaterEqual(max(submitted), BLOCKS)  # all reads with one call
        self.assertGreaterEqual(sum(submitted), 2 * BLOCKS)

    def submitted(self, calls):
        """How many entries each io_uring_enter gave to the kernel."""
        lines = calls.named("io_uring_enter")
        return [int(line.rsplit("= ", 1)[1].split()[0]) for line in lines if ") = " in line]

    def test_uring_splice_splices_through_pipes_on_the_ring(self):
        if "uring-splice" not in engines():
            self.skipTest("io_uring is refused here")
        calls = self.copy_traced("uring-splice", "--depth", 3)
        self.assertEqual(self.moved_by(calls), {})
        self.assertEqual(len(calls.named("pipe2")), 3)
        self.assertGreaterEqual(sum(self.submitted(calls)), 2 * BLOCKS)

    def test_sendfile(self):
        self.assertEqual(self.moved_by(self.copy_traced("sendfile")), {"sendfile": BLOCKS})

    def test_copy_range(self):
        self.assertEqual(self.moved_by(self.copy_traced("copy-range")), {"copy_file_range": BLOCKS})

    def test_a_named_engine_never_falls_back(self):
        for engine, arguments in (("copy-range", ("--size", "1M", "/dev/zero")), ("sendfile", ("-",))):
            done, calls = traced("--engine", engine, *arguments, self.target, inject=["sendfile:error=EINVAL"])
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, rf"engine {engine}: (copy_file_range|sendfile) from .*EINVAL")
            self.assertFalse(self.target.exists())
            self.assertFalse(set(self.moved_by(calls)) - {"sendfile", "copy_file_range"})

    def test_without_io_uring_the_engine_says_why(self):
        for engine in ("uring", "uring-splice"):
            done, _ = traced("--engine", engine, self.source, self.target, inject=["io_uring_setup:error=EPERM"])
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"engine {engine}: io_uring: ", done.stderr)
            self.assertFalse(self.target.exists())


@unittest.skipUnless(shutil.which("strace"), "needs strace")
class Automatic(CopyCase):
    def test_it_falls_back_and_says_what_it_took_and_why(self):
        self.fill(BLOCK)
        with open(self.target, "wb") as sink:
            done, _ = traced("-v", self.source, "/dev/null", inject=["sendfile:error=EINVAL"], stderr=sink,
                             capture_output=False)
        said = self.target.read_text()
        self.assertEqual(done.returncode, 0, said)
        self.assertIn(f"auto: sendfile refused: sendfile from {self.source} to /dev/null: Invalid argument", said)
        self.assertIn("auto took sync", said)

    def test_also_without_verbose_and_in_the_report(self):
        self.fill(BLOCK)
        done, _ = traced("--json", self.source, "/dev/null", inject=["sendfile:error=EOPNOTSUPP"])
        found = json.loads(done.stdout)
        self.assertEqual((found["asked"], found["engine"]), ("auto", "sync"))
        self.assertEqual([one["engine"] for one in found["refused"]], ["sendfile"])
        done, _ = traced(self.source, "/dev/null", inject=["sendfile:error=EOPNOTSUPP"])
        self.assertIn("auto took sync", done.stderr)

    def test_an_error_that_is_no_refusal_is_an_error(self):
        self.fill(BLOCK)
        done, _ = traced(self.source, "/dev/null", inject=["sendfile:error=EIO"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("Input/output error (EIO)", done.stderr)

    def test_a_reflink_is_tried_first_and_reported(self):
        self.fill(BLOCK)
        _, calls = traced(self.source, self.target)
        place = calls.place("ioctl", "FICLONE")
        done, calls = traced("-v", self.source, self.target, inject=[f"ioctl:retval=0:when={place}"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("auto took reflink", done.stderr)
        self.assertIn("a reflink:", done.stderr)
        self.assertEqual(calls.on(self.source, "pread64", "copy_file_range", "sendfile"), [])
        done, _ = traced("--json", self.source, self.target, inject=[f"ioctl:retval=0:when={place - 1}+"])
        found = json.loads(done.stdout)
        self.assertEqual((found["engine"], found["reflink"]), ("reflink", True))

    def test_no_reflink_of_a_part_and_none_for_a_named_engine(self):
        self.fill(BLOCK)
        for arguments in (("--size", "4K"), ("--engine", "sync"), ("--engine", "copy-range")):
            _, calls = traced(*arguments, self.source, self.target)
            self.assertFalse([line for line in calls.named("ioctl") if "FICLONE" in line])


class Choice(unittest.TestCase):
    def test_verbose_says_which_engine(self):
        done = run("-v", "--size", "1M", "/dev/zero", "/dev/null")
        self.assertIn("auto took sync", done.stderr)

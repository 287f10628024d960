# SPDX-License-Identifier: BSL-1.0
"""What cannot be copied: one sentence that names the thing, the value and the limit, and nothing left behind."""
import os
import resource
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

from tool import BUFFERED, NOBODY, CopyCase, engines, run

MiB = 1 << 20


class Sizes(unittest.TestCase):
    def size_of(self, text):
        done = run("--json", "--size", text, "/dev/zero", "/dev/null")
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stdout.split('"bytes": ')[1].split(",")[0])

    def test_units(self):
        bytes_and_1024 = (("0", 0), ("7", 7), ("7B", 7), ("64K", 65536), ("64k", 65536), ("1M", MiB), ("2MiB", 2 * MiB))
        for text, size in bytes_and_1024 + (("1kB", 1000), ("2MB", 2_000_000), ("1GiB", 1 << 30), ("1gib", 1 << 30)):
            self.assertEqual(self.size_of(text), size, text)

    def test_what_is_no_size(self):
        for text in (" ", "x", "-1", "1.5G", "1Q", "1KiX", "K", "1 K", "0x10", "1KiBB"):
            done = run("--size=" + text, "/dev/zero", "/dev/null")
            self.assertEqual(done.returncode, 2, text)
            self.assertIn("--size", done.stderr)

    def test_what_is_too_large_names_the_limit(self):
        for text in ("8E", "9223372036854775808", "99999999999999999999", "1000000P"):
            done = run("--size", text, "/dev/zero", "/dev/null")
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"--size {text}: too large; at most 9223372036854775807 bytes", done.stderr)

    def test_blocks_and_depths(self):
        for arguments, says in (
            (("--block", "511"), "--block 511: too small; at least 512"),
            (("--block", "0"), "--block 0: too small; at least 512"),
            (("--depth", "0"), "--depth"),
            (("--depth", "1025"), "1025 not in range "),  # and the limits, in words of CLI11's version
            (("--engine", "magic"), "magic"),
            (("--unknown",), "--unknown"),
        ):
            done = run(*arguments, "/dev/null", "/dev/null")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(says, done.stderr)
        self.assertRegex(run("--depth", "1025", "/dev/null", "/dev/null").stderr, r"\[?1 (to|-) 1024\b")

    def test_empty_names(self):
        for names, which in ((("", "/dev/null"), "SRC"), (("/dev/null", ""), "DST")):
            done = run(*names)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stderr, f"beck-copy: {which}: the name is empty\n")

    def test_the_memory_of_all_blocks_has_a_limit(self):
        arguments = ("--engine", "sync", "--block", "2G", "--size", "1", "/dev/zero", "/dev/null")
        self.assertIn("together at most 1.00 GiB", run(*arguments).stderr)


class Ends(CopyCase):
    def test_the_same_file(self):
        self.fill(100)
        os.link(self.source, self.folder / "hard")
        (self.folder / "soft").symlink_to(self.source)
        for other in (self.source, self.folder / "hard", self.folder / "soft"):
            for more in ((), ("--in-place",)):
                self.fails(*more, self.source, other, says="are the same file")
                self.assertEqual(self.source.stat().st_size, 100)
        with open(self.source, "r+b") as out:
            self.fails(self.source, "-", says="are the same file", stdout=out, stderr=subprocess.PIPE,
                       capture_output=False)

    def test_directories(self):
        self.fill(10)
        self.fails(self.folder, self.target, says=f"{self.folder} is a directory")
        self.fails(self.source, self.folder, says=f"{self.folder} is a directory")
        self.fails(self.source, f"{self.target}/", says="does not exist")

    def test_what_is_not_there(self):
        self.fails(self.source, self.target, says=(str(self.source), "No such file or directory (ENOENT)"))
        self.fill(10)
        missing = self.folder / "no" / "target"
        self.fails(self.source, missing, says=(str(missing), "No such file or directory (ENOENT)"))
        (self.folder / "loose").symlink_to("nowhere")
        self.fails(self.source, self.folder / "loose", says="leads nowhere")

    def test_a_device_without_end_wants_a_size(self):
        self.fails("/dev/zero", self.target, says="/dev/zero has no end; say with --size")

    def test_a_size_that_is_not_there(self):
        self.fill(1000)
        self.fails("--size", "1001", self.source, self.target, says=("--size 1001 bytes", "has only 1000 bytes"))
        self.assertEqual(self.names(), ["source"])

    @unittest.skipUnless(os.getuid() == 0, "becomes another user, so it needs root")
    @unittest.skipUnless(os.stat("/").st_mode & stat.S_IXOTH, "here other users reach nothing at all")
    def test_read_only_targets_and_sources(self):
        self.fill(10)
        self.folder.chmod(0o777)
        self.target.write_bytes(b"old")
        self.target.chmod(0o444)
        for more in ((), ("--in-place",)):
            self.fails(*more, self.source, self.target, says=(str(self.target), "Permission denied"), user=NOBODY)
        self.assertEqual(self.target.read_bytes(), b"old")
        self.target.chmod(0o666)
        self.folder.chmod(0o755)
        says = (f"a new file beside {self.target}: Permission denied", "--in-place")
        self.fails(self.source, self.target, says=says, user=NOBODY)
        self.copies("--in-place", self.source, self.target, user=NOBODY)
        self.target.unlink()
        self.fails(self.source, self.target, says=(str(self.target), "Permission denied"), user=NOBODY)
        self.source.chmod(0)
        self.fails(self.source, self.target, says=(str(self.source), "Permission denied"), user=NOBODY)

    def test_a_read_only_file_system(self):
        if not os.statvfs("/proc/sys").f_flag & os.ST_RDONLY and os.path.exists("/proc/version"):
            self.fill(10)
            self.fails(self.source, "/proc/target", says="/proc/target")

    def test_what_cannot_be_compared_or_synchronized_is_told_before(self):
        self.fill(10)
        self.fails("--verify", self.source, "/dev/null", says="/dev/null cannot be read back")
        self.fails("--verify", "--size", "9", "/dev/urandom", self.target, says="/dev/urandom cannot be read again")
        self.fails("--verify", "-", self.target, says="standard input cannot be read again", input="x")
        self.fails("--fsync", self.source, "/dev/null", says="--fsync: /dev/null is neither")
        self.assertEqual(self.names(), ["source"])


class Direct(CopyCase):
    def test_it_wants_files(self):
        self.fill(4096)
        self.fails("--direct", "--size", "1M", "/dev/zero", self.target, says="/dev/zero is not a regular file")
        self.fails("--direct", self.source, "/dev/null", says="/dev/null is not a regular file")
        self.fails("--direct", "-", self.target, says="standard input is open already", input="")

    def test_it_names_the_alignment(self):
        self.fill(4096)
        done = self.fails("--direct", "--block", "1000", self.source, self.target, says="--direct")
        if "has no direct I/O" not in done.stderr:
            self.assertRegex(done.stderr, r"--block 1000 with --direct: .* a multiple of \d+ bytes")

    def test_engines_without_buffers_say_so(self):
        self.fill(4096)
        if "no direct I/O" in run("--direct", self.source, self.target).stderr:
            self.skipTest("the file system of TMPDIR has no direct I/O")
        for engine in ("sendfile", "copy-range", "uring-splice"):
            self.fails("--direct", "--engine", engine, self.source, self.target, says="sync, posix-aio, uring")


class Space(CopyCase):
    def test_dev_full(self):
        self.fill(MiB)
        for engine in engines(*BUFFERED, "auto"):
            says = ("No space left on device (ENOSPC)", "0 bytes of 1.00 MiB were written, to /dev/full")
            self.fails("--engine", engine, self.source, "/dev/full", says=says)

    def test_a_limit_says_how_much_was_written(self):
        self.fill(3 * MiB)

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (MiB, MiB))

        for engine in engines():
            with self.subTest(engine=engine):
                arguments = ("--engine", engine, "--block", "64K", "--depth", "1", self.source, self.target)
                how_much = "1.00 MiB (1048576 bytes) of 3.00 MiB were written"
                says = ("File too large (EFBIG)", how_much, "target was not created")
                self.fails(*arguments, says=says, preexec_fn=limit)
                self.assertEqual(self.names(), ["source"])

    def test_a_full_tmpfs(self):
        where = Path(tempfile.mkdtemp(prefix="full-"))
        self.addCleanup(where.rmdir)
        mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "beck-copy-test", where]
        mounted = subprocess.run(mount, capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("mounting a tmpfs is not allowed here")
        self.addCleanup(subprocess.run, ["umount", where], check=True)
        self.fill(3 * MiB, where / "source")
        for engine in engines():
            for more in ((), ("--in-place",)):
                with self.subTest(engine=engine, more=more):
                    arguments = ("--engine", engine, "--block", "64K", *more, where / "source", where / "target")
                    done = self.fails(*arguments, says="No space left on device (ENOSPC)")
                    self.assertRegex(done.stderr, r"; \S+ [KM]iB \(\d+ bytes\) of 3.00 MiB were written, ")
                    left = ["source", "target"] if more else ["source"]
                    self.assertEqual(sorted(path.name for path in where.iterdir()), left)
                    (where / "target").unlink(missing_ok=True)

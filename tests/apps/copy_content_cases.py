# SPDX-License-Identifier: BSL-1.0
"""The copy is the same: bytes, length, permissions, holes; and the report says so."""
import os
import stat
import unittest

from tool import ALL, BUFFERED, CopyCase, engines, run

MiB = 1 << 20
GiB = 1 << 30


class Content(CopyCase):
    def test_every_engine_copies_every_length(self):
        for engine in engines():
            for size in (0, 1, 4095, 65536, 3 * MiB + 17):
                with self.subTest(engine=engine, size=size):
                    data = self.fill(size)
                    self.copies("--engine", engine, "--block", "64K", self.source, self.target)
                    self.assertEqual(self.target.read_bytes(), data)

    def test_verify_reads_both_back_and_says_so(self):
        self.fill(MiB + 1)
        for engine in engines():
            done = self.copies("--engine", engine, "--verify", self.source, self.target)
            self.assertIn("verified: 1.00 MiB (1048577 bytes) compared, all equal", done.stderr)

    def test_it_is_quiet_where_nobody_looks(self):
        self.fill(MiB)
        for engine in engines():
            done = self.copies("--engine", engine, self.source, self.target)
            self.assertEqual((done.stdout, done.stderr), ("", ""))

    def test_only_a_part(self):
        data = self.fill(MiB)
        for engine in engines():
            self.copies("--engine", engine, "--size", "70001", self.source, self.target)
            self.assertEqual(self.target.read_bytes(), data[:70001])

    def test_zeros_to_a_file(self):
        for engine in engines(*BUFFERED, "auto"):
            self.copies("--engine", engine, "--size", "3MiB", "--verify", "/dev/zero", self.target)
            self.assertEqual(self.target.read_bytes(), bytes(3 * MiB))

    def test_zeros_to_null(self):
        for engine in engines(*BUFFERED, "auto"):
            found = self.report("--engine", engine, "--size", "64M", "/dev/zero", "/dev/null")
            self.assertEqual(found["bytes"], 64 * MiB)

    def test_a_file_of_procfs_has_no_size_but_content(self):
        for engine in engines(*BUFFERED, "auto"):
            self.copies("--engine", engine, "/proc/version", self.target)
            self.assertTrue(self.target.read_text().startswith("Linux version"))
            self.target.unlink()  # it is as read-only as its source

    def test_direct_transfers(self):
        data = self.fill(MiB + 1234)
        for engine in engines(*BUFFERED, "auto"):
            with self.subTest(engine=engine):
                done = run("--engine", engine, "--direct", "--block", "64K", "--verify", self.source, self.target)
                if "has no direct I/O" in done.stderr:
                    self.skipTest("the file system of TMPDIR has no direct I/O")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.target.read_bytes(), data)

    def test_fsync(self):
        self.fill(MiB)
        self.assertTrue(self.report("--fsync", self.source, self.target)["synced"])


class Permissions(CopyCase):
    def test_permissions_are_kept_and_set_user_id_is_not(self):
        self.fill(100)
        for mode in (0o600, 0o755, 0o4751, 0o444):
            self.source.chmod(mode)
            self.target.unlink(missing_ok=True)
            self.copies(self.source, self.target)
            self.assertEqual(stat.S_IMODE(self.target.stat().st_mode), mode & 0o777)

    def test_what_comes_from_a_device_has_the_mode_of_new_files(self):
        self.copies("--size", "10", "/dev/zero", self.target, preexec_fn=lambda: os.umask(0o027) and None)
        self.assertEqual(stat.S_IMODE(self.target.stat().st_mode), 0o640)

    def test_a_target_is_replaced_as_a_whole(self):
        data = self.fill(1000)
        self.target.write_bytes(b"x" * 5000)
        os.link(self.target, self.folder / "other")
        self.copies(self.source, self.target)
        self.assertEqual(self.target.read_bytes(), data)
        self.assertEqual((self.folder / "other").read_bytes(), b"x" * 5000)
        self.assertEqual(self.names(), ["other", "source", "target"])

    def test_in_place_keeps_the_file_itself(self):
        data = self.fill(1000)
        for engine in engines():
            self.target.write_bytes(b"x" * 5000)
            self.target.chmod(0o640)
            before = self.target.stat().st_ino
            self.copies("--engine", engine, "--in-place", self.source, self.target)
            self.assertEqual(self.target.read_bytes(), data)
            after = self.target.stat()
            self.assertEqual((after.st_ino, stat.S_IMODE(after.st_mode)), (before, 0o640))

    def test_a_link_stays_a_link(self):
        data = self.fill(1000)
        self.target.symlink_to("real")
        (self.folder / "real").write_bytes(b"old")
        self.copies(self.source, self.target)
        self.assertTrue(self.target.is_symlink())
        self.assertEqual((self.folder / "real").read_bytes(), data)


class Sparse(CopyCase):
    def test_holes_and_offsets_beyond_4_gib(self):
        with open(self.source, "wb") as file:
            for place, text in ((0, b"begin"), (GiB + 12345, b"middle" * 10000), (5 * GiB, b"behind 4 GiB")):
                file.seek(place)
                file.write(text)
            file.truncate(6 * GiB)
        blocks = self.source.stat().st_blocks
        if blocks * 512 > 100 * MiB:
            self.skipTest("the file system of TMPDIR has no holes")
        for engine in engines():
            with self.subTest(engine=engine):
                found = self.report("--engine", engine, self.source, self.target)
                self.assertEqual(found["bytes"], 6 * GiB)
                self.assertGreater(found["hole_bytes"], 5 * GiB)
                self.assertEqual(self.target.stat().st_size, 6 * GiB)
                self.assertLessEqual(self.target.stat().st_blocks, blocks * 2)
                with open(self.target, "rb") as file:
                    for place, text in ((0, b"begin\0"), (GiB + 12345, b"middle"), (5 * GiB - 1, b"\0behind 4 GiB\0")):
                        file.seek(place)
                        self.assertEqual(file.read(len(text)), text)
                self.target.unlink()

    def test_a_file_that_is_one_hole(self):
        with open(self.source, "wb") as file:
            file.truncate(MiB)
        for engine in engines():
            self.copies("--engine", engine, "--verify", self.source, self.target)
            self.assertEqual(self.target.read_bytes(), bytes(MiB))

    def test_holes_over_an_old_file_read_as_zeros(self):
        with open(self.source, "wb") as file:
            file.truncate(MiB)
        self.target.write_bytes(b"x" * MiB)
        with open(self.target, "r+b") as out:
            self.copies(self.source, "-", stdout=out, capture_output=False)
        self.assertEqual(self.target.read_bytes(), bytes(MiB))


class Report(CopyCase):
    def test_one_object_with_all_figures(self):
        self.fill(MiB)
        found = self.report("--engine", "sync", "--block", "4K", "--verify", self.source, self.target)
        self.assertEqual(found["source"], str(self.source))
        self.assertEqual(found["target"], str(self.target))
        self.assertEqual((found["asked"], found["engine"], found["refused"]), ("sync", "sync", []))
        self.assertEqual((found["bytes"], found["hole_bytes"], found["block"], found["depth"]), (MiB, 0, 4096, 1))
        self.assertTrue(found["verified"])
        self.assertFalse(found["reflink"])
        for name in ("seconds", "bytes_per_second", "peak_memory_bytes"):
            self.assertGreater(found[name], 0)
        for name in ("user_seconds", "system_seconds", "context_switches", "page_faults"):
            self.assertIn(name, found)

    def test_odd_names_are_still_json(self):
        odd = os.fsencode(self.folder) + b'/a"b\\c\n\xff\xc3\xa4'
        with open(odd, "wb") as file:
            file.write(b"x")
        done = self.copies("--json", os.fsdecode(odd), self.target)
        self.assertIn('/a\\"b\\\\c\\u000a\\ufffd\u00e4"', done.stdout)

    def test_memory_is_depth_times_block(self):
        for engine in engines(*BUFFERED):
            for block, depth in ((65536, 32), (MiB, 16)):
                with self.subTest(engine=engine, block=block):
                    arguments = ("--engine", engine, "--block", block, "--depth", depth, "--size", "512M")
                    found = self.report(*arguments, "/dev/zero", "/dev/null")
                    blocks = block * found["depth"]
                    self.assertLessEqual(found["peak_memory_bytes"], blocks + 8 * MiB)


class Words(unittest.TestCase):
    def test_help_names_every_engine_and_option(self):
        text = run("--help").stdout
        for name in ALL:
            self.assertIn(f"  {name} ", text)
        for option in ("--depth", "--block", "--size", "--direct", "--fsync", "--verify", "--json", "--in-place"):
            self.assertIn(option, text)

    def test_version(self):
        self.assertRegex(run("--version").stdout, r"^beck-copy \d+\.\d+\.\d+\n$")

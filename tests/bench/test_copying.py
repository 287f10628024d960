# SPDX-License-Identifier: BSL-1.0
"""Tests of the benchmark of copies: its commands, its figures per GiB, its table and its targets.

usage: python3 -m unittest discover -s tests/bench
"""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from harness import catalogue, copying, machine, results, targets

COPY = catalogue.BENCHES["copy"]


def sample(cpu_s, wall_s, peak=4.0):
    used = {"wall_ns": wall_s * 1e9, "user_ns": 0, "system_ns": cpu_s * 1e9, "context_switches": 7, "page_faults": 9}
    return copying.figures(used | {"peak_kib": peak * 1024}, copying.GIB)


class Commands(unittest.TestCase):
    def setUp(self):
        self.how = copying.Copies(Path("build"), Path(tempfile.gettempdir()), 1 << 20)

    def command(self, case, peer):
        return self.how.command(catalogue.Slot(COPY.case(case), peer), 1 << 20)

    def test_every_peer_gets_the_ends_of_the_case(self):
        for case in COPY.cases:
            source, target = map(str, self.how.ends(case.name))
            for peer in case.peers:
                text = " ".join(self.command(case.name, peer))
                if peer != "fio":
                    self.assertIn(source, text)
                    self.assertIn(target, text)

    def test_an_engine_is_named(self):
        command = self.command("file-file", "beck-posix-aio")
        self.assertEqual(command[1:3], ["--engine", "posix-aio"])

    def test_fio_reads_or_writes_or_both(self):
        for case, modes in (("file-null-warm", ["read"]), ("zero-null", ["read"]), ("zero-file", ["write"]),
                            ("file-file", ["read", "write"])):
            given = [part.removeprefix("--rw=") for part in self.command(case, "fio") if part.startswith("--rw=")]
            self.assertEqual(given, modes, case)

    def test_all_peers_and_cases_of_the_issue(self):
        self.assertEqual([case.name for case in COPY.cases],
                         ["zero-null", "file-null-warm", "file-null-cold", "zero-file", "file-file"])
        everybody = {peer for case in COPY.cases for peer in case.candidates()}
        engines = {f"beck-{name}" for name in ("auto", "sync", "posix-aio", "uring", "uring-splice", "sendfile",
                                               "copy-range")}
        self.assertEqual(everybody, engines | {"dd", "cp", "fio"})


class Figures(unittest.TestCase):
    def test_they_are_per_gib(self):
        used = {"wall_ns": 5e8, "user_ns": 1e8, "system_ns": 3e8, "context_switches": 10, "page_faults": 20,
                "peak_kib": 2048}
        found = copying.figures(used, copying.GIB // 4)
        self.assertEqual(found["cpu_ns_per_op"], 16e8)
        self.assertEqual(found["wall_ns_per_op"], 20e8)
        self.assertEqual(found["rate_mib_per_second"], 512)
        self.assertEqual(found["cpu_percent"], 80)
        self.assertEqual((found["context_switches_per_op"], found["page_faults_per_op"]), (40, 80))
        self.assertEqual(found["peak_mb"], 2)

    def test_units(self):
        for metric, unit in (("rate_mib_per_second", "MiB/s"), ("cpu_percent", "percent"), ("peak_mb", "MiB")):
            self.assertEqual(results.unit(metric), unit)

    def test_the_table_has_a_line_for_each_peer(self):
        samples = {("zero-null", "beck-auto"): [sample(0.5, 1)], ("zero-null", "dd"): [sample(1, 2)]}
        found = results.Results(COPY, samples)
        lines = list(copying.report(found, copying.GIB))
        self.assertTrue([line for line in lines if line.split()[:3] == ["beck-auto", "1,024", "0.500"]])
        self.assertTrue([line for line in lines if line.split()[:3] == ["dd", "512", "1.000"]])


class Files(unittest.TestCase):
    def test_the_folder_goes_when_it_ends(self):
        with tempfile.TemporaryDirectory() as root:
            how = copying.Copies(Path("build"), Path(root), 1 << 20)
            how.folder = Path(root) / "copies"
            how.source, how.target = how.folder / "source", how.folder / "target"
            with how:
                self.assertEqual(how.source.stat().st_size, 1 << 20)
                self.assertGreater(len(set(how.source.read_bytes()[:4096])), 100)
            self.assertFalse(how.folder.exists())

    def test_a_copy_that_is_too_short_is_an_error(self):
        with tempfile.TemporaryDirectory() as root:
            how = copying.Copies(Path("build"), Path(root), 1 << 20)
            how.target = Path(root) / "target"
            how.target.write_bytes(b"short")
            with self.assertRaises(machine.RunError):
                how.check(catalogue.Slot(COPY.case("zero-file"), "dd"), "/dev/zero", False)


class Targets(unittest.TestCase):
    def test_auto_is_compared_with_the_best_engine(self):
        found = results.Results(COPY, {
            ("zero-file", "beck-auto"): [sample(1, 1.2)],
            ("zero-file", "beck-sync"): [sample(1, 1.0)],
            ("zero-file", "beck-uring"): [sample(1, 2.0)],
            ("zero-file", "dd"): [sample(1, 0.5)],
        })
        check = next(c for c in targets.checks(found) if "beck-auto" in c.what)
        self.assertIn("beck-auto / beck-sync", check.what)
        self.assertFalse(check.passed)

    def test_memory_and_the_price_of_the_ring(self):
        found = results.Results(COPY, {
            ("zero-null", "beck-uring"): [sample(1.2, 1, peak=739)],
            ("zero-null", "beck-sync"): [sample(1, 1)],
        })
        judged = {check.what: check.passed for check in targets.checks(found)}
        self.assertEqual(judged, {
            "zero-null: beck-sync, peak memory": True,
            "zero-null: beck-uring, peak memory": False,
            "zero-null: beck-uring / beck-sync": True,
        })


if __name__ == "__main__":
    unittest.main()

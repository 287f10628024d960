#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs harness_cases and checks what the harness and tools/totals.py make of cases that fail, skip and die.

usage: harness_test.py HARNESS_CASES
"""
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import totals  # noqa: E402

BINARY = sys.argv.pop()


class Harness(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.reports = Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def run_cases(self, *arguments, **environment):
        """Runs the binary; gives its exit status, what it printed and what totals.py reads from its report."""
        clean = {name: value for name, value in os.environ.items() if name != "BECK_BACKEND"}
        environment = {**clean, **environment, "BECK_TEST_REPORT": str(self.reports / "a.tsv")}
        done = subprocess.run([BINARY, *arguments], env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout, totals.Variant(self.reports)

    def test_each_sentence_is_one_case_per_backend(self):
        _, _, variant = self.run_cases()
        for sentence in ("passes", "passes too, in the same file"):
            for backend in totals.BACKENDS:
                self.assertEqual(variant.cases[f"{sentence}/{backend}"], ("passed", "conformance"))

    def test_what_does_not_apply_is_skipped(self):
        _, _, variant = self.run_cases()
        self.assertEqual(variant.cases["applies to the kernel/sim"][0], "skipped")
        self.assertEqual(variant.cases["applies to the kernel/uring"][0], "passed")

    def test_skipped_cases_are_counted_apart_and_named(self):
        _, output, variant = self.run_cases()
        self.assertEqual(variant.cases["is skipped while it runs/epoll"][0], "skipped")
        self.assertIn("skipped: is skipped while it runs/epoll: the machine lacks it\n", output)
        self.assertEqual(variant.skipped(), 4)

    def test_failures_of_every_kind_are_failures(self):
        status, _, variant = self.run_cases()
        self.assertEqual(status, 1)
        expected = ["fails on one backend/sim", "throws", "fails and is skipped"]
        self.assertEqual(sorted(variant.failures), sorted(expected))

    def test_only_conformance_cases_count_as_such(self):
        _, _, variant = self.run_cases()
        self.assertEqual(variant.cases["is no conformance case/epoll"], ("passed", "case"))
        self.assertEqual([variant.count(backend) for backend in totals.BACKENDS], [4, 4, 2])

    def test_a_case_with_parts_is_one_case(self):
        _, _, variant = self.run_cases("--test-case=has parts")
        self.assertEqual(variant.cases, {"has parts": ("passed", "case")})

    def test_figures_arrive(self):
        _, _, variant = self.run_cases()
        self.assertEqual(variant.values, {"schedules": 7})
        self.assertEqual(variant.fingerprints, {"seeds": {"abc"}})

    def test_a_run_for_epoll_skips_the_ring(self):
        _, output, variant = self.run_cases(BECK_BACKEND="epoll")
        self.assertEqual(variant.count("uring"), 0)
        self.assertEqual(variant.cases["passes/uring"][0], "skipped")
        self.assertIn("skipped: passes/uring: BECK_BACKEND=epoll\n", output)

    def test_a_binary_that_dies_quietly_has_failed(self):
        status, _, variant = self.run_cases("--no-skip", "--test-case=is last and dies")
        self.assertEqual((status, variant.failures), (0, ["a died in: is last and dies"]))

    def test_a_binary_that_a_signal_ends_has_failed(self):
        status, _, variant = self.run_cases("--no-skip", "--test-case=is ended by a signal")
        self.assertEqual((status, variant.failures), (-6, ["a died in: is ended by a signal"]))

    def test_a_case_that_hangs_is_ended_and_named(self):
        cases = {"waits for ever": "it waits", "spins for ever": "it computes", "waits in a child for ever": "it waits"}
        for name, reason in cases.items():
            arguments = ["--no-skip", f"--test-case={name}"]
            environment = {**os.environ, "BECK_TEST_LIMIT": "1", "BECK_TEST_REPORT": str(self.reports / "a.tsv")}
            done = subprocess.run([BINARY, *arguments], env=environment, stderr=subprocess.PIPE, text=True, timeout=60,
                                  stdout=subprocess.DEVNULL)
            self.assertEqual(done.returncode, -6)
            self.assertIn(f'the case "{name}" hangs: {reason}', done.stderr)
            self.assertEqual(totals.Variant(self.reports).failures, [f"a died in: {name}"])

    def test_a_case_that_waits_for_the_processor_does_not_hang(self):
        for case in ("waits for the processor", "is looked at late", "yields in threads that end"):
            status, _, variant = self.run_cases("--no-skip", f"--test-case={case}", BECK_TEST_LIMIT="1")
            self.assertEqual((status, variant.cases), (0, {case: ("passed", "case")}))

    def test_a_run_in_the_background_ignores_no_signal(self):
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            status, _, _ = self.run_cases("--test-case=ignores no signal")
        finally:
            signal.signal(signal.SIGINT, before)
        self.assertEqual(status, 0)

    def test_names_are_listed_alone(self):
        arguments = ["--reporters=names", "--list-test-cases"]
        names = subprocess.run([BINARY, *arguments], capture_output=True, text=True).stdout.splitlines()
        self.assertIn("passes/epoll", names)
        self.assertEqual(len(names), 5 * 3 + 6)


if __name__ == "__main__":
    unittest.main()

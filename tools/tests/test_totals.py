# SPDX-License-Identifier: BSL-1.0
"""totals.py counts what passed, and everything that went wrong, once."""
import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import totals


class Line(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.build = Path(self.folder.name)
        (self.build / "reports").mkdir()

    def tearDown(self):
        self.folder.cleanup()

    def report(self, variant, binary, *lines):
        path = self.build / variant / "reports" / f"{binary}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line.replace("|", "\t") + "\n" for line in lines))

    def ctest(self, variant, **status):
        cases = "".join(f'<testcase name="{name}" status="{s}"/>' for name, s in status.items())
        path = self.build / variant / "reports" / "ctest.xml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"<testsuite>{cases}</testsuite>")

    def steps(self, *lines):
        text = "".join(line.replace("|", "\t") + "\n" for line in lines)
        (self.build / "reports" / "steps.tsv").write_text(text)

    def run_totals(self, *variants):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = totals.main(variants, self.build)
        *failures, last = out.getvalue().splitlines()
        name, *fields = last.split()
        self.assertEqual(name, "totals:")
        return status, dict(field.split("=") for field in fields), failures

    def test_passed_conformance_cases_are_counted_by_backend(self):
        self.report("release", "a", "passed|conformance|1|x/epoll|", "passed|conformance|1|x/sim|",
                    "skipped|conformance|1|x/uring|why", "passed|case|1|y/epoll|", "end|0")
        status, line, _ = self.run_totals("release")
        self.assertEqual(status, 0)
        self.assertEqual(line, {"cases.epoll": "1", "cases.uring": "0", "cases.sim": "1", "skipped": "1",
                                "schedules": "0", "failed": "0"})

    def test_steps_alone_are_counted_without_a_variant(self):
        self.steps("package|documents|0", "source|clang-tidy|1")
        status, line, failures = self.run_totals()
        self.assertEqual((status, line), (1, {"failed": "1"}))
        self.assertEqual(failures, ["failed: source: step clang-tidy ended with status 1"])
        self.steps()
        self.assertEqual(self.run_totals()[0], 1)

    def test_a_run_of_tests_that_is_cut_short_is_told_beside_its_failures(self):
        self.report("release", "a", "failed|case|1|bad|", "end|1")
        self.steps("release|tests|8")
        self.assertEqual(self.run_totals("release")[2], ["failed: release: bad"])
        self.steps("release|tests|124")
        self.assertIn("failed: release: step tests ended with status 124", self.run_totals("release")[2])

    def test_figures_are_summed_and_further_ones_follow(self):
        self.report("release", "a", "value|schedules|100", "value|fuzzed|7", "passed|case|1|ok|", "end|0")
        self.report("release", "b", "value|schedules|20", "end|0")
        _, line, _ = self.run_totals("release")
        self.assertEqual((line["schedules"], line["fuzzed"]), ("120", "7"))
        self.assertEqual(list(line)[-1], "fuzzed")

    def test_a_transition_is_made_if_one_binary_has_made_it(self):
        table = "edge|log_of(const std::array<beck::detail::transition<beck::state>, 2> &)|"
        self.report("release", "a", "passed|case|1|ok|", "end|0")
        self.report("asan", "a", table + "0|0|1", table + "1|1|0", table + "2|1|0", "passed|case|1|ok|", "end|0")
        self.report("asan", "b", table + "0|0|0", table + "1|1|1", table + "2|1|0", "end|0")
        self.assertEqual(self.run_totals("release", "asan")[1]["transitions"], "2/3")
        lines = list(totals.edge_table(totals.Variant(self.build / "asan" / "reports")))
        self.assertEqual(lines, ["beck::state 2/3\n  never: state 2 event 1"])

    def test_a_figure_is_that_of_the_first_variant_that_has_it(self):
        self.report("release", "a", "value|walks|3", "passed|case|1|ok|", "end|0")
        self.report("fuzz", "http", "value|walks|5", "value|http.fuzz|7", "passed|case|1|fuzz: date|", "end|0")
        _, line, _ = self.run_totals("release", "fuzz")
        self.assertEqual((line["walks"], line["http.fuzz"]), ("3", "7"))

    def test_passed_cases_of_http_have_a_key(self):
        self.report("release", "http_tests", "passed|conformance|1|x/epoll|", "passed|case|1|y|",
                    "failed|case|1|z|", "end|0")
        self.report("release", "others", "passed|case|1|ok|", "end|0")
        self.assertEqual(self.run_totals("release")[1]["http.cases"], "2")

    def test_only_the_first_variant_counts_cases(self):
        self.report("release", "a", "passed|conformance|1|x/epoll|", "end|0")
        self.report("dev", "a", "passed|conformance|1|x/epoll|", "passed|conformance|1|z/epoll|", "end|0")
        self.assertEqual(self.run_totals("release", "dev")[1]["cases.epoll"], "1")

    def test_a_failed_case_fails_the_run(self):
        self.report("release", "a", "passed|case|1|ok|", "end|0")
        self.report("asan", "a", "failed|case|1|x|", "end|1")
        self.ctest("asan", a="fail")
        self.steps("asan|tests|8")
        status, line, failures = self.run_totals("release", "asan")
        self.assertEqual((status, line["failed"], line["asan.failed"]), (1, "1", "1"))
        self.assertEqual(failures, ["failed: asan: x"])

    def test_a_binary_without_its_end_mark_has_failed(self):
        self.report("release", "a", "passed|conformance|1|x/epoll|", "start|y/epoll")
        status, line, failures = self.run_totals("release")
        self.assertEqual((status, line["failed"]), (1, "1"))
        self.assertEqual(failures, ["failed: release: a died in: y/epoll"])

    def test_a_failure_after_the_end_mark_counts(self):
        self.report("release", "a", "passed|case|1|ok|", "end|0")
        self.report("asan", "a", "passed|case|1|x|", "end|0")
        self.ctest("asan", a="fail", b="run")
        self.assertEqual(self.run_totals("release", "asan")[1]["asan.failed"], "1")

    def test_a_test_that_never_started_counts(self):
        self.ctest("release", a="notrun")
        self.assertEqual(self.run_totals("release")[1]["failed"], "1")

    def test_two_cases_with_one_name_are_a_failure(self):
        self.report("release", "a", "passed|case|1|x|", "end|0")
        self.report("release", "b", "passed|case|1|x|", "end|0")
        self.assertEqual(self.run_totals("release")[1]["failed"], "1")

    def test_failed_steps_count(self):
        self.report("release", "a", "passed|case|1|ok|", "end|0")
        self.steps("source|lint|1", "release|tests|0", "asan|build|1")
        status, line, _ = self.run_totals("release", "asan")
        self.assertEqual((status, line["failed"], line["asan.failed"]), (1, "2", "1"))

    def test_fingerprints_must_agree_between_builds(self):
        self.report("release", "a", "same|seeds|abc", "passed|case|1|ok|", "end|0")
        self.report("asan", "a", "same|seeds|abc", "passed|case|1|ok|", "end|0")
        self.assertEqual(self.run_totals("release", "asan")[0], 0)
        self.report("asan", "a", "same|seeds|abd", "passed|case|1|ok|", "end|0")
        status, _, failures = self.run_totals("release", "asan")
        self.assertEqual(status, 1)
        self.assertEqual(failures, ["failed: all: the fingerprint seeds differs: release abc, asan abd"])

    def test_a_run_without_any_report_has_failed(self):
        self.assertEqual(self.run_totals("release")[0], 1)

    def test_variants_that_did_not_run_have_no_key(self):
        self.report("release", "a", "passed|case|1|ok|", "end|0")
        self.assertNotIn("tsan.failed", self.run_totals("release")[1])


if __name__ == "__main__":
    unittest.main()

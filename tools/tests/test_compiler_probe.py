# SPDX-License-Identifier: BSL-1.0
"""The verdicts of tests/compiler_probe/check.py: what is a failure on which compiler."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/compiler_probe"))
import check  # noqa: E402

GCC12, GCC99, CLANG19 = ("gcc", 12), ("gcc", 99), ("clang", 19)


class Verdicts(unittest.TestCase):
    def failed(self, *arguments):
        return check.judge(*arguments)[0]

    def test_a_safe_spelling_must_behave_on_every_compiler(self):
        for version in (GCC12, GCC99, CLANG19):
            self.assertTrue(self.failed("capture", "safe", version, "-O0", False))
            self.assertFalse(self.failed("capture", "safe", version, "-O0", True))

    def test_a_known_defect_must_show_where_it_is_known(self):
        self.assertFalse(self.failed("capture", "unsafe", GCC12, "-O0", False))
        self.assertTrue(self.failed("capture", "unsafe", GCC12, "-O0", True))
        self.assertTrue(self.failed("capture", "unsafe", CLANG19, "-O0", False))

    def test_a_defect_may_belong_to_one_level(self):
        self.assertFalse(self.failed("symmetric_transfer", "unsafe", GCC12, "-O0", False))
        self.assertTrue(self.failed("symmetric_transfer", "unsafe", GCC12, "-O2", False))

    def test_an_unknown_compiler_is_only_reported(self):
        self.assertFalse(self.failed("capture", "unsafe", GCC99, "-O0", True))
        self.assertFalse(self.failed("capture", "unsafe", GCC99, "-O0", False))

    def test_every_pattern_has_both_spellings(self):
        self.assertEqual(check.unpaired(), set())


if __name__ == "__main__":
    unittest.main()

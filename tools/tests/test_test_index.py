# SPDX-License-Identifier: BSL-1.0
"""The index of the tests lists each file with the first sentence of its comment, and says when it is out of date."""
import tempfile
import unittest
from pathlib import Path

import test_index


class Index(unittest.TestCase):
    def test_first_sentence(self):
        head = "// SPDX-License-Identifier: BSL-1.0\n"
        for comment, first in (
            ("// How it\n// ends (U18). And more.\nint a;\n", "How it ends (U18)."),
            ("// Uses a.b, e.g. this. More.\n", "Uses a.b, e.g. this."),
            ("// No full stop\n", "No full stop"),
        ):
            self.assertEqual(first, test_index.first_sentence(head + comment))

    def test_a_page_that_is_out_of_date(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "tests/run").mkdir(parents=True)
            (root / "tests/run/a_test.cpp").write_text("// SPDX\n// Posts in order.\n")
            page = root / test_index.PAGE
            page.write_text("Top.\n" + test_index.BEGIN + test_index.index(root) + test_index.END)
            self.assertIn("- [a_test](run/a_test.cpp): Posts in order.\n", page.read_text())
            self.assertEqual([], list(test_index.check(root)))
            (root / "tests/run/b_test.cpp").write_text("// SPDX\n// Stops.\n")
            self.assertEqual(1, len(list(test_index.check(root))))


if __name__ == "__main__":
    unittest.main()

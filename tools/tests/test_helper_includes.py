# SPDX-License-Identifier: BSL-1.0
"""helper_includes.py finds the test that relies on another test's include."""
import tempfile
import unittest
from pathlib import Path

import helper_includes

TREE = {
    "tests/support/a.hpp": 'std::string pattern(int seed);\nstruct box {\n  int inside(int);\n};\nclass later;\n',
    "tests/support/b.hpp": '#include "support/a.hpp"\ninline constexpr int sizes[] = {1};\n',
}


class HelperIncludes(unittest.TestCase):
    def complaints(self, text):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in {**TREE, "tests/io/x_test.cpp": text}.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content)
            return list(helper_includes.check(Path(folder)))

    def test_a_name_without_its_header(self):
        self.assertEqual(
            ["tests/io/x_test.cpp:2: helper-include: pattern is in support/a.hpp"],
            self.complaints('#include "support/c.hpp"\nusing beck::test::pattern;\nusing beck::test::pattern;\n'),
        )
        self.assertEqual(
            ["tests/io/x_test.cpp:2: helper-include: sizes is in support/b.hpp"],
            self.complaints('#include "support/a.hpp"\nauto all = beck::test::sizes;\n'),
        )

    def test_a_header_may_come_through_another_one(self):
        self.assertEqual([], self.complaints('#include "support/b.hpp"\nusing beck::test::box;\n'))

    def test_members_comments_and_names_of_no_header_do_not_count(self):
        self.assertEqual([], self.complaints("using beck::test::inside;\n// beck::test::box\nbeck::test::other();\n"))


if __name__ == "__main__":
    unittest.main()

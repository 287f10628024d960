# SPDX-License-Identifier: BSL-1.0
""".editorconfig, .clang-format and lint.py say the same of a file's shape."""
import configparser
import re
import unittest
from pathlib import Path

import lint

ROOT = Path(__file__).parents[2]


class Editorconfig(unittest.TestCase):
    def test_it_agrees_with_the_other_tools(self):
        said = configparser.ConfigParser()
        said.read_string("[top]\n" + (ROOT / ".editorconfig").read_text())
        style = dict(re.findall(r"^(\w+): (\w+)$", (ROOT / ".clang-format").read_text(), re.MULTILINE))
        self.assertEqual(lint.SCRIPT_COLUMNS_MAX, int(said["*"]["max_line_length"]))
        cpp = int(said["*.{cpp,hpp}"]["max_line_length"])
        self.assertEqual({cpp}, {int(style["ColumnLimit"]), *lint.COLUMNS_MAX.values()})
        self.assertEqual("Google", style["BasedOnStyle"])  # which indents by two, with spaces
        self.assertEqual(("space", "2"), (said["*"]["indent_style"], said["*"]["indent_size"]))


if __name__ == "__main__":
    unittest.main()

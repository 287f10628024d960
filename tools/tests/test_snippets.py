# SPDX-License-Identifier: BSL-1.0
"""snippets.py takes every C++ block, wraps it as its first line says, and refuses what it cannot compile."""
import tempfile
import unittest
from pathlib import Path

import snippets


class Blocks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, text):
        (self.root / "README.md").write_text(text)
        return [path.read_text() for path in snippets.write_all(self.root, self.root / "out")]

    def test_a_whole_file_stays_as_it_is(self):
        [source] = self.write("text\n```cpp\n#include <a>\nint main() {}\n```\n")
        self.assertEqual(source, '#line 3 "README.md"\n#include <a>\nint main() {}\n')

    def test_statements_stand_in_a_coroutine(self):
        [source] = self.write("```cpp\n// statements\nco_await x;\n```\n")
        self.assertIn('#line 2 "README.md"\n// statements\nco_await x;\n', source)
        self.assertIn("beck::task<> snippet(", source)

    def test_declarations_stand_behind_the_umbrella(self):
        [source] = self.write("```cpp\n// declarations\nstruct s;\n```\n")
        self.assertTrue(source.startswith("#include <beck/beck.hpp>\n"))

    def test_ignored_blocks_and_other_languages_are_left_out(self):
        self.assertEqual(self.write("```cpp ignore\nx\n```\n```sh\n./run\n```\n"), [])

    def test_a_removed_block_disappears(self):
        self.write("```cpp\n#include <a>\n```\n")
        self.write("nothing\n")
        self.assertEqual(list((self.root / "out").iterdir()), [])

    def test_an_unmarked_or_open_block_is_an_error(self):
        with self.assertRaisesRegex(snippets.Unusable, "README.md:1: begin the block"):
            self.write("```cpp\nx();\n```\n")
        with self.assertRaisesRegex(snippets.Unusable, "never closed"):
            self.write("```cpp\n#include <a>\n")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSL-1.0
"""A name in a comment is one of the tree's, of a file's, of the list's, or a complaint."""
import tempfile
import unittest
from pathlib import Path

import comment_names
from cpp_text import files


def complaints(**texts):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            (Path(folder) / f"{name}.cpp").write_text(text)
        return list(comment_names.check(Path(folder)))


class CommentNames(unittest.TestCase):
    def test_a_name_that_no_code_has(self):
        found = complaints(a="// calls close_detached(d)\nint close_if_idle;\n")
        self.assertEqual(1, len(found))
        self.assertIn("a.cpp:1: comment-name: close_detached", found[0])
        self.assertEqual(1, len(complaints(a="int a; /* see gone() */\n")))

    def test_names_that_exist(self):
        self.assertEqual([], complaints(a="int some_name;  // some_name, and of some_names\n", b="// some_name\n"))
        self.assertEqual([], complaints(a='const char* s = "in_a_string";  // in_a_string\n'))
        self.assertEqual([], complaints(some_file="// some_file, other/path_of.hpp\n"))
        self.assertEqual([], complaints(a="// if_nametoindex(3), plain words\n"))

    def test_a_name_only_in_comments_is_unknown(self):
        self.assertEqual(2, len(complaints(a="// no_code\n", b="// no_code\n")))

    def test_the_list_is_in_order_and_needed(self):
        lines = [line.split()[0] for line in comment_names.LIST.read_text().splitlines() if not line.startswith("#")]
        self.assertEqual(sorted(set(lines)), lines)
        root = Path(__file__).resolve().parents[2]
        texts = ((root / path).read_text() for path in files(root, ".hpp", ".cpp"))
        used = set(comment_names.WORD.findall("\n".join(texts)))
        self.assertEqual(set(), set(lines) - used)


if __name__ == "__main__":
    unittest.main()

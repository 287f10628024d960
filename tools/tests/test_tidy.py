# SPDX-License-Identifier: BSL-1.0
"""tidy.py finds what it should in a small tree, remembers what has passed, and knows an empty NOLINT."""
import shutil
import tempfile
import unittest
from pathlib import Path

import tidy

SETTINGS = (Path(__file__).parents[2] / ".clang-tidy").read_text()
CLEAN = '#include "a.hpp"\nnamespace beck {\nint twice(int number) { return 2 * number; }\n}\n'


@unittest.skipUnless(shutil.which(tidy.TIDY) and shutil.which(tidy.INCLUDE_CLEANER), "needs clang-tidy-19")
class Tidy(unittest.TestCase):
    def check(self, files):
        for name, text in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        return tidy.check(self.root, 2)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        self.check({
            ".clang-tidy": SETTINGS,
            "include/beck/b.hpp": "#pragma once\n",
            "src/a.hpp": "#pragma once\nnamespace beck {\nint twice(int number);\n}\n",
            "src/a.cpp": CLEAN,
        })

    def test_a_clean_tree_and_what_has_passed(self):
        self.assertEqual([], self.check({}))
        stamps = set((self.root / "build/tidy/passed").iterdir())
        self.assertEqual(4, len(stamps))  # the batch of sources, the headers, the includes of a.cpp and a.hpp
        self.assertEqual([], self.check({}))
        self.assertEqual(stamps, set((self.root / "build/tidy/passed").iterdir()))
        found = self.check({"src/a.cpp": CLEAN.replace("number", "Number")})
        self.assertEqual(["src/a.cpp:3:15"], [text.split(": ")[0] for text in found])

    def test_names_in_a_public_header(self):
        text = "#pragma once\nnamespace beck {\nclass BadName {\n  int data;\n};\n}\n"
        found = self.check({"include/beck/b.hpp": text})
        self.assertEqual(2, len(found))
        self.assertIn("include/beck/b.hpp:3:7: ", found[0])
        self.assertIn("'BadName'", found[0])
        self.assertIn("include/beck/b.hpp:4:7: ", found[1])

    def test_a_long_function(self):
        found = self.check({"src/a.cpp": CLEAN.replace("return", "\n" * 80 + "return")})
        self.assertEqual(["readability-function-size"], [tidy.re.search(r"\[([\w-]+)\]", text)[1] for text in found])

    def test_an_unused_include(self):
        found = self.check({"src/a.cpp": "#include <vector>\n" + CLEAN})
        self.assertEqual(["src/a.cpp:1: unused-include: <vector>"], found)

    def test_a_missing_include(self):
        header = "#pragma once\n#include <cstddef>\n#include <string>\nnamespace beck {\n%s;\n}\n"
        source = '#include "a.hpp"\nnamespace beck {\n%s { return %s; }\n}\n'
        length = "std::size_t length(const std::string& of)"
        found = self.check({
            "src/a.hpp": header % length,
            "src/a.cpp": source % (length, "of.size()"),
            "src/b.cpp": source % ("std::size_t length_of(std::string_view of)", "length(std::string(of))"),
        })
        self.assertEqual(["src/b.cpp:1: missing-include: <string_view>"], found)

    def test_a_private_header_that_relies_on_others(self):
        header = "#pragma once\nnamespace beck {\nusing text = std::string_view;\n}\n"
        source = ('#include <string_view>\n#include "c.hpp"\nnamespace beck {\n'
                  "std::string_view none() { return text(); }\n}\n")
        found = self.check({"src/c.hpp": header, "src/c.cpp": source})
        self.assertEqual(["src/c.hpp:1: missing-include: <string_view>"], found)

    def test_sources_that_cannot_stand_in_one_file(self):
        alike = "namespace {\nint one() { return 1; }\n}\nint %s() { return one(); }\n"
        self.assertEqual([], self.check({"src/b.cpp": alike % "b", "src/c.cpp": alike % "c"}))

    def test_a_source_that_does_not_compile(self):
        found = self.check({"src/b.cpp": "int b() { return missing; }\n"})
        self.assertTrue(any("src/b.cpp:1:18: error: use of undeclared identifier" in text for text in found), found)

    def test_nolints(self):
        line = "int %s_NAME();  // NOLINT%s\n"
        found = self.check({
            "src/b.cpp": line % ("A", "(readability-identifier-naming): as the kernel has it")
            + line % ("B", "") + line % ("C", "(google-explicit-constructor): off")
            + line % ("D", "(readability-identifier-naming)"),
            "tests/b.cpp": "int b;  // NOLINT(readability-identifier-naming): nobody looks here\n",
        })
        found = [text for text in found if "nolint: " in text]
        self.assertEqual(["src/b.cpp:2", "src/b.cpp:3", "src/b.cpp:4", "tests/b.cpp:1"],
                         [text.split(": ")[0] for text in found])


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSL-1.0
"""The figures count what they say, in a tree that is small enough to count by eye."""
import shutil
import tempfile
import unittest
from pathlib import Path

import figures

LOOP = """namespace beck::detail {
class io_loop {
 public:
  io_loop();
  void run();
  void run(int turns);
  bool is_shared() const;
  int turns = 0;
};
}
"""


class Figures(unittest.TestCase):
    @unittest.skipUnless(shutil.which("clang++-19"), "needs clang++-19")
    def test_a_small_tree(self):
        tree = {
            "src/io/loop/io_loop.hpp": LOOP,
            "src/a.cpp": '#include "io/loop/io_loop.hpp"\n// is_shared()\nbool b = loop.is_shared();\n' + "\n" * 60,
            "src/b.cpp": "int b;\n" * 401 + "/" * 101 + "\n",
            "api_names.txt": "# head\nbeck::one\nbeck::one::two\nbeck::three\n",
        }
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in tree.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            found = {figure: value for figure, value, _ in figures.figures(root)}
        self.assertEqual(4, found["member functions of io_loop"])
        self.assertEqual(2, found["names directly in beck::"])
        self.assertEqual(1, found["files of src under 60 lines"])
        self.assertEqual(1, found["files of src over 400 lines"])
        self.assertEqual(2, found["uses of is_shared()"])
        self.assertEqual(1, found["lines of src and include over 100 columns"])
        self.assertEqual(1, found["files of src that include io_loop.hpp"])


if __name__ == "__main__":
    unittest.main()

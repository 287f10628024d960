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

PART = """namespace beck::http::detail {
struct base {
  void inherited();
  bool a;
};
class part : public base {
 public:
  part();
  void f();
  int g(int);
 private:
  struct inner { int x; void h(); };
  int n;
  bool b;
};
}
"""

TLS = '#include "io/b.hpp"\n// What it does with what.\n' + "BECK_ASSERT(a, t);\n" * 2 + "\n" * 60

OPTIONS = """class io_context {
  struct options {
    int threads = 1;
  };
};
struct tcp_options;
"""


class Figures(unittest.TestCase):
    @unittest.skipUnless(shutil.which("clang++-19"), "needs clang++-19")
    def test_a_small_tree(self):
        tree = {
            "src/io/loop/io_loop.hpp": LOOP,
            "src/http/part.hpp": PART,
            "src/http/part.cpp": "void part::f() {}\nint part::g(int) { return 1; }\n",
            "src/http/more.cpp": "part::part() {}\n",
            "src/a.cpp": '#include "io/loop/io_loop.hpp"\n// is_shared()\nbool b = loop.is_shared();\n' + "\n" * 60,
            "src/b.cpp": "int b;\n" * 401 + "/" * 101 + "\n",
            "src/tls/a.cpp": TLS,
            "include/beck/io/io_context.hpp": OPTIONS,
            "include/beck/net/socket_option.hpp": OPTIONS,
            "docs/http.md": "# T\nOne two three. Four `a b c`:\n\n```\nx y z\n```\n- Two words\n",
            "api_names.txt": "# head\nbeck::one\nbeck::one::two\nbeck::three\n",
        }
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in tree.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            found = {figure: value for figure, value, _ in figures.figures(root)}
            classes = list(figures.class_table(root))
        self.assertEqual(4, found["functions of io_loop, with its bases"])
        self.assertEqual(1, found["members of io_loop, with its bases"])
        self.assertEqual("| beck::http::detail::part | 4 | 3 | 2 | 2 |", classes[2])
        self.assertEqual(2, found["names directly in beck::"])
        self.assertEqual(32, found["lines of tls for each assert"])
        self.assertEqual(4000.0, found["`what` per 10,000 words of comments of tls"])
        self.assertEqual(1, found["private includes of io/ in tls"])
        self.assertEqual(2.7, found["words a sentence in docs/http.md"])
        self.assertEqual(3, found["lines of classes of options"])
        self.assertEqual(0, found["functions over 70 lines"])
        self.assertEqual(4, found["files of src under 60 lines"])
        self.assertEqual(1, found["files of src over 400 lines"])
        self.assertEqual(2, found["uses of is_shared()"])
        self.assertEqual(1, found["lines of src and include over 100 columns"])
        self.assertEqual(1, found["files of src that include io_loop.hpp"])


if __name__ == "__main__":
    unittest.main()

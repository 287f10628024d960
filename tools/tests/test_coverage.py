# SPDX-License-Identifier: BSL-1.0
"""coverage.py counts what it says, of a program that is small enough to count by eye."""
import contextlib
import io
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import coverage

SOURCE = """int half(int number) {
  if (number < 0) {
    return 0;
  }
  return number / 2;
}
int unused() { return 1; }
int main() { return half(0); }
"""


class Coverage(unittest.TestCase):
    @unittest.skipUnless(shutil.which("clang++-19") and shutil.which("llvm-cov-19"), "needs clang++-19 and llvm-cov-19")
    def test_a_small_program(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            (root / "src").mkdir()
            (root / "src/a.cpp").write_text(SOURCE)
            subprocess.run(["clang++-19", "-fprofile-instr-generate", "-fcoverage-mapping", root / "src/a.cpp",
                            "-o", root / "a"], check=True)
            environment = os.environ | {"LLVM_PROFILE_FILE": str(root / "profiles/%m.profraw")}
            subprocess.run([root / "a"], check=True, env=environment)
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                coverage.main(root, root / "report", ["a"], root)
            self.assertTrue((root / "report/index.html").exists())
        # Not run: two lines of half, and unused. Of two ways at the if, one is taken.
        self.assertIn(coverage.row("total", (5, 8, 1, 2)), printed.getvalue().splitlines())

    def test_files_of_others_and_files_without_code_are_left_out(self):
        def file(name, lines):
            summary = {"lines": {"covered": 1, "count": lines}, "branches": {"covered": 0, "count": 0}}
            return {"filename": name, "summary": summary}

        found = [file("/r/src/a.cpp", 2), file("/r/src/empty.cpp", 0)]
        found += [file("/r/tests/b.cpp", 2), file("/s/src/c.cpp", 2)]
        self.assertEqual({Path("src/a.cpp"): (1, 2, 0, 0)}, coverage.of_library(found, Path("/r")))

    def test_the_order(self):
        counts = {
            Path("src/io/good.cpp"): (90, 100, 5, 10),
            Path("src/io/bad.cpp"): (10, 100, 0, 0),
            Path("src/io/small.cpp"): (0, 3, 0, 0),
            Path("include/beck/all.hpp"): (30, 30, 0, 0),
        }
        self.assertEqual(["bad.cpp", "good.cpp", "all.hpp"], [p.name for p in coverage.least_covered(counts)])
        lines = [line.split()[0] for line in coverage.report(counts) if line]
        self.assertEqual(["lines", "src/io", "include/beck", "the", "src/io/bad.cpp", "src/io/good.cpp",
                          "include/beck/all.hpp", "include", "src", "total"], lines)

    def test_without_profiles(self):
        with self.assertRaisesRegex(SystemExit, "no profiles in /nowhere/profiles"):
            coverage.main(Path("/nowhere"), Path("/nowhere/report"), ["a"], Path("/nowhere"))


if __name__ == "__main__":
    unittest.main()

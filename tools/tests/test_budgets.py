# SPDX-License-Identifier: BSL-1.0
"""budgets.py counts what the compiler sees and objects to what is over its budget."""
import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import budgets


class Budgets(unittest.TestCase):
    def run_on(self, facade=None, **headers):
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            for name, text in headers.items():
                path = Path(folder, "include/beck", name.replace("__", "/") + ".hpp")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            if facade is not None:
                path = Path(folder, "asio/include/beck/asio")
                path.mkdir(parents=True)
                for name in ("one.hpp", "all.hpp"):
                    (path / name).write_text(facade)
                lines = (f"{name}.hpp  one.hpp\n" for name in budgets.FACADE_ECHO_HEADERS)
                Path(folder, "asio/headers.txt").write_text("".join(lines) + "spawn.hpp  !  use something else\n")
            with contextlib.redirect_stdout(out):
                status = budgets.main(Path(folder))
        return status, out.getvalue()

    def test_lines_behind_includes_are_counted(self):
        empty = budgets.count_lines("", Path("."))
        self.assertGreater(budgets.count_lines("#include <coroutine>\n", Path(".")), empty + 500)

    def test_a_heavy_header_is_over_its_budget(self):
        heavy = budgets.BASE + "int a;\n" * (budgets.HEADER_LINES_MAX + 1)
        status, output = self.run_on(io__light="int a;\n", io__heavy=heavy)
        self.assertEqual(status, 1)
        self.assertIn(f"beck/io/heavy.hpp: {budgets.HEADER_LINES_MAX + 1}", output)
        self.assertNotIn("beck/io/light.hpp: ", output)

    def test_the_umbrella_may_hold_more_and_interop_anything(self):
        within = budgets.BASE + "int a;\n" * budgets.UMBRELLA_LINES_MAX
        over = within + "int a;\n"
        self.assertEqual(self.run_on(beck=within, interop__a=budgets.BASE + "int a;\n" * 40000)[0], 0)
        self.assertEqual(self.run_on(beck=over)[0], 1)

    def test_an_echo_server_over_the_facade_and_the_whole_of_it_have_budgets(self):
        echo = "#pragma once\n" + budgets.BASE + budgets.includes(budgets.FACADE_ECHO_STANDARD)
        status, output = self.run_on(io__a="int a;\n", facade=echo + "extern int a;\n" * budgets.FACADE_ECHO_LINES_MAX)
        self.assertEqual(status, 0)
        everything = echo + budgets.includes(budgets.FACADE_STANDARD)
        everything += "extern int a;\n" * (budgets.FACADE_LINES_MAX + 1)
        status, output = self.run_on(io__a="int a;\n", facade=everything)
        self.assertEqual(status, 1)
        self.assertIn("an echo server over asio/: ", output)
        self.assertIn(f"asio.hpp: {budgets.FACADE_LINES_MAX + 1} ", output)

    def test_documentation_does_not_count(self):
        documented = budgets.BASE + "// why\n\nint a;\n" * budgets.HEADER_LINES_MAX
        self.assertEqual(self.run_on(io__a=documented)[0], 0)

    def test_a_header_that_does_not_compile_is_an_error(self):
        with self.assertRaises(RuntimeError):
            self.run_on(io__a="#include <no/such/header>\n")


if __name__ == "__main__":
    unittest.main()

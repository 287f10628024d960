# SPDX-License-Identifier: BSL-1.0
"""asio/semantics/table.py: rows that differ, differences that are gone, and the table of the page."""
import importlib.util
import unittest
from pathlib import Path

PATH = Path(__file__).resolve().parents[2] / "asio" / "semantics" / "table.py"
SPEC = importlib.util.spec_from_file_location("semantics_table", PATH)
table = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(table)

ASIO = {"a": "1", "b": "2", "c": "3"}


def found(**changes):
    return table.compare(ASIO, {"epoll": ASIO | changes, "io_uring": ASIO | changes})


class Compare(unittest.TestCase):
    def test_rows_that_agree_are_not_found(self):
        self.assertEqual(found(), {})

    def test_a_row_that_differs_on_one_backend_names_it(self):
        one = table.compare(ASIO, {"epoll": ASIO, "io_uring": ASIO | {"b": "x"}})
        self.assertEqual(one, {"b": ("2", "epoll: 2; io_uring: x")})

    def test_a_row_that_one_program_lacks_differs(self):
        self.assertEqual(table.compare({}, {"epoll": {"a": "1"}}), {"a": ("no such row", "1")})


class Complaints(unittest.TestCase):
    def test_a_difference_that_is_not_listed(self):
        self.assertEqual([text.split(":")[0] for text in table.complaints({}, found(b="x"))], ["b"])

    def test_a_listed_difference_that_is_gone(self):
        self.assertEqual(len(list(table.complaints({"b": {"why": "w"}}, found()))), 1)

    def test_a_listed_difference(self):
        self.assertEqual(list(table.complaints({"b": {"why": "w"}}, found(b="x"))), [])

    def test_without_one_backend_differences_may_be_gone(self):
        self.assertEqual(list(table.complaints({"b": {"why": "w"}}, found(), whole=False)), [])
        self.assertEqual(len(list(table.complaints({}, found(b="x"), whole=False))), 1)


class Page(unittest.TestCase):
    def test_the_table_has_the_differences_and_the_count(self):
        lines = table.table({"b": {"why": "A reason.", "way": "`call`"}}, found(b="x|y"), 2)
        self.assertIn("| b | 2 | x\\|y | A reason. `call` |", lines)
        self.assertIn("In 2 other rows they agree.", lines)

    def test_the_table_replaces_what_is_between_the_marks(self):
        page = f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n"
        lines = table.table({}, {}, 3)
        once = table.with_table(page, lines)
        self.assertTrue(once.startswith("before\n") and once.endswith("\nafter\n"))
        self.assertNotIn("old", once)
        self.assertEqual(table.with_table(once, lines), once)


if __name__ == "__main__":
    unittest.main()

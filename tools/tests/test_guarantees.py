# SPDX-License-Identifier: BSL-1.0
"""The cases that docs/guarantees.md names exist, and every class of failure that it lists names one."""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guarantees.md"
CLASS = re.compile(r"^\| ([USK]\d+) \| ", re.M)
CASE = re.compile(r"^\| ([^|]+) \| (\S+_test\.cpp) \| (.+) \|$", re.M)
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
# What is never done, and what a program without privileges cannot show.
WITHOUT_A_CASE = {"U14", "U15"}


def sentences(file):
    """A source's string literals, those that stand next to each other as one."""
    return "".join(LITERAL.findall(re.sub(r'"\s*\n\s*"', "", (ROOT / "tests" / file).read_text())))


def expanded(ids):
    """U1 to U8, U10: the single ids."""
    for part in ids.split(", "):
        first, _, last = part.partition(" to ")
        if last:
            yield from (f"{first[0]}{n}" for n in range(int(first[1:]), int(last[1:]) + 1))
        else:
            yield first


class Guarantees(unittest.TestCase):
    def setUp(self):
        self.text = PAGE.read_text()

    def test_the_cases_that_it_names_exist(self):
        cases = CASE.findall(self.text)
        self.assertGreater(len(cases), 30)
        for _, file, sentence in cases:
            with self.subTest(file=file):
                self.assertIn(sentence, sentences(file))

    def test_each_class_of_failure_names_a_case(self):
        covered = {one for ids, _, _ in CASE.findall(self.text) for one in expanded(ids)}
        self.assertEqual(set(CLASS.findall(self.text.partition("### Which tests")[0])) - covered, WITHOUT_A_CASE)

# SPDX-License-Identifier: BSL-1.0
"""Measures the unit tests of an Asio source tree: each file compiled with the facade and run, its cases counted.

The cases of a file are those that it has with Asio: its preprocessed text names them. A file whose only case is
null_test shows that a header can be included; these are counted by themselves. Tests of properties are left out.
"""
import re
from pathlib import Path

from . import libraries, stage

HARNESS = Path(__file__).resolve().parent / "unit_test.hpp"
CASE = re.compile(r'(?:run|compile)_test<&[^>]*>\(\s*"([^"]*)"\s*\)')
PASSED = re.compile(r"^(.+) passed$", re.MULTILINE)
CHECK = re.compile(r"^\S*?([^/\s]+\(\d+\)): (.*)$", re.MULTILINE)


class Unit:
    """A file of tests, and what became of it."""

    def __init__(self, name, cases):
        self.name, self.cases = name, cases
        self.error = None  # of the compiler
        self.passed = {}  # backend -> names of cases
        self.failures = {}  # backend -> a sentence


def find(folder, only):
    root = folder / "src/tests/unit"
    return root, sorted(path for path in root.rglob("*.cpp") if only in str(path.relative_to(root)))


def measure(objects, asio, facade, root, source):
    """Compiles and runs a file. Returns the unit, or None if it has no case with Asio."""
    name = str(source.relative_to(root).with_suffix(""))
    text = objects.compiler.preprocess(source, asio._replace(includes=(*asio.includes, root)))
    cases = CASE.findall(text) if text is not None else []
    if not cases:
        return None
    unit = Unit(name, cases)
    facade = facade._replace(includes=(*facade.includes, root), prelude=(HARNESS,))
    program, unit.error = objects.build([source], facade)
    objects.forget(source, facade)
    if program is None:
        return unit
    for backend in libraries.BACKENDS:
        said, error = stage.perform(stage.Play("start it\nfinish it\n", limit_s=60), {"it": program}, backend)
        text = "".join(part for _, part in said)
        passed = PASSED.findall(text)
        unit.passed[backend] = [case for case in cases if case in passed]
        if len(unit.passed[backend]) < len(cases):
            check = CHECK.search(text)
            unit.failures[backend] = error or (f"{check.group(1)}: {check.group(2)}" if check else text[-160:])
    program.unlink()
    return unit

# SPDX-License-Identifier: BSL-1.0
"""Checks that a test which names something of the tests' headers (beck::test::NAME) includes its header, itself or
through another one. ./test compiles many tests as one unit, where the include of another test hides that one is
missing.
"""
import re

from cpp_text import code_only, files, line_of

FOLDER = "tests"
NAMED = re.compile(r"\bbeck::test::(\w+)")
INCLUDED = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
# The text of a namespace is not indented; members and parameters are.
DECLARED = re.compile(r"^(?!using beck::|namespace|[\s#/}])(?:[^\n(={;]*[\s*&])?(\w+)\s*(?:[({;=[]|: |$)", re.MULTILINE)


def closure(start, included):
    """The headers that a file includes, and those that they include."""
    seen, left = set(), [start]
    while left:
        for name in included.get(left.pop(), ()):
            if name not in seen:
                seen.add(name)
                left.append(name)
    return seen


def check(root):
    """Yields file:line: helper-include: message for each name without the include of a header that declares it."""
    tests = root / FOLDER
    texts = {path.as_posix(): (tests / path).read_text() for path in files(tests, ".hpp", ".cpp")}
    included = {path: INCLUDED.findall(text) for path, text in texts.items()}
    declaring = {}
    for path, text in texts.items():
        if path.endswith(".hpp"):
            for name in DECLARED.findall(code_only(text)):
                declaring.setdefault(name, set()).add(path)
    for path, text in texts.items():
        reachable = closure(path, included) | {path}
        code, told = code_only(text), set()
        for match in NAMED.finditer(code):
            headers = declaring.get(match[1], set())
            if headers and not headers & reachable and match[1] not in told:
                told.add(match[1])
                line = line_of(code, match.start())
                yield f"{FOLDER}/{path}:{line}: helper-include: {match[1]} is in {' or '.join(sorted(headers))}"

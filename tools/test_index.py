#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Makes the index of tests/README.md: for each file of cases the first sentence of its comment, by folder.

usage: test_index.py [--update]

Without an argument: prints a complaint and exits with 1 if the index is not what it would make.
"""
import re
import sys
from pathlib import Path

from cpp_text import files

PAGE = Path("tests/README.md")
BEGIN, END = "<!-- index: tools/test_index.py --update -->\n", "<!-- end of the index -->\n"


def first_sentence(text):
    """The first sentence of the comment below the licence line."""
    words = []
    for line in text.splitlines()[1:]:
        if not line.startswith("//"):
            break
        words.append(line[2:].strip())
    comment = " ".join(words).strip()
    end = re.search(r"(?<!\be\.g)(?<!\bi\.e)[.](?=\s+[A-Z]|$)", comment)
    return comment[: end.end()] if end else comment


def index(root):
    sections = {}
    for path in files(root, "_test.cpp"):
        if path.parts[0] != "tests":
            continue
        sections.setdefault(path.parent.relative_to("tests").as_posix(), []).append(path)
    lines = []
    for folder in sorted(sections):
        lines += [f"\n## {folder}\n"]
        for path in sections[folder]:
            text = first_sentence((root / path).read_text())
            lines.append(f"- [{path.stem}]({path.relative_to('tests').as_posix()}): {text}")
    return "\n".join(lines).lstrip("\n") + "\n"


def split(page):
    before, rest = page.split(BEGIN)
    return before, *rest.split(END)


def check(root):
    before, inside, after = split((root / PAGE).read_text())
    if inside != index(root):
        yield f"{PAGE}:1: test-index: the index is not up to date: tools/test_index.py --update"


if __name__ == "__main__":
    tree = Path(__file__).resolve().parents[1]
    if sys.argv[1:] == ["--update"]:
        before, _, after = split((tree / PAGE).read_text())
        (tree / PAGE).write_text(before + BEGIN + index(tree) + END + after)
    else:
        complaints = list(check(tree))
        print(*complaints, sep="\n", end="\n" if complaints else "")
        sys.exit(1 if complaints else 0)

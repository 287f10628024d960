# SPDX-License-Identifier: BSL-1.0
"""Finds names in comments that nothing in the tree bears: the thing was renamed and its comment was not.

A name is a word with an underscore, or one that is followed by (). It is known if code or a string has it, if a file
is called so, or if comment_names.txt lists it: names of the kernel, of the C library and of made-up examples.
"""
import re
from pathlib import Path

from cpp_text import LITERALS, files, line_of

WORD = re.compile(r"[A-Za-z_]\w*")
NAMED = re.compile(r"\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\b(?![-/]|\.\w)|\b([a-z]\w+)\(\)")
LIST = Path(__file__).with_name("comment_names.txt")


def split(text):
    """The comments of a file as (line, text), and the set of words of the rest."""
    comments = []

    def take(match):
        if match.group().startswith("/"):
            comments.append((line_of(text, match.start()), match.group()))
            return " "
        return match.group()

    return comments, set(WORD.findall(LITERALS.sub(take, text)))


def listed():
    lines = LIST.read_text().splitlines()
    return {line.split()[0] for line in lines if line and not line.startswith("#")}


def check(root):
    known, commented = listed(), []
    for path in files(root, ".hpp", ".cpp"):
        comments, words = split((root / path).read_text())
        known |= words | {path.stem}
        commented += [(path, line, text) for line, text in comments]
    for path, line, text in commented:
        for match in NAMED.finditer(text):
            name = match[1] or match[2]
            if name not in known and not (name.endswith("s") and name[:-1] in known):
                yield f"{path}:{line}: comment-name: {name} is no name of this tree, nor in tools/comment_names.txt"

# SPDX-License-Identifier: BSL-1.0
"""Looks at C++ as text: enough for lint, far from a parser. Line structure is always kept."""
import os
import re
from pathlib import Path

IGNORED = {".git", "build", "out", "__pycache__"}

LITERALS = re.compile(
    r"""//(?:\\\n|[^\n])*"""  # comment to the end of the line
    r"""|/\*.*?\*/"""  # block comment
    r"""|R"([^\s()\\]{0,16})\(.*?\)\1\""""  # raw string
    r"""|"(?:\\.|[^"\\\n])*\""""  # string
    r"""|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'""",  # character, but not a digit separator
    re.DOTALL,
)
_TEMPLATE = re.compile(r"\btemplate\s*<")
_TYPE_HEAD = re.compile(r"^\s*(?:export\s+)?(?:inline\s+)?(class|struct|union|enum|namespace|extern)\b")


def files(root, *suffixes):
    """All files of a tree with one of the suffixes, as sorted relative paths."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = set(folders) - IGNORED  # not entered: build/ may hold whole systems
        found += [Path(folder, name).relative_to(root) for name in names if name.endswith(suffixes)]
    return sorted(path for path in found if Path(root, path).is_file())


def code_only(text):
    """The text with comments and the insides of literals replaced by blanks."""

    def blank(match):
        found = match.group()
        blanks = re.sub(r"[^\n]", " ", found)
        return blanks if found.startswith("/") else found[0] + blanks[1:-1] + found[-1]

    return LITERALS.sub(blank, text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def closing(code, start):
    """The position of the bracket that closes the one at `start`, or the end of the text."""
    pairs = {"(": ")", "[": "]", "{": "}"}
    opened, closed = code[start], pairs[code[start]]
    depth = 0
    for position in range(start, len(code)):
        if code[position] == opened:
            depth += 1
        elif code[position] == closed:
            depth -= 1
            if depth == 0:
                return position
    return len(code)


def _without_templates(head):
    """Drops `template <...>`, whose parameters look like classes."""
    match = _TEMPLATE.search(head)
    while match:
        depth, end = 1, match.end()
        while end < len(head) and depth > 0:
            depth += {"<": 1, ">": -1}.get(head[end], 0)
            end += 1
        head = head[: match.start()] + head[end:]
        match = _TEMPLATE.search(head)
    return head


def functions(code):
    """The outermost function bodies, as (start, end) of their braces. Takes text from code_only."""
    position = head_start = 0
    while position < len(code):
        char = code[position]
        if char in ";}":
            head_start = position + 1
        elif char == "{":
            head = _without_templates(re.sub(r"(?m)^\s*#.*$", "", code[head_start:position]))
            end = closing(code, position)
            if code[end + 1 :].lstrip()[:1] in (",", "{"):  # a member's initializer
                position = end
            else:
                if "(" in head and not _TYPE_HEAD.match(head):
                    yield position, end
                    position = end
                head_start = position + 1
        position += 1

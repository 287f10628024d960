#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Counts the figures by which the shape of the code is judged, and prints them as a table with their limits.

usage: figures.py [ROOT]

Members of io_loop are counted by clang++-19; everything else is counted in the text.
"""
import re
import subprocess
import sys
from pathlib import Path

from cpp_text import code_only, files

SMALL_LINES, LARGE_LINES, COLUMNS = 60, 400, 100
MEMBER = re.compile(r"^[|` ]*-CXX(?:Method|Constructor|Destructor)Decl (?!.*\bimplicit\b)", re.MULTILINE)


def members(root, header, name):
    """Member functions that a class of a header in src declares, overloads counted one by one."""
    command = ["clang++-19", "-std=c++20", f"-I{root}/src", f"-I{root}/include", "-fsyntax-only", "-x", "c++", "-"]
    command += ["-fno-color-diagnostics", "-Xclang", "-ast-dump", "-Xclang", f"-ast-dump-filter={name}"]
    text = subprocess.run(command, input=f'#include "{header}"\n', capture_output=True, text=True, check=True).stdout
    return sum(len(MEMBER.findall(part)) for part in text.split("Dumping ") if part.startswith(f"{name}:\n"))


def figures(root):
    """Yields (figure, value, limit); a limit of None is only shown."""
    sources = [path for path in files(root, ".hpp", ".cpp") if path.parts[0] == "src"]
    texts = {path: (root / path).read_text() for path in sources}
    public = {p: (root / p).read_text() for p in files(root, ".hpp") if p.parts[0] == "include"}
    lines = {path: text.count("\n") for path, text in texts.items()}
    names = [n for n in (root / "api_names.txt").read_text().split("\n") if re.fullmatch(r"beck::[^:]+", n)]
    loop = next(p.relative_to("src").as_posix() for p in texts if p.name == "io_loop.hpp")
    loop_users = sum(f'"{loop}"' in text for text in texts.values())
    yield "member functions of io_loop", members(root, loop, "beck::detail::io_loop"), 70
    yield "names directly in beck::", len(names), 220
    yield f"files of src under {SMALL_LINES} lines", sum(n < SMALL_LINES for n in lines.values()), 40
    yield f"files of src over {LARGE_LINES} lines", sum(n > LARGE_LINES for n in lines.values()), 0
    yield "uses of is_shared()", sum(code_only(t).count("is_shared()") for t in texts.values()), 15
    long = sum(len(line) > COLUMNS for t in [*texts.values(), *public.values()] for line in t.splitlines())
    yield f"lines of src and include over {COLUMNS} columns", long, 0
    yield "`case op_kind::` in src", sum(t.count("case op_kind::") for t in texts.values()), None
    yield "files of src that include io_loop.hpp", loop_users, None
    yield "files of src", len(texts), None
    yield "lines of src", sum(lines.values()), None


def table(rows):
    yield "| figure | now | at most |"
    yield "|---|---|---|"
    for figure, value, limit in rows:
        yield f"| {figure} | {value:,} | {'' if limit is None else f'{limit:,}'} |"


if __name__ == "__main__":
    print(*table(figures(Path(sys.argv[1] if len(sys.argv) > 1 else "."))), sep="\n")

#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Finds calls in the public headers whose function is looked up through the types of their arguments: a handler whose
type mentions a namespace with a function of that name (Asio's, or a user's) makes them ambiguous. Whatever they name
has to be qualified; operators are exempt, and functions that belong to a user's type (MEANT).

usage: adl_calls.py [ROOT]

clang++-19 knows which calls these are. Prints file:line: name; exits with 1 if there is one.
"""
import re
import subprocess
import sys
from pathlib import Path

PLACE = re.compile(r"(?P<file>[^\s<>,:]+\.[a-z]+):(?P<line>\d+):\d+|line:(?P<same>\d+):\d+|col:\d+")
RANGE = re.compile(r"<([^<>]*)>(?: [^\s']+:\d+(?::\d+)?)?")
MEANT = ("get", "redis_fields")  # of a tuple, and of a type that beck::redis reads
NAME = re.compile(r"UnresolvedLookupExpr.*\(ADL\) = '([^']*)'")


def calls(dump, folder):
    """The calls in files under `folder`, as (file, line, name), of a text that clang's -ast-dump has written: a place
    there leaves out what the one before it had, too."""
    found = set()
    file, line = "", 0
    for text in dump:
        extent = RANGE.search(text)
        begin = None
        for place in PLACE.finditer(extent.group(0) if extent else ""):
            if place["file"]:
                file, line = place["file"], int(place["line"])
            elif place["same"]:
                line = int(place["same"])
            begin = begin or (file, line)
        name = NAME.search(text)
        if name and begin and begin[0].startswith(folder) and not name[1].startswith(("operator", *MEANT)):
            found.add((*begin, name[1]))
    return sorted(found)


def main(root):
    include = root / "include"
    source = "".join(f"#include <{path.relative_to(include)}>\n" for path in sorted(include.rglob("*.hpp")))
    command = ["clang++-19", "-std=c++20", "-I", str(include), "-fsyntax-only", "-fno-color-diagnostics"]
    command += ["-Xclang", "-ast-dump", "-x", "c++", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, errors="replace") as clang:
        clang.stdin.write(source)
        clang.stdin.close()
        found = calls(clang.stdout, str(include))
    for file, line, name in found:
        print(f"{file}:{line}: {name} is looked up through its arguments' types: qualify it")
    return 1 if found or clang.returncode != 0 else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))

#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks who includes whom: a folder of include/beck or src includes only the folders of the layers below it.

usage: layers.py [ROOT]

Prints file:line: message for each breach and exits with 1 if there is one.
"""
import re
import sys
from pathlib import Path

from cpp_text import files

LAYERS = (
    ("base",),
    ("run",),
    ("coro",),
    ("io",),
    ("net", "file"),
    ("transfer", "testing", "http", "redis"),
    ("interop",),
)
LEVEL = {folder: level for level, row in enumerate(LAYERS) for folder in row}
DRIVERS = ("epoll", "uring", "sim")
# Who may name a driver, besides its own folder.
DRIVER_USERS = {"epoll": (), "uring": (), "sim": ("testing",)}
CHOOSER = Path("src/io/backend_select.cpp")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def folder_of(parts):
    """The layer's folder of a path below include/beck or src; None for beck.hpp, which may include all."""
    return parts[0] if len(parts) > 1 else None


def driver_of(parts):
    return parts[1] if len(parts) > 2 and parts[0] == "io" and parts[1] in DRIVERS else None


def check_include(path, quote, target):
    """The complaint about one include of one file, or None."""
    public = path.parts[0] == "include"
    own = path.parts[2:] if public else path.parts[1:]
    if public and quote == '"':
        return f'a public header includes only <beck/...>, not "{target}"'
    if quote == "<" and not target.startswith("beck/"):
        return None
    theirs = Path(target).parts[1:] if quote == "<" else Path(target).parts
    mine, other = folder_of(own), folder_of(theirs)
    if other is None:
        if quote == '"':
            return f'private headers are named from src/, such as "io/driver.hpp", not "{target}"'
        return None if mine is None else "the umbrella beck.hpp is for users"
    if other not in LEVEL:
        return f"{other}/ is no layer (known: {', '.join(LEVEL)})"
    if mine is None:
        return "interop/ is opt-in and stays out of the umbrella" if other == "interop" else None
    if mine not in LEVEL:
        return f"{mine}/ is no layer (known: {', '.join(LEVEL)})"
    if mine == other:
        return check_driver(path, own, theirs)
    if LEVEL[mine] == LEVEL[other]:
        return f"{mine}/ and {other}/ are siblings and never include each other"
    if LEVEL[mine] < LEVEL[other]:
        return f"{mine}/ stands below {other}/ and must not include it"
    return check_driver(path, own, theirs)


def check_driver(path, own, theirs):
    driver = driver_of(theirs)
    if driver is None or driver == driver_of(own) or path == CHOOSER:
        return None
    if driver_of(own):
        return f"drivers never include one another: io/{driver_of(own)}/ and io/{driver}/"
    if own[0] in DRIVER_USERS[driver]:
        return None
    return f"only {CHOOSER} names the driver io/{driver}/"


def check(root):
    for path in files(root, ".hpp", ".cpp"):
        if path.parts[:2] != ("include", "beck") and path.parts[0] != "src":
            continue
        for number, line in enumerate((root / path).read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            complaint = match and check_include(path, match[1], match[2])
            if complaint:
                yield f"{path}:{number}: {complaint}"


if __name__ == "__main__":
    complaints = list(check(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
    print(*complaints, sep="\n", end="\n" if complaints else "")
    sys.exit(1 if complaints else 0)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compares the rows of asio/semantics over Asio and over the facade, on each backend, and checks the table in
docs/porting-from-asio.md that is made of the rows that differ.

usage: table.py [--write | --list | --show] PROGRAM_OF_ASIO PROGRAM_OF_THE_FACADE

differences.toml has a section for each row that differs: `why`, and `way` if a program can have the other behaviour.
Fails if a row differs that has no section, if a section's row does not differ, or if the table is not current; --write
writes the table. --list prints the names of the rows that agree, --show the rows that differ. Without io_uring only
epoll is looked at, and a difference that is gone is no failure. The table is about Asio 1.22, that of Debian 12.
"""
import argparse
import os
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "porting-from-asio.md"
BEGIN = "<!-- Written by asio/semantics/table.py --write -->"
END = "<!-- The end of that table -->"
LIMIT_S = 300


def rows_of(program, backend=None):
    """Runs a program. Returns its rows: a text for each name."""
    environment = os.environ | ({"BECK_BACKEND": backend} if backend else {})
    done = subprocess.run([program], capture_output=True, text=True, timeout=LIMIT_S, check=True, env=environment)
    return dict(line.split("\t", 1) for line in done.stdout.splitlines())


def rows_of_backends(program):
    """Returns the rows of each backend: of both, or of epoll where io_uring is missing or ruled out."""
    rows = {"epoll": rows_of(program, "epoll")}
    if os.environ.get("BECK_BACKEND") != "epoll":
        ours = rows_of(program, "io_uring")
        if not ours["context: run without work"].startswith("the row throws"):
            rows["io_uring"] = ours
    return rows


def compare(asio, ours):
    """Returns the rows that differ: by name, Asio's text and ours of each backend, with the name where they differ."""
    names = set(asio).union(*ours.values())
    found = {}
    for name in sorted(names):
        texts = {backend: rows.get(name, "no such row") for backend, rows in ours.items()}
        theirs = asio.get(name, "no such row")
        if all(text == theirs for text in texts.values()):
            continue
        if len(set(texts.values())) == 1:
            found[name] = theirs, next(iter(texts.values()))
        else:
            found[name] = theirs, "; ".join(f"{backend}: {text}" for backend, text in texts.items())
    return found


def cell(text):
    return text.replace("|", "\\|").replace("<", "\\<") or "-"


def table(known, found, agree):
    """Returns the lines of the page."""
    lines = [BEGIN, "", "| row | Asio | the facade | why, and how to get the other |", "|---|---|---|---|"]
    for name in sorted(known):
        theirs, ours = found[name]
        row = known[name]
        why = " ".join(part for part in (row["why"], row.get("way")) if part)
        lines.append(f"| {cell(name)} | {cell(theirs)} | {cell(ours)} | {why} |")
    return lines + ["", f"In {agree} other rows they agree.", "", END]


def with_table(page, lines):
    """Returns the text of the page with these lines between the marks."""
    before, _, rest = page.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        sys.exit(f"{PAGE}: there are no marks for the table")
    return before + "\n".join(lines) + after


def complaints(known, found, whole=True):
    """Yields a sentence for each row that differs and is not listed. `whole`: also for those that are, and do not."""
    for name, (theirs, ours) in found.items():
        if name not in known:
            yield f"{name}: differs\n    Asio: {theirs}\n    ours: {ours}"
    for name in sorted(set(known) - set(found)) if whole else ():
        yield f"{name}: is in differences.toml, and does not differ"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("asio")
    parser.add_argument("facade")
    given = parser.parse_args()
    known = tomllib.loads((HERE / "differences.toml").read_text(encoding="utf-8"))
    asio = rows_of(given.asio)
    ours = rows_of_backends(given.facade)
    found = compare(asio, ours)
    if given.list:
        print("\n".join(sorted(set(asio) - set(found))))
        return
    if given.show:
        for name, (theirs, text) in found.items():
            print(f"{name}\n    Asio: {theirs}\n    ours: {text}")
        return
    whole = len(ours) == 2
    problems = list(complaints(known, found, whole))
    if whole and not problems:
        page = PAGE.read_text(encoding="utf-8")
        current = with_table(page, table(known, found, len(asio) - len(found)))
        if given.write:
            PAGE.write_text(current, encoding="utf-8")
        elif page != current:
            problems.append(f"{PAGE}: the table is not current; asio/semantics/table.py --write writes it")
    print(f"{len(asio)} rows, {len(asio) - len(found)} agree with Asio on {' and '.join(ours)}")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compares the rows of asio/semantics over Asio and over the facade, on each backend, and checks the table in
docs/porting-from-asio.md that is made of the rows that differ.

usage: table.py [--write | --list | --show] PROGRAM_OF_ASIO PROGRAM_OF_THE_FACADE

differences.toml has a section for each row that differs: `why`, and `way` if there is a macro or another call with
which a program gets the other behaviour; `before = "1.30"` instead if later versions of Asio do as the facade does, so
that it is no difference of the table. Fails if a row differs that has no section, if a section's row does not differ,
or if the table is not current; --write writes the table. --list prints the names of the rows that agree, --show the
rows that differ.
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
    """Runs a program. Returns its version of Asio, as 103802, and its rows, a text for each name."""
    environment = os.environ | ({"BECK_BACKEND": backend} if backend else {})
    done = subprocess.run([program], capture_output=True, text=True, timeout=LIMIT_S, check=True, env=environment)
    rows = dict(line.split("\t", 1) for line in done.stdout.splitlines())
    return int(rows.pop("version")), rows


def backends():
    """Returns the backends to test: all, or the one that the environment names."""
    forced = os.environ.get("BECK_BACKEND")
    return [forced] if forced else ["epoll", "io_uring"]


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


def older(known, version):
    """Returns the names of rows in which this version of Asio differs from later ones, which do as the facade does."""
    def number(text):
        major, minor = text.split(".")
        return int(major) * 100000 + int(minor) * 100
    return {name for name, row in known.items() if "before" in row and version < number(row["before"])}


def expected(known, version):
    """Returns the names of rows that must differ from this version of Asio."""
    return {name for name, row in known.items() if "before" not in row} | older(known, version)


def cell(text):
    return text.replace("|", "\\|").replace("<", "\\<") or "-"


def table(known, found, agree):
    """Returns the lines of the page."""
    lines = [BEGIN, "", "| row | Asio | the facade | why, and how to get the other |", "|---|---|---|---|"]
    for name in sorted(name for name, row in known.items() if "before" not in row):
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


def complaints(known, found, version):
    """Yields a sentence for each row that should differ and does not, or the other way round."""
    wanted = expected(known, version)
    for name, (theirs, ours) in found.items():
        if name not in wanted:
            yield f"{name}: differs\n    Asio: {theirs}\n    ours: {ours}"
    for name in sorted(wanted - set(found)):
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
    version, asio = rows_of(given.asio)
    found = compare(asio, {backend: rows_of(given.facade, backend)[1] for backend in backends()})
    if given.list:
        print("\n".join(sorted(set(asio) - set(found))))
        return
    if given.show:
        for name, (theirs, ours) in found.items():
            print(f"{name}\n    Asio: {theirs}\n    ours: {ours}")
        return
    problems = list(complaints(known, found, version))
    if not problems:
        agree = len(asio) - sum("before" not in row for row in known.values())
        page = PAGE.read_text(encoding="utf-8")
        current = with_table(page, table(known, found, agree))
        if given.write:
            PAGE.write_text(current, encoding="utf-8")
        elif page != current and len(backends()) == 2:
            problems.append(f"{PAGE}: the table is not current; asio/semantics/table.py --write writes it")
        print(f"{len(asio)} rows, {len(asio) - len(found)} agree with Asio {version // 100000}.{version // 100 % 1000}")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()

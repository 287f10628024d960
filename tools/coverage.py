#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Prints how much of src and include the tests of ./test --coverage have run, and writes each line's count as HTML.

usage: coverage.py BUILD REPORT BINARY...     such as: build/coverage build/reports/coverage tests/unit_tests

BUILD/profiles holds what the binaries wrote (LLVM_PROFILE_FILE in CMakePresets.json). A header's template counts as run
where one of its instantiations was. What a process did that a signal has ended is not counted.
"""
import json
import subprocess
import sys
from pathlib import Path

LEAST_SHOWN = 10
LEAST_LINES = 20  # a smaller file is never among the least covered


def export(build, binaries):
    """What llvm-cov says of each file, and the arguments by which it can be asked again."""
    profiles = sorted((build / "profiles").glob("*.profraw"))
    if not profiles:
        sys.exit(f"no profiles in {build / 'profiles'}: have the tests run?")
    merged = build / "all.profdata"
    subprocess.run(["llvm-profdata-19", "merge", "-sparse", *profiles, "-o", merged], check=True)
    arguments = [str(build / binaries[0]), f"-instr-profile={merged}"]
    for binary in binaries[1:]:
        arguments += ["-object", str(build / binary)]
    answer = subprocess.run(["llvm-cov-19", "export", "--summary-only", *arguments], check=True, stdout=subprocess.PIPE)
    return json.loads(answer.stdout)["data"][0]["files"], arguments


def of_library(found, root):
    """The files of src and include that have code, as {path from the root: (lines run, lines, ways taken, ways)}."""
    counts = {}
    for file in found:
        path = Path(file["filename"])
        if not path.is_relative_to(root):
            continue
        path = path.relative_to(root)
        lines, branches = file["summary"]["lines"], file["summary"]["branches"]
        if path.parts[0] in ("src", "include") and lines["count"] != 0:
            counts[path] = (lines["covered"], lines["count"], branches["covered"], branches["count"])
    return counts


def add(counts):
    return tuple(map(sum, zip(*counts)))


def share(part, whole):
    return f"{100 * part / whole:6.1f} %" if whole else "       -"


def row(name, count):
    lines, all_lines, branches, all_branches = count
    return (f"{name:44} {share(lines, all_lines)} {lines:6}/{all_lines:<6}"
            f" {share(branches, all_branches)} {branches:6}/{all_branches:<6}").rstrip()


def least_covered(counts):
    enough = [path for path, count in counts.items() if count[1] >= LEAST_LINES]
    return sorted(enough, key=lambda path: (counts[path][0] / counts[path][1], path))[:LEAST_SHOWN]


def report(counts):
    """The table, line by line."""
    yield f"{'':44} {'lines':>8} {'':13} {'branches':>8}"
    by_folder = {}
    for path, count in counts.items():
        by_folder.setdefault(path.parent, []).append(count)
    folders = {str(folder): add(found) for folder, found in by_folder.items()}
    for folder in sorted(folders, key=lambda name: (folders[name][0] / folders[name][1], name)):
        yield row(folder, folders[folder])
    yield ""
    yield "the least covered files:"
    for path in least_covered(counts):
        yield row(str(path), counts[path])
    yield ""
    for top in ("include", "src"):
        found = [count for path, count in counts.items() if path.parts[0] == top]
        if found:
            yield row(top, add(found))
    yield row("total", add(counts.values()))


def main(build, output, binaries, root):
    found, arguments = export(build, binaries)
    counts = of_library(found, root)
    if not counts:
        sys.exit(f"the binaries name no file of {root}: they were built elsewhere")
    print(*report(counts), sep="\n")
    sources = [str(root / path) for path in sorted(counts)]
    subprocess.run(["llvm-cov-19", "show", "-format=html", f"-output-dir={output}", "-show-branches=count",
                    *arguments, *sources], check=True)
    print(f"\nline by line: {output / 'index.html'}")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:], Path.cwd().resolve())

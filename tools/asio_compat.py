#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Measures the facade with the examples of an Asio source tree: how many compile, and what the others lack.

usage: asio_compat.py --asio DIR --build DIR [--compiler PROGRAM] [--show]

DIR of --build is a configured build tree, which has the forwarding headers. Each source under src/examples/cpp11 to
cpp20 is compiled with -fsyntax-only, one at a time. Prints the first error of each that fails with --show, the first
errors with counts, and N of M.
"""
import argparse
import collections
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Examples that do not apply, and why.
LEFT_OUT = (
    ("windows/", "for Windows"),
    ("ssl/", "needs Asio's TLS"),
    ("spawn/", "needs Boost.Context"),
    ("serialization/", "needs Boost.Serialization"),
)


def first_error(compiler, source, build):
    command = [compiler, "-std=c++20", "-fsyntax-only", "-w", "-ferror-limit=3" if "clang" in compiler else "-O0",
               f"-I{ROOT}/include", f"-I{ROOT}/asio/include", f"-I{build}/asio/beck-asio", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode == 0:
        return None
    match = re.search(r"error: (.*)", done.stderr)
    return match.group(1) if match else f"the compiler ended with {done.returncode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--asio", required=True, type=Path)
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    examples = given.asio / "src" / "examples"
    if not examples.is_dir():
        parser.error(f"{examples} is not there")
    errors = collections.Counter()
    compiled = tried = left_out = 0
    for source in sorted(p for year in (11, 14, 17, 20) for p in (examples / f"cpp{year}").rglob("*.cpp")):
        name = str(source.relative_to(examples))
        if any(part in name for part, _ in LEFT_OUT):
            left_out += 1
            continue
        tried += 1
        error = first_error(given.compiler, source, given.build)
        compiled += error is None
        if error is not None:
            errors[error] += 1
            if given.show:
                print(f"{name}: {error}", flush=True)
    for error, count in errors.most_common():
        print(f"{count:4} {error}")
    print(f"{compiled} of {tried} compile; {left_out} do not apply")


if __name__ == "__main__":
    main()

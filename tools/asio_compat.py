#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Measures the facade with the examples of an Asio source tree: how many compile, and what the others lack.

usage: asio_compat.py --asio DIR --build DIR [--compiler PROGRAM] [--jobs N] [--show]

DIR of --build is a configured build tree, which has the forwarding headers. Each source under src/examples/cpp11 to
cpp20 is compiled with -fsyntax-only. Prints the first error of each that fails with --show, the first errors with
counts, and N of M. Links and runs nothing.
"""
import argparse
import collections
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Examples that do not apply, and why.
LEFT_OUT = (
    ("windows/", "for Windows"),
    ("spawn/", "needs Boost.Context"),
    ("serialization/", "needs Boost.Serialization"),
)


def first_error(compiler, source, build):
    """Returns the first error of a source, or None."""
    command = [compiler, "-std=c++20", "-fsyntax-only", "-w", "-fmax-errors=1", f"-I{ROOT}/include",
               f"-I{ROOT}/asio/include", f"-I{build}/asio/beck-asio", str(source)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        return "the compiler has not ended within 300 s"
    if done.returncode == 0:
        return None
    match = re.search(r"error: (.*)", done.stderr)
    return match.group(1) if match else f"the compiler ended with status {done.returncode}"


def reason_to_leave_out(name):
    """Returns why an example does not apply, or None."""
    return next((why for part, why in LEFT_OUT if part in name), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--asio", required=True, type=Path)
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many compilers run at once")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    examples = given.asio / "src" / "examples"
    if not examples.is_dir():
        parser.error(f"{examples} is not there")
    if not (given.build / "asio" / "beck-asio" / "asio.hpp").is_file():
        parser.error(f"{given.build} is no configured build tree of beck: it has no asio/beck-asio/asio.hpp")
    sources = sorted(p for year in (11, 14, 17, 20) for p in (examples / f"cpp{year}").rglob("*.cpp"))
    names = [str(source.relative_to(examples)) for source in sources]
    left_out = collections.Counter(why for why in map(reason_to_leave_out, names) if why)
    tried = [name for name in names if not reason_to_leave_out(name)]
    errors = collections.Counter()
    with ThreadPoolExecutor(given.jobs) as pool:
        found = pool.map(lambda name: first_error(given.compiler, examples / name, given.build), tried)
        for name, error in zip(tried, found):
            if error is not None:
                errors[error] += 1
                if given.show:
                    print(f"{name}: {error}", flush=True)
    for error, count in errors.most_common():
        print(f"{count:4} {error}")
    for why, count in left_out.items():
        print(f"left out: {count} {why}")
    print(f"{len(tried) - sum(errors.values())} of {len(tried)} compile")


if __name__ == "__main__":
    main()

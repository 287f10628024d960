#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Reads what compilers say about the mistakes that people make: one error, that names the mistake, in few lines.

usage: check.py INCLUDE_FOLDER [COMPILER...]      the default is g++ and clang++-19, where they are installed

Each program beside this script is wrong in one way. It says in `// says:` lines (regular expressions) what the message
has to hold, and in a `// lines:` line how long all output may be.
"""
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-fsyntax-only", "-fdiagnostics-color=never"]


def without_quotes(lines):
    """The lines without the sources that g++ 14 quotes behind each step of an instantiation."""
    is_quote, before = False, ""
    for line in lines:
        is_quote = bool(re.match(r" *\d* \|", line)) and (is_quote or "required from" in before)
        before = line
        if not is_quote:
            yield line


def faults_of(source, returncode, output):
    """What is wrong with the compiler's answer to a program, one line each."""
    expected = re.findall(r"^// says: (.*)$", source, re.M)
    lines_max = int(re.search(r"^// lines: (\d+)$", source, re.M)[1])
    lines = list(without_quotes(output.splitlines()))
    errors = [line for line in lines if re.search(r"\berror: ", line)]
    if returncode == 0:
        yield "it compiles"
        return
    if len(errors) != 1:
        yield f"{len(errors)} errors instead of one"
    if len(lines) > lines_max:
        yield f"{len(lines)} lines of output, at most {lines_max} are allowed"
    for text in expected:
        if not re.search(text, output):
            yield f"the message does not hold: {text}"


def check(compiler, include, program):
    """A program's report for one compiler; empty if all is well."""
    done = subprocess.run([compiler, *FLAGS, "-I", str(include), str(program)], capture_output=True, text=True)
    faults = list(faults_of(program.read_text(), done.returncode, done.stderr))
    return [f"{program.name}, {compiler}: {fault}" for fault in faults] + ([done.stderr] if faults else [])


def main(include, compilers):
    compilers = [name for name in compilers or ("g++", "clang++-19") if shutil.which(name)]
    programs = sorted(HERE.glob("*.cpp"))
    jobs = [(compiler, include, program) for compiler in compilers for program in programs]
    with ThreadPoolExecutor(2) as pool:
        reports = [line for report in pool.map(lambda job: check(*job), jobs) for line in report]
    print("\n".join(reports) if reports else f"{len(jobs)} mistakes, one short error each")
    return 1 if reports or not jobs else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))

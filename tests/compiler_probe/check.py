#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Shows which compiler has which coroutine defect, and proves that the documented way around it works everywhere.

usage: check.py [COMPILER...]      the default is g++ and clang++-19

A pattern is a pair of programs: NAME.unsafe.cpp is the dangerous spelling, NAME.safe.cpp what docs/coroutines.md says
to write instead. A safe program that misbehaves on any compiler is a failure. The unsafe ones are compared with what is
known of a compiler's version (KNOWN); on a version that is not listed a defect, or a fixed one, is only reported.
"""
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
LEVELS = ("-O0", "-O2")
# Levels beyond the usual: sanitizers turn g++'s tail calls off.
MORE_LEVELS = {"symmetric_transfer": ("-O2 -fsanitize=address",)}
# Here the right outcome of the unsafe spelling is a diagnostic.
WARNED = {"dropped_result"}
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Werror=unused-result"]
SECONDS_MAX = 20

EVERYWHERE = {*LEVELS, *sum(MORE_LEVELS.values(), ())}
CONDITIONS = ("if_await", "switch_await", "while_await", "for_await", "do_await", "not_await", "and_await")
# The defects of the compilers that were tried: (family, major version) -> pattern -> levels.
KNOWN = {
    ("gcc", 12): {
        **{name: EVERYWHERE for name in CONDITIONS},
        "aggregate": EVERYWHERE,
        "alignment": EVERYWHERE,
        "awaiter_reference": EVERYWHERE,
        "braced_await": EVERYWHERE,
        "capture": EVERYWHERE,
        "capture_await": EVERYWHERE,
        "designated": EVERYWHERE,
        "dropped_result": EVERYWHERE,
        "initializer_list": EVERYWHERE,
        "spawn": EVERYWHERE,
        "structured_binding": set(),
        "symmetric_transfer": {"-O0", "-O2 -fsanitize=address"},
    },
    ("clang", 19): {"alignment": EVERYWHERE},
}


def version_of(compiler):
    """Family and major version of a compiler."""
    text = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    family = "clang" if "clang" in text else "gcc"
    major = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True, check=True).stdout
    return family, int(re.match(r"\d+", major).group())


def bounded():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_MAX, SECONDS_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, 8 << 20))


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", preexec_fn=bounded)
    return done.returncode, done.stdout + done.stderr


def outcome(source, compiler, level):
    """What becomes of one program: (behaves, detail)."""
    launcher = [ccache] if (ccache := shutil.which("ccache")) else []
    with tempfile.TemporaryDirectory() as folder:
        compiled, program = f"{folder}/probe.o", f"{folder}/probe"
        flags = [*FLAGS, *level.split()]
        status, text = run([*launcher, compiler, *flags, "-c", str(source), "-o", compiled])
        warned = "unused-result" in text
        if source.name.split(".")[0] in WARNED and source.name.endswith(".unsafe.cpp"):
            return warned, "warns" if warned else "no warning"
        if status != 0:
            first = re.search(r"(?:internal compiler )?error: .*", text)
            return False, f"does not compile: {first.group() if first else text}"
        status, text = run([compiler, *flags, compiled, "-o", program])
        if status != 0:
            return False, f"does not link: {text}"
        status, text = run([program])
        return status == 0, "right" if status == 0 else f"wrong (exit status {status})"


def judge(pattern, spelling, version, level, behaves):
    """The verdict on one outcome: (is it a failure, word for the table)."""
    if spelling == "safe":
        return (not behaves, "right" if behaves else "WRONG")
    if version not in KNOWN:
        return (False, "right" if behaves else "defect")
    expected = level in KNOWN[version].get(pattern, ())
    if expected:
        return (behaves, "NO LONGER WRONG" if behaves else "defect")
    return (not behaves, "right" if behaves else "NEW DEFECT")


def jobs(compilers):
    for source in sorted(HERE.glob("*.safe.cpp")) + sorted(HERE.glob("*.unsafe.cpp")):
        pattern, spelling, _ = source.name.split(".")
        for compiler in compilers:
            for level in LEVELS + MORE_LEVELS.get(pattern, ()):
                yield source, pattern, spelling, compiler, level


def unpaired():
    names = {s: {p.name.split(".")[0] for p in HERE.glob(f"*.{s}.cpp")} for s in ("safe", "unsafe")}
    return names["safe"] ^ names["unsafe"]


def main(compilers):
    versions = {compiler: version_of(compiler) for compiler in compilers}
    work = list(jobs(compilers))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda job: outcome(job[0], job[3], job[4]), work))
    failures = [f"{name}: one spelling is missing" for name in unpaired()]
    for (_, pattern, spelling, compiler, level), (behaves, detail) in zip(work, results):
        family, major = versions[compiler]
        failed, word = judge(pattern, spelling, (family, major), level, behaves)
        print(f"{pattern:20} {spelling:7} {family} {major:3} {level:23} {word:16} {detail}")
        if failed:
            failures.append(f"{pattern}.{spelling} on {family} {major} {level}: {word}: {detail}")
    print(*(f"failed: {failure}" for failure in failures), sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["g++", "clang++-19"]))

#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs clang-tidy (.clang-tidy) and clang-include-cleaner over the library: src, and what it includes of include.

usage: tidy.py [--jobs N] [ROOT]

Sources are checked many at a time, as one translation unit that includes them: most of the time goes into the standard
library's headers, and so they are read and walked through once for each batch. A batch passes without being checked
where nothing has changed since it passed: its sources, any header, the settings, the tools (ROOT/build/tidy/passed).
clang-include-cleaner finds the headers that a source includes and does not use. It also finds a file of src that names
something of C++'s standard library while neither it nor a header of ours that it includes has the standard header: no
build of ./test does, because they compile the library twenty sources at a time. Its demand that the file itself
includes the header of every name is left out, because a source may rely on the header of its class. The standard
headers are precompiled for it, which halves its time. (The public headers are compiled one by one, without it.)

Also checks each NOLINT: it names checks that are on, says why, and stands where clang-tidy looks.
One file alone: clang-tidy-19 FILE -- -std=c++20 -Iinclude -Isrc
"""
import argparse
import concurrent.futures
import functools
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from cpp_text import files

TIDY = "clang-tidy-19"
INCLUDE_CLEANER = "clang-include-cleaner-19"
COMPILER = "clang++-19"
FLAGS = ["-std=c++20", "-Iinclude", "-Isrc", "-DBECK_TLS_KEY_LOG=0"]
# Sources in one batch. With more of them, the unnamed namespaces of two sources collide more often.
BATCH_MAX = 54
# Headers that clang-include-cleaner does not know to be used: glibc declares their names in headers of its own, and
# placement new has no name.
HEADERS_IGNORED = "sys/[a-z_]+[.]h,sched[.]h,new"  # POSIX extended regular expressions

FINDING = re.compile(r"^(\S+?):(\d+):(\d+): (?:warning|error): ")
NOT_COMPILED = re.compile(r"^(\S+?):\d+:\d+: error: .*\[clang-diagnostic-error\]$", re.MULTILINE)
REMOVAL = re.compile(r"^- (\S+) @Line:(\d+)$", re.MULTILINE)
ADDITION = re.compile(r"^\+ <([a-z_]+)>$", re.MULTILINE)
INCLUDE = re.compile(r'^#include [<"]([^>"]+)[>"]', re.MULTILINE)
STANDARD = re.compile(r"[a-z_]+")  # the name of a header of C++; C's have a dot
NOLINT = re.compile(r"NOLINT(NEXTLINE|BEGIN|END)?(?:\(([^)]*)\))?(: *\w)?")


def run(root, *command):
    return subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def enabled_checks(root):
    answer = run(root, TIDY, "--list-checks")
    if answer.returncode != 0:
        sys.exit(answer.stderr)
    return set(answer.stdout.split()[2:])  # behind "Enabled checks:"


def nolints(root, checks):
    """Comments that silence nothing, or more than they say."""
    for path in files(root, ".hpp", ".cpp"):
        for number, line in enumerate((root / path).read_text().splitlines(), 1):
            for kind, names, reason in NOLINT.findall(line):
                complaint = None
                if path.parts[0] not in ("include", "src"):
                    complaint = "clang-tidy looks at include and src only"
                elif not names or set(names.replace(",", " ").split()) - checks:
                    complaint = "name the checks, such as NOLINT(bugprone-use-after-move), of those that are on"
                elif kind != "END" and not reason:
                    complaint = "say why behind it, as in NOLINT(check): reason"
                if complaint:
                    yield f"{path}:{number}: nolint: {complaint}"


def batches(sources):
    """The sources in groups. Neighbours go to different ones: their unnamed namespaces are the most alike."""
    count = -(-len(sources) // BATCH_MAX)
    return [sources[first::count] for first in range(count)]


def findings(text, root):
    """What clang-tidy says, as {first line: whole text}, with paths from the root."""
    found, block = {}, None
    for line in text.splitlines():
        if FINDING.match(line):
            line = line.removeprefix(f"{root}/")
            block = found.setdefault(line, [])
        if block is not None:
            block.append(line.replace(f"{root}/", ""))
    return {first: "\n".join(lines) for first, lines in found.items()}


class Checker:
    def __init__(self, root):
        self.root = root
        self.folder = root / "build" / "tidy"
        self.passed = self.folder / "passed"
        self.passed.mkdir(parents=True, exist_ok=True)
        self.common = self._digest_of_common()
        self.standard = self.folder / "standard.pch"
        self.used = set()

    def _digest_of_common(self):
        digest = hashlib.sha256(run(self.root, TIDY, "--version").stdout.encode())
        headers = [p for p in files(self.root, ".hpp") if p.parts[0] in ("include", "src")]
        for path in [*headers, Path(".clang-tidy"), Path(__file__)]:
            digest.update(str(path).encode() + b"\0" + (self.root / path).read_bytes())
        return digest

    def unless_passed(self, name, paths, check):
        """What check(paths) finds, or nothing if these files have passed it as they are."""
        digest = self.common.copy()
        digest.update(name.encode())
        for path in paths:
            digest.update(str(path).encode() + b"\0" + (self.root / path).read_bytes())
        stamp = self.passed / digest.hexdigest()
        self.used.add(stamp)
        if stamp.exists():
            return {}
        found = check(paths)
        if not found:
            stamp.touch()
        return found

    def forget_the_rest(self):
        for stamp in set(self.passed.iterdir()) - self.used:
            stamp.unlink()

    def tidy(self, paths):
        text = "".join(f'#include "{self.root / path}"\n' for path in paths)
        unit = self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.cpp"
        unit.write_text(text)
        answer = run(self.root, TIDY, "--quiet", f"--config-file={self.root / '.clang-tidy'}", unit, "--", *FLAGS)
        unit.unlink()
        clashing = set(NOT_COMPILED.findall(answer.stdout))
        if clashing and len(paths) > 1:  # some of them cannot stand in one file with the others
            apart = [path for path in paths if str(self.root / path) in clashing]
            if not 0 < len(apart) < len(paths):
                apart = paths[len(paths) // 2:]
            return self.tidy([path for path in paths if path not in apart]) | self.tidy(apart)
        found = findings(answer.stdout, self.root)
        if answer.returncode != 0 and not found:
            found = {str(unit): f"{TIDY} ended with status {answer.returncode}: {answer.stderr}"}
        return found

    @functools.cache
    def includes(self, path):
        """The headers that a file names: ours as paths from the root, and the others."""
        named = set(INCLUDE.findall((self.root / path).read_text()))
        ours = {Path(folder, name) for name in named for folder in ("include", "src")
                if (self.root / folder / name).exists()}
        return ours, {name for name in named if STANDARD.fullmatch(name)}

    def standard_headers(self, path):
        """Those of C++ that a file names, or a header of ours that it includes."""
        found, seen, waiting = set(), set(), [path]
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                ours, standard = self.includes(one)
                waiting += ours
                found |= standard
        return found

    def precompile_standard_headers(self, sources):
        names = sorted(set().union(*(self.standard_headers(path) for path in sources)))
        header = self.standard.with_suffix(".hpp")
        header.write_text("".join(f"#include <{name}>\n" for name in names))
        answer = run(self.root, COMPILER, "-x", "c++-header", *FLAGS, header, "-o", self.standard)
        if answer.returncode != 0:
            sys.exit(answer.stderr)

    def check_includes(self, paths):
        path, = paths
        answer = run(self.root, INCLUDE_CLEANER, "--print=changes", f"--ignore-headers={HEADERS_IGNORED}", path, "--",
                     "-x", "c++", *FLAGS, "-include-pch", self.standard)
        if answer.returncode != 0:
            return {str(path): answer.stderr}
        complaints = [f"{path}:{line}: unused-include: {header}" for header, line in REMOVAL.findall(answer.stdout)
                      if path.suffix == ".cpp"]
        missing = set(ADDITION.findall(answer.stdout)) - self.standard_headers(path)
        complaints += [f"{path}:1: missing-include: <{header}>" for header in missing]
        return {complaint: complaint for complaint in complaints}


def check(root, jobs):
    checker = Checker(root)
    ours = [p for p in files(root, ".cpp", ".hpp") if p.parts[0] == "src"]
    sources = [p for p in ours if p.suffix == ".cpp"]
    public = [p for p in files(root, ".hpp") if p.parts[0] == "include"]
    work = [("tidy", batch, checker.tidy) for batch in batches(sources) + [public] if batch]
    work += [("includes", [path], checker.check_includes) for path in ours]
    checker.precompile_standard_headers(ours)
    found = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for one in pool.map(lambda item: checker.unless_passed(*item), work):
            found |= one
    checker.forget_the_rest()
    return [text for _, text in sorted(found.items())] + list(nolints(root, enabled_checks(root)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many run at once")
    parser.add_argument("root", nargs="?", default=".", type=Path)
    arguments = parser.parse_args()
    complaints = check(arguments.root.resolve(), arguments.jobs)
    print(*complaints, sep="\n", end="\n" if complaints else "")
    sys.exit(1 if complaints else 0)

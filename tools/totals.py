#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Adds up what the test binaries reported (tests/support/report.cpp) and prints the last line of ./test.

usage: totals.py [VARIANT...]      such as: totals.py release dev asan tsan; with none, only the steps count
       totals.py --edges VARIANT   prints the transitions of the tables of states, and those that no test has made

Counts of cases come from the first variant, a figure from the first one that has it; failures from all of them, from
ctest's own list (a binary that was killed, or that failed after its end mark, counts), and from the steps of ./test
(build/reports/steps.tsv).
"""
import re
import sys
import xml.etree.ElementTree
from pathlib import Path

BACKENDS = ("epoll", "uring", "sim")


class Variant:
    """The reports of one build."""

    def __init__(self, folder):
        self.cases = {}  # name -> (result, kind)
        self.values = {}  # name -> sum
        self.fingerprints = {}  # name -> all that were reported
        self.edges = {}  # (type, state, event) -> whether a test has made this transition
        self.failures = []  # sentences
        self.passed = {}  # name of a binary -> number of cases
        explained = set()
        for path in sorted(folder.glob("*.tsv")):
            before = len(self.failures)
            self._read(path)
            if len(self.failures) > before:
                explained.add(path.stem)
        self._read_ctest(folder / "ctest.xml", explained)

    def _read(self, path):
        running = ended = None
        for line in path.read_text(errors="replace").splitlines():
            kind, *fields = line.split("\t")
            if kind == "start":
                running = fields[0]
            elif kind in ("passed", "failed", "skipped"):
                running = None
                self._case(kind, fields[0], fields[2])
                self.passed[path.stem] = self.passed.get(path.stem, 0) + (kind == "passed")
            elif kind == "value":
                self.values[fields[0]] = self.values.get(fields[0], 0) + int(fields[1])
            elif kind == "same":
                self.fingerprints.setdefault(fields[0], set()).add(fields[1])
            elif kind == "edge":
                edge = (re.search(r"transition<([\w:]+)>", fields[0])[1], int(fields[1]), int(fields[2]))
                self.edges[edge] = self.edges.get(edge, False) or fields[3] == "1"
            elif kind == "end":
                ended = True
        if not ended:
            where = f"in: {running}" if running else "between two cases"
            self.failures.append(f"{path.stem} died {where}")

    def _case(self, result, kind, name):
        if name in self.cases:
            self.failures.append(f"two cases have one name: {name}")
        elif result == "failed":
            self.failures.append(name)
        self.cases[name] = (result, kind)

    def _read_ctest(self, path, explained):
        if not path.exists():
            return
        for test in xml.etree.ElementTree.parse(path).iter("testcase"):
            failed = test.get("status") not in ("run", "disabled")
            if failed and test.get("name") not in explained:
                self.failures.append(f"{test.get('name')} (see the log of its step)")

    def count(self, backend):
        """Distinct conformance cases that passed on a backend."""
        return sum(
            result == "passed" and kind == "conformance" and name.endswith("/" + backend)
            for name, (result, kind) in self.cases.items()
        )

    def skipped(self):
        return sum(result == "skipped" for result, _ in self.cases.values())


def disagreements(variants):
    """Fingerprints that differ between two builds, or within one, as (group, sentence)."""
    for name in sorted({name for variant in variants.values() for name in variant.fingerprints}):
        found = {v: variant.fingerprints.get(name, set()) for v, variant in variants.items()}
        if len(set.union(*found.values())) > 1:
            seen = ", ".join(f"{v} {' '.join(sorted(prints))}" for v, prints in found.items() if prints)
            yield "all", f"the fingerprint {name} differs: {seen}"


def shares(values):
    """The figures by name; a pair such as edges.covered and edges.all becomes edges=covered/all."""
    shown = {}
    for name, value in sorted(values.items()):
        group, dot, part = name.partition(".")
        if not dot:
            shown[name] = value
        elif part == "all":
            found = sum(v for n, v in values.items() if n.startswith(group + ".") and n != name)
            shown[group] = f"{found}/{value}"
        elif group + ".all" not in values:
            shown[name] = value
    return shown


def failed_steps(path, variants):
    """Failed steps as (group, sentence), without runs of tests that came to their end and whose failures have names."""
    if not path.exists():
        return
    lines = path.read_text().splitlines()
    if not lines:
        yield "all", "no step has ended"
    for line in lines:
        group, name, status = line.split("\t")
        out_of_time = status in ("124", "137")
        named = name == "tests" and group in variants and variants[group].failures and not out_of_time
        if status != "0" and not named:
            yield group, f"step {name} ended with status {status}"


def edge_table(variant):
    """The tables of states as lines: how many of their transitions were made, and each that was not."""
    for name in sorted({edge[0] for edge in variant.edges}):
        made = {edge[1:]: seen for edge, seen in variant.edges.items() if edge[0] == name}
        missing = [f"state {state} event {event}" for (state, event), seen in sorted(made.items()) if not seen]
        yield f"{name} {sum(made.values())}/{len(made)}" + "".join(f"\n  never: {text}" for text in missing)


def main(names, build=Path("build")):
    if names and names[0] == "--edges":
        print(*edge_table(Variant(build / names[1] / "reports")), sep="\n")
        return 0
    variants = {name: Variant(build / name / "reports") for name in names}
    failures = [(name, text) for name, variant in variants.items() for text in variant.failures]
    failures += disagreements(variants)
    failures += failed_steps(build / "reports" / "steps.tsv", variants)
    for name, variant in variants.items():
        if not variant.cases and name not in (group for group, _ in failures):
            failures.append((name, "no test binary has reported a case"))
    for group, text in failures:
        print(f"failed: {group}: {text}")

    if not names:
        print(f"totals: failed={len(failures)}")
        return 1 if failures else 0
    first = variants[names[0]]
    for variant in variants.values():
        first.values = variant.values | first.values
    totals = {f"cases.{backend}": first.count(backend) for backend in BACKENDS}
    totals["skipped"] = first.skipped()
    totals["schedules"] = first.values.pop("schedules", 0)
    for name in ("asan", "tsan"):
        if name in variants:
            totals[f"{name}.failed"] = sum(group == name for group, _ in failures)
    totals["failed"] = len(failures)
    for library, prefix in (("http", "http"), ("redis", "redis"), ("tls", "tls"), ("websocket", "ws")):
        if f"{library}_tests" in first.passed:
            first.values[f"{prefix}.cases"] = first.passed[f"{library}_tests"]
    edges = next((variant.edges for variant in variants.values() if variant.edges), {})
    if edges:
        totals["transitions"] = f"{sum(edges.values())}/{len(edges)}"
    totals.update(shares(first.values))
    print("totals:", *(f"{key}={value}" for key, value in totals.items()))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

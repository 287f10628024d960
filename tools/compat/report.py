# SPDX-License-Identifier: BSL-1.0
"""What a measurement found, as lines and as JSON: what differs and why, missing names with counts, a summary."""
import collections
import json

from .libraries import BACKENDS

ERRORS_SHOWN = 12


class Report:
    def __init__(self, why, show):
        self.why, self.show = why, show
        self.errors = {}  # (kind, name) -> the first error of the compiler
        self.sources = []  # names of the examples' sources that were tried
        self.judged = {}  # (kind, name) -> backend -> None or the difference; or a sentence why it was not run
        self.units = []
        self.left_out = collections.Counter()

    def source(self, name, error):
        self.sources.append(name)
        if error is not None:
            self._fail("source", name, error)

    def program(self, kind, name, verdict, error=None):
        self.judged[kind, name] = verdict
        if error is not None:
            self._fail(kind, name, error)
        elif isinstance(verdict, dict):
            for backend in BACKENDS:
                if verdict[backend] is not None:
                    self._say(name, f"on {backend}: {verdict[backend]}")
        else:
            self._say(name, f"not run: {verdict}")

    def unit(self, unit):
        self.units.append(unit)
        if unit.error is not None:
            self._fail("unit", unit.name, unit.error)
        for backend, failure in unit.failures.items():
            missing = [case for case in unit.cases if case not in unit.passed[backend]]
            self._say(unit.name, f"on {backend}: {', '.join(missing)} not passed: {failure}")

    def _fail(self, kind, name, error):
        self.errors[kind, name] = error
        self._say(name, f"does not compile: {error}")

    def _say(self, name, sentence):
        if self.show:
            because = self.why.get(name)
            print(f"{name}: {sentence}{f' [{because}]' if because else ''}", flush=True)

    def summary(self):
        """Returns the lines of the summary, at most a screen of them."""
        lines = []
        counts = collections.Counter(self.errors.values())
        for error, count in counts.most_common(ERRORS_SHOWN):
            lines.append(f"{count:4} {error[:150]}")
        if len(counts) > ERRORS_SHOWN:
            rest = sum(counts.values()) - sum(count for _, count in counts.most_common(ERRORS_SHOWN))
            lines.append(f"{rest:4} other first errors")
        lines += [f"left out: {count} {why}" for why, count in sorted(self.left_out.items())]
        if self.sources:
            compiled = len(self.sources) - sum(kind == "source" for kind, _ in self.errors)
            lines.append(f"examples: {compiled} of {len(self.sources)} sources compile")
        for kind in ("example", "program"):
            lines += self._alike(kind)
        return lines + self._cases()

    def _alike(self, kind):
        verdicts = [verdict for (one, _), verdict in self.judged.items() if one == kind]
        if not verdicts:
            return []
        run = [verdict for verdict in verdicts if isinstance(verdict, dict)]
        alike = {backend: sum(verdict[backend] is None for verdict in run) for backend in BACKENDS}
        both = sum(all(verdict[backend] is None for backend in BACKENDS) for verdict in run)
        counts = ", ".join(f"{alike[backend]} on {backend}" for backend in BACKENDS)
        return [f"{kind}s: {len(verdicts)} programs, {len(run)} run, ran alike: {counts}, {both} on both"]

    def _cases(self):
        tested = [unit for unit in self.units if unit.cases != ["null_test"]]
        if not self.units:
            return []
        cases = sum(len(unit.cases) for unit in tested)
        compiled = sum(len(unit.cases) for unit in tested if unit.error is None)
        counts = ", ".join(f"{sum(len(unit.passed.get(backend, ())) for unit in tested)} on {backend}"
                           for backend in BACKENDS)
        both = sum(len(set.intersection(*(set(unit.passed.get(one, ())) for one in BACKENDS))) for unit in tested)
        empty = [unit for unit in self.units if unit.cases == ["null_test"]]
        lines = [f"unit tests: {cases} cases in {len(tested)} files, {compiled} compile, "
                 f"passed: {counts}, {both} on both"]
        if empty:
            compiled = sum(unit.error is None for unit in empty)
            lines.append(f"headers: {compiled} of {len(empty)} files without a case compile")
        return lines

    def write_json(self, path):
        units = {unit.name: {"cases": unit.cases, "error": unit.error, "passed": unit.passed, "failures": unit.failures}
                 for unit in self.units}
        errors, judged = ({f"{kind} {name}": value for (kind, name), value in table.items()}
                          for table in (self.errors, self.judged))
        everything = {"errors": errors, "sources": self.sources, "programs": judged, "units": units,
                      "left_out": self.left_out, "summary": self.summary()}
        path.write_text(json.dumps(everything, indent=1) + "\n")

# SPDX-License-Identifier: BSL-1.0
"""What a benchmark gave: medians, ratios between rivals, tables and JSON lines."""
import json

from .peers import BECK, PEERS
from .stats import ratios, summarize

MAIN_METRIC = "cpu_ns_per_op"


class Results:
    """The samples of one benchmark. A peer's rivals in a case are the others of that case and those of its floor."""

    def __init__(self, bench, samples):
        self.bench = bench
        self.samples = samples

    def cases(self):
        return list(dict.fromkeys(case for case, _ in self.samples))

    def peers(self, case):
        return [peer for c, peer in self.samples if c == case]

    def rivals(self, case):
        """(case, peer) of all that the peers of a case are compared with: everything but beck."""
        if not self.bench.case(case).comparable:
            return []
        floor = self.bench.case(case).floor
        keys = [(case, peer) for peer in self.peers(case)]
        keys += [(floor, peer) for peer in self.peers(floor)] if floor else []
        wanted = self.bench.rivals
        return [key for key in keys if (key[1] in wanted if wanted else key[1] not in BECK)]

    def values(self, key, metric=MAIN_METRIC):
        return [sample[metric] for sample in self.samples[key]]

    def summary(self, key, metric=MAIN_METRIC):
        return summarize(self.values(key, metric))

    def ratio(self, key, rival, metric=MAIN_METRIC):
        return summarize(ratios(self.values(key, metric), self.values(rival, metric)))

    def find(self, case, peer):
        """The key of a peer in a case or its floor, or None if it did not run."""
        for key in [(case, peer), (self.bench.case(case).floor, peer)]:
            if key in self.samples:
                return key
        return None

    def metrics(self, key):
        """The metrics that a peer reported in every round."""
        names = dict.fromkeys(name for sample in self.samples[key] for name in sample)
        return [name for name in names if all(name in sample for sample in self.samples[key])]

    def json_lines(self):
        for key in self.samples:
            for metric in self.metrics(key):
                yield self.json_line(key, metric, unit(metric), self.summary(key, metric))
            for rival in self.rivals(key[0]):
                if rival != key:
                    yield self.json_line(key, f"cpu_ratio_to_{rival[1]}", "ratio", self.ratio(key, rival))

    def json_line(self, key, metric, unit_name, summary):
        return json.dumps(
            {
                "bench": self.bench.name,
                "case": key[0],
                "peer": key[1],
                "metric": metric,
                "unit": unit_name,
                "median": round(summary.median, 4),
                "min": round(summary.min, 4),
                "max": round(summary.max, 4),
                "rounds": summary.count,
            }
        )


def unit(metric):
    endings = (
        ("_mib_per_second", "MiB/s"),
        ("_percent", "percent"),
        ("_ns_per_op", "ns"),
        ("_us", "us"),
        ("_s", "s"),
        ("_mb", "MiB"),
        ("_lines", "lines"),
    )
    for ending, name in endings:
        if metric.endswith(ending):
            return name
    return "count"


def number(value):
    """Three significant digits for what is small, whole numbers for what is large."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def layout(rows):
    """Lines up the columns: the first to the left, the others to the right."""
    if not rows:
        return
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        yield "  ".join(cells).rstrip()


def ratio_text(value):
    return f"{value:.2f}" if value >= 0.2 else f"{value:.3f}"


def ratio_cell(results, key, rival):
    if key == rival:
        return "-"
    ratio = results.ratio(key, rival)
    return f"{ratio_text(ratio.median)} [{ratio_text(ratio.low)} {ratio_text(ratio.high)}]"


def case_table(results, case):
    """The lines of one case: CPU time, wall time, and the ratio of the CPU time to every rival's."""
    unit_name, scale = results.bench.display
    rivals = results.rivals(case)
    keys = [(case, peer) for peer in results.peers(case)]
    keys += [rival for rival in rivals if rival not in keys]
    with_wall = all("wall_ns_per_op" in results.metrics(key) for key in keys)
    head = ["peer", f"CPU {unit_name}", "min..max"] + [f"wall {unit_name}"] * with_wall
    rows = [head + [f"/ {rival[1]}" for rival in rivals]]
    for key in sorted(keys, key=lambda k: list(PEERS).index(k[1])):
        cpu = results.summary(key)
        row = [key[1] if key[0] == case else f"{key[1]} ({key[0]})", number(cpu.median / scale)]
        row.append(f"{number(cpu.min / scale)}..{number(cpu.max / scale)}")
        if with_wall:
            row.append(number(results.summary(key, "wall_ns_per_op").median / scale))
        rows.append(row + [ratio_cell(results, key, rival) for rival in rivals])
    yield from layout(rows)
    yield from extra_lines(results, case)


def extra_lines(results, case):
    """The other figures of a case. A count per operation: a line for each peer; any other: one for all its peers."""
    shown = ("cpu_ns_per_op", "wall_ns_per_op", "user_ns_per_op", "system_ns_per_op")
    names = dict.fromkeys(m for p in results.peers(case) for m in results.metrics((case, p)) if m not in shown)
    counts = [name for name in names if is_count_per_operation(name)]
    for peer in results.peers(case):
        medians = {n: results.summary((case, peer), n).median for n in counts if n in results.metrics((case, peer))}
        parts = [f"{n.removesuffix('_per_op')} {count_text(m)}" for n, m in medians.items() if worth_showing(n, m)]
        if parts:
            yield f"  {peer} per {results.bench.operation}: {', '.join(parts)}"
    for name in names:
        if name in counts:
            continue
        parts = [
            f"{peer} {number(results.summary((case, peer), name).median)}"
            for peer in results.peers(case)
            if name in results.metrics((case, peer))
        ]
        yield f"  {name}: {', '.join(parts)}"


def is_count_per_operation(name):
    return name.endswith("_per_op") and not name.endswith("_ns_per_op")


def worth_showing(name, median):
    """What is next to nothing stays out of the tables (never out of the JSON), but for the figures with a promise."""
    return median >= 0.0005 or name in ("kernel_entries_per_op", "allocations_per_op")


def count_text(value):
    return f"{value:.3f}" if value >= 0.0005 else "0"


def report(results, duration_ms):
    bench = results.bench
    rounds = len(next(iter(results.samples.values())))
    runs = f" of {duration_ms} ms" if duration_ms else ""
    yield f"{bench.name}: {bench.title}"
    yield f"  CPU time per {bench.operation}; median of {rounds} interleaved rounds{runs}."
    yield "  Ratios of CPU time (below 1 is better): median of the rounds' ratios [its 90 % interval]."
    for note in bench.notes:
        yield f"  {note}"
    floors = {bench.case(case).floor for case in results.cases()}
    for case in results.cases():
        if case in floors and not any(peer in BECK for peer in results.peers(case)):
            continue  # stands in the tables of the cases that it is the floor of, as rivals
        yield f"\n{bench.name} {case}"
        yield from case_table(results, case)

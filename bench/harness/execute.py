# SPDX-License-Identifier: BSL-1.0
"""Runs the peers of a benchmark side by side: A B C, A B C, ... so that all of them meet each mood of the machine."""
import json
import shutil
import sys
import tempfile
import time

from . import calling, compilation, copying, machine, redis, securing, serving
from .peers import BECK, OPTIONAL, PEERS, RING_PEERS

TIMEOUT_MARGIN_S = 20
TIME_LIMIT_S = 285  # for a benchmark with the default number of rounds
ROUNDS_DEFAULT = 9
ROUNDS_MIN = 5  # an early end leaves at least as many
WARM_UP_MS = 120


class Programs:
    """Peers that are programs: each prints one line of JSON."""

    def __init__(self, bench, build, duration_ms):
        self.bench = bench
        alone = build / "programs"  # where bench/ was configured by itself
        self.folder = alone if alone.is_dir() else build / "bench" / "programs"
        self.duration_ms = duration_ms
        self.cpu, self.other_cpu = machine.two_cpus()

    def path(self, peer):
        return self.folder / f"{self.bench.name}_{PEERS[peer][0]}"

    def missing(self, slot):
        """Why the slot cannot run, or ""."""
        return "" if self.path(slot.peer).exists() else f"{self.path(slot.peer)} is not built"

    def run(self, slot, warm_up, more_arguments=()):
        ms = min(self.duration_ms, WARM_UP_MS) if warm_up else self.duration_ms
        arguments = ["--case", slot.case.name, "--ms", str(ms), "--cpu", str(self.cpu)]
        arguments += ["--other-cpu", str(self.other_cpu), *PEERS[slot.peer][1], *more_arguments]
        # A new copy each time: which pages of memory a program's file lies on moves its figures by up to 4 %, and a
        # file stays where it is for all rounds.
        with tempfile.TemporaryDirectory(prefix="beck-bench-") as folder:
            program = shutil.copy(self.path(slot.peer), folder)
            return metrics(json.loads(machine.run([program] + arguments, ms / 1000 + TIMEOUT_MARGIN_S)))


def metrics(line):
    """The figures of a peer's line, per operation. A run that was not checked, or did nothing, is an error."""
    if line.get("checked") is not True or line["messages"] <= 0:
        raise machine.RunError(f"a peer did not check its work: {line}")
    per_operation = {
        name.replace("_ns", "_ns_per_op"): line[name] / line["messages"]
        for name in ("cpu_ns", "wall_ns", "user_ns", "system_ns")
        if line.get(name, 0) > 0
    }
    known = ("bench", "case", "messages", "cpu_ns", "wall_ns", "user_ns", "system_ns", "checked")
    return per_operation | {name: value for name, value in line.items() if name not in known}


def runner(bench, build, root, duration_ms=None, size=None):
    if bench.name == "copy":
        return copying.Copies(build, root, size)
    if bench.name == "compile":
        return compilation.Compilations(root)
    if bench.name in ("http", "http_blocking"):
        return serving.Services(bench, build, root, duration_ms)
    if bench.name == "tls":
        return securing.SecureServices(bench, build, root, duration_ms)
    programs = Programs(bench, build, duration_ms or bench.duration_ms)
    if bench.name == "http_client":
        return calling.Calls(programs, serving.Services(bench, build, root))
    if bench.name == "redis":
        return redis.RedisCalls(programs)
    return programs


def available(all_slots, how, backend, refusal, say):
    """Leaves out what cannot run here, each with a line that says why; what is not built is an error."""
    chosen = []
    left_out = set()
    for why in dict.fromkeys(slot.case.without for slot in all_slots if slot.case.without):
        names = dict.fromkeys(slot.case.name for slot in all_slots if slot.case.without == why)
        say(f"left out of {', '.join(names)}: {BECK[0]}: {why}")
    for slot in all_slots:
        needs_ring = slot.peer in RING_PEERS and not isinstance(how, compilation.Compilations)
        if needs_ring and (backend == "epoll" or refusal):
            left_out.add(slot.peer)
        else:
            chosen.append(slot)
    if left_out:
        why = "BECK_BACKEND is epoll" if backend == "epoll" else refusal
        say(f"left out: {', '.join(p for p in PEERS if p in left_out)}: {why}")
    for peer in dict.fromkeys(slot.peer for slot in chosen if slot.peer in OPTIONAL and how.missing(slot)):
        say(f"left out: {peer}: {OPTIONAL[peer]}")
        chosen = [slot for slot in chosen if slot.peer != peer]
    missing = sorted({how.missing(slot) for slot in chosen} - {""})
    if missing:
        raise machine.RunError("\n".join(missing + ["build them, or name the peers to run with --peers"]))
    if not chosen:
        raise machine.RunError("no peer is left to run")
    return chosen


class Progress:
    """One line on stderr that moves on where there is a terminal, else one per round."""

    def __init__(self, bench, rounds):
        self.bench, self.rounds = bench, rounds
        self.begin = time.monotonic()

    def elapsed(self):
        return time.monotonic() - self.begin

    def show(self, round_number, text=""):
        what = f"round {round_number} of {self.rounds}" if round_number else "warm-up"
        line = f"{self.bench.name}: {what}, {self.elapsed():.0f} s"
        if sys.stderr.isatty():
            print(f"\r\033[K{line} {text}", end="", file=sys.stderr, flush=True)
        elif not text:
            print(line, file=sys.stderr, flush=True)

    def end(self):
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def interleave(bench, chosen, how, rounds, say, after_round=None):
    """The samples: {(case, peer): [metrics of round 1, of round 2, ...]}, all lists equally long.

    `after_round` is called with the number of each round that has ended, and the samples so far.
    """
    samples = {(slot.case.name, slot.peer): [] for slot in chosen}
    progress = Progress(bench, rounds)
    limit_s = TIME_LIMIT_S * max(1, rounds / ROUNDS_DEFAULT)
    begin_of_rounds = 0
    for round_number in range(rounds + 1):
        if round_number > 1:
            pace = (progress.elapsed() - begin_of_rounds) / (round_number - 1)
            if progress.elapsed() + pace > limit_s and round_number > ROUNDS_MIN:
                progress.end()
                say(f"stopped after {round_number - 1} rounds: the next would pass {limit_s:.0f} s")
                break
        progress.show(round_number)
        for slot in chosen:
            progress.show(round_number, f"{slot.case.name} {slot.peer}")
            result = how.run(slot, warm_up=round_number == 0)
            if round_number > 0:
                samples[slot.case.name, slot.peer].append(result)
        if round_number == 0:
            begin_of_rounds = progress.elapsed()
        elif after_round:
            progress.end()
            after_round(round_number, samples)
    progress.end()
    return samples

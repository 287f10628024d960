#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the benchmarks of beck beside their peers. README.md beside this file says how and why."""
import argparse
import os
import sys
from pathlib import Path

from harness import compilation, execute, machine, results, targets
from harness.catalogue import BENCHES, PEERS, slots

ROOT = Path(__file__).resolve().parent.parent
MAIN_CASES = ["callback", "coroutine", "raw"]


def comma_list(text):
    return [part for part in text.split(",") if part]


def positive(text):
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError("must be positive")
    return value


def parser():
    names = "\n".join(
        f"  {b.name:11} {b.title}\n{'':14}cases: {', '.join(c.name for c in b.cases)}" for b in BENCHES.values()
    )
    p = argparse.ArgumentParser(
        prog="run bench",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Runs a benchmark beside its peers, interleaved, and prints medians and ratios.",
        epilog=f"benchmarks:\n{names}\n  main        the ping-pong in one process, a table and out/pingpong.svg\n\n"
        f"peers: {', '.join(PEERS)}\n"
        "BECK_BACKEND=epoll leaves the io_uring peers out.",
    )
    p.add_argument("name", choices=[*BENCHES, "main"], metavar="NAME", help="a benchmark, or main")
    p.add_argument("--peers", type=comma_list, metavar="A,B", help="only these (default: all, and all must be there)")
    p.add_argument("--cases", type=comma_list, metavar="X,Y", help="only these cases")
    p.add_argument("--rounds", type=positive, default=execute.ROUNDS_DEFAULT, metavar="N", help="default: %(default)s")
    p.add_argument("--ms", type=positive, metavar="N", help="how long a timed run lasts")
    p.add_argument("--json", type=Path, metavar="FILE", help="write one JSON object a line")
    p.add_argument("--build", type=Path, metavar="DIR", help="the build folder (default: build/bench)")
    p.add_argument("--no-targets", action="store_true", help="do not print the project's targets")
    return p


def say(line):
    print(line, flush=True)


def run_bench(options, name, case_names):
    bench = BENCHES[name]
    build = options.build or ROOT / "build" / "bench"
    how = execute.runner(bench, build, ROOT, options.ms)
    chosen = slots(bench, case_names, options.peers)
    chosen = execute.available(chosen, how, os.environ.get("BECK_BACKEND", ""), machine.ring_refusal(), say)
    say(f"machine: {machine.describe()}")
    samples = execute.interleave(bench, chosen, how, options.rounds, say)
    if name == "compile":
        compilation.add_base(samples)
    found = results.Results(bench, samples)
    for line in results.report(found, how.duration_ms):
        say(line)
    checks = targets.checks(found)
    if checks and not options.no_targets:
        say("\ntargets")
        for line in results.layout([check.row() for check in checks]):
            say(line)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text("".join(f"{line}\n" for line in found.json_lines()), encoding="utf-8")
    return found


def run_main(options):
    """The main job: the ping-pong on real sockets, a table and a picture."""
    out = ROOT / "out"
    out.mkdir(exist_ok=True)
    options.json = options.json or out / "pingpong.json"
    found = run_bench(options, "pingpong", options.cases or MAIN_CASES)
    try:
        from harness import picture  # late: everything else runs without matplotlib
    except ImportError as e:
        say(f"no picture: {e} (Debian: python3-matplotlib, for /usr/bin/python3)")
        return
    for path in picture.draw(found, out / "pingpong"):
        say(f"picture: {path.relative_to(ROOT)}")


def main(arguments):
    if arguments[:1] == ["bench"]:
        arguments = arguments[1:]
    options = parser().parse_args(arguments)
    try:
        if options.name == "main":
            run_main(options)
        else:
            run_bench(options, options.name, options.cases)
    except (machine.RunError, LookupError) as e:
        print(f"error: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

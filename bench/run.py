#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the benchmarks of beck beside their peers. README.md beside this file says how and why."""
import argparse
import os
import re
import sys
from contextlib import ExitStack
from pathlib import Path

from harness import compilation, copy_picture, copying, execute, http_picture, machine, picture, results, targets
from harness.catalogue import BENCHES, slots
from harness.peers import PEERS

ROOT = Path(__file__).resolve().parent.parent
MAIN_CASES = ["callback", "coroutine", "raw"]
PICTURES = {"copy": copy_picture, "http": http_picture}
PREVIEW_ROUNDS = 2  # after so many the main job shows a first table and picture


def comma_list(text):
    return [part for part in text.split(",") if part]


def positive(text):
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError("must be positive")
    return value


def size(text):
    found = re.fullmatch(r"([1-9]\d*)([KMG]?)", text)
    if not found:
        raise argparse.ArgumentTypeError("a number with K, M or G")
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2]]


def parser():
    names = "\n".join(
        f"  {b.name:11} {b.title}\n{'':14}cases: {', '.join(c.name for c in b.cases)}" for b in BENCHES.values()
    )
    p = argparse.ArgumentParser(
        prog="run bench",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Runs a benchmark beside its peers, interleaved, and prints medians and ratios.",
        epilog=f"benchmarks:\n{names}\n  main        the ping-pong in one process, a table and out/pingpong.svg\n"
        "copy and http draw out/copy.svg and out/http.svg too.\n\n"
        f"peers: {', '.join(PEERS)}\n"
        "BECK_BACKEND=epoll leaves the io_uring peers out.",
    )
    p.add_argument("name", choices=[*BENCHES, "main"], metavar="NAME", help="a benchmark, or main")
    p.add_argument("--peers", type=comma_list, metavar="A,B", help="only these (default: all, and all must be there)")
    p.add_argument("--cases", type=comma_list, metavar="X,Y", help="only these cases")
    p.add_argument("--rounds", type=positive, default=execute.ROUNDS_DEFAULT, metavar="N", help="default: %(default)s")
    p.add_argument("--ms", type=positive, metavar="N", help="how long a timed run lasts")
    p.add_argument("--size", type=size, metavar="SIZE", help="how much a run of copy copies (default: 1G)")
    p.add_argument("--json", type=Path, metavar="FILE", help="write one JSON object a line")
    p.add_argument("--build", type=Path, metavar="DIR", help="the build folder (default: build/bench)")
    p.add_argument("--print-workload", action="store_true", help="print the workload that it needs the programs of")
    p.add_argument("--no-targets", action="store_true", help="do not print the project's targets")
    return p


def say(line):
    print(line, flush=True)


def print_tables(found, how):
    lines = copying.report(found, how.size) if found.bench.name == "copy" else results.report(found, how.duration_ms)
    for line in lines:
        say(line)


def run_bench(options, name, case_names, preview=None):
    """Runs a benchmark and prints its tables. `preview` is called with the results after two rounds, if more follow."""
    bench = BENCHES[name]
    build = options.build or ROOT / "build" / "bench"
    how = execute.runner(bench, build, ROOT, options.ms, options.size)
    chosen = slots(bench, case_names, options.peers)
    chosen = execute.available(chosen, how, os.environ.get("BECK_BACKEND", ""), machine.ring_refusal(), say)
    say(f"machine: {machine.describe()}")
    with ExitStack() as stack:
        if hasattr(how, "__enter__"):
            stack.enter_context(how)
        if name == "copy":
            chosen = copying.without_refused(chosen, how, say)

        def after_round(number, samples):
            if preview and number == PREVIEW_ROUNDS < options.rounds:
                say(f"after {number} of {options.rounds} rounds:")
                so_far = results.Results(bench, samples)
                print_tables(so_far, how)
                preview(so_far)
                say("the rest follows\n")

        samples = execute.interleave(bench, chosen, how, options.rounds, say, after_round)
    if name == "compile":
        compilation.add_base(samples)
    found = results.Results(bench, samples)
    print_tables(found, how)
    checks = targets.checks(found)
    if checks and not options.no_targets:
        say("\ntargets")
        for line in results.layout([check.row() for check in checks]):
            say(line)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text("".join(f"{line}\n" for line in found.json_lines()), encoding="utf-8")
    return found


def draw(found, picture, stem):
    for path in picture.draw(found, stem):
        say(f"picture: {path.relative_to(ROOT)}")


def run_drawn(options):
    """The copies, and the HTTP servers: a table and a picture."""
    out = ROOT / "out"
    out.mkdir(exist_ok=True)
    options.json = options.json or out / f"{options.name}.json"
    draw(run_bench(options, options.name, options.cases), PICTURES[options.name], out / options.name)


def run_main(options):
    """The main job: the ping-pong on real sockets, a table and a picture."""
    out = ROOT / "out"
    out.mkdir(exist_ok=True)
    options.json = options.json or out / "pingpong.json"
    preview = lambda so_far: draw(so_far, picture, out / "pingpong")
    draw(run_bench(options, "pingpong", options.cases or MAIN_CASES, preview), picture, out / "pingpong")


def main(arguments):
    if arguments[:1] == ["bench"]:
        arguments = arguments[1:]
    options = parser().parse_args(arguments)
    if options.print_workload:
        print("pingpong" if options.name == "main" else options.name)
        return 0
    try:
        if options.name == "main":
            run_main(options)
        elif options.name in PICTURES:
            run_drawn(options)
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

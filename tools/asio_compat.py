#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Measures the facade with an Asio source tree, and with programs: what compiles, what runs as it does with Asio.

usage: asio_compat.py --asio DIR --build DIR [--unit] [--programs DIR] [--no-examples] [--compile-only] [--only TEXT]
                      [--compiler COMMAND] [--jobs N] [--show] [--json FILE]

DIR of --asio has include/asio.hpp and, but for --programs, Asio's examples and tests; the prefix of a package will do.
DIR of --build is a build tree of beck with its libraries and its forwarding headers. The examples are compiled with
both libraries, linked and run: a table (compat/scenes.toml) says how, alone, with a peer and, where two examples talk
to each other, one of them over Asio. What they print and their exit status are compared on each backend. --unit counts
the cases of Asio's unit tests that pass over the facade, --programs DIR runs each DIR/NAME.cpp (NAME.args, NAME.in).
--show prints a line for each that fails or was not run, with the reason where it is known. A summary comes last.
Programs run in a network of their own where the machine has `unshare` and `ip` and lets us, else in its own network.
"""
import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compat import examples, programs, stage, units
from compat.libraries import Compiler, Library, Objects
from compat.report import Report

ROOT = Path(__file__).resolve().parent.parent
SCENES_AT_ONCE = 8  # they wait most of the time


def measure_sources(given, objects, facade, scenes, report, pool):
    """Compiles each source of the examples with the facade."""
    root, sources, _ = examples.find(given.asio, given.only)
    names = [str(source.relative_to(root).with_suffix("")) for source in sources]
    tried = [(name, source) for name, source in zip(names, sources)
             if scenes.reason_to_leave_out(name) is None and given.only in name]
    report.left_out.update(why for why in map(scenes.reason_to_leave_out, names) if why)
    for (name, _), (_, error) in zip(tried, pool.map(lambda one: objects.get(one[1], facade), tried)):
        report.source(name, error)


def measure_examples(given, measurement, scenes, report, pool):
    """Builds the examples with both libraries and performs their scenes."""
    _, _, found = examples.find(given.asio, "")
    found = [one for one in found if scenes.reason_to_leave_out(one.name) is None]
    chosen = [one for one in found if given.only in one.name]
    cast = {name for one in chosen for name in scenes.of.get(one.name, {}).get("cast", {}).values()}
    builds = [(library, one) for one in found if one in chosen or one.name in cast for library in ("facade", "Asio")]
    list(pool.map(lambda job: measurement.build(*job), builds))
    with ThreadPoolExecutor(SCENES_AT_ONCE if stage.can_be_private() else 1) as stages:
        for one, verdict in zip(chosen, stages.map(measurement.judge, chosen)):
            report.program("example", one.name, verdict)


def measure_units(given, objects, asio, facade, left_out, report, pool):
    root, sources = units.find(given.asio, given.only)
    tried = []
    for source in sources:
        name = str(source.relative_to(root))
        why = next((why for part, why in left_out.items() if part in name), None)
        if why is None:
            tried.append(source)
        else:
            report.left_out[f"files of unit tests: {why}"] += 1
    for unit in pool.map(lambda source: units.measure(objects, asio, facade, root, source), tried):
        if unit is not None:
            report.unit(unit)


def measure_programs(given, objects, asio, facade, report, pool):
    found = programs.find(given.programs, given.only)
    for source, (verdict, error) in zip(found, pool.map(
            lambda source: programs.measure(objects, asio, facade, source), found)):
        report.program("program", source.stem, verdict, error)


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--asio", required=True, type=Path)
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--unit", action="store_true")
    parser.add_argument("--programs", type=Path)
    parser.add_argument("--no-examples", action="store_true")
    parser.add_argument("--compile-only", action="store_true", help="compile the sources of the examples, run nothing")
    parser.add_argument("--only", default="", help="those whose name contains this")
    parser.add_argument("--compiler", default="g++", help="such as 'ccache clang++-19'")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many compilers run at once")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    for path in (given.asio / "include/asio.hpp", given.build / "asio/beck-asio/asio.hpp"):
        if not path.is_file():
            parser.error(f"{path} is not there")
    return given


def main(arguments):
    given = parse(arguments)
    asio, facade = Library.asio(given.asio), Library.facade(ROOT, given.build)
    scenes = examples.Scenes()
    report = Report(scenes.why, given.show)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        objects = Objects(Compiler(given.compiler), Path(folder))
        if not given.no_examples:
            measure_sources(given, objects, facade, scenes, report, pool)
            if not given.compile_only:
                measurement = examples.Measurement(objects, asio, facade, scenes)
                measure_examples(given, measurement, scenes, report, pool)
        if given.unit:
            measure_units(given, objects, asio, facade, scenes.units_left_out, report, pool)
        if given.programs is not None:
            measure_programs(given, objects, asio, facade, report, pool)
    print("\n".join(report.summary()))
    if given.json is not None:
        report.write_json(given.json)


if __name__ == "__main__":
    main(sys.argv[1:])

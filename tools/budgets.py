#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Keeps the headers light: counts the lines of code that the preprocessor hands to the compiler, which do not depend
on the machine as seconds do, and compares what beck adds with a budget. Blank lines and line markers do not count:
documentation costs a compiler nothing and must not compete with code.

usage: budgets.py [ROOT]

The facade of asio/ counts with <asio.hpp> and with the narrow headers of an echo server.
The base is a file with <system_error> and <coroutine> alone; budgets are lines above it. interop/ is exempt.
Prints a table and file: message for each breach; exits with 1 if there is one.
"""
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# What counts in the end is seconds (`./run bench compile`: at most 0.30 s above the base for an echo server, 0.50 s for
# the umbrella); measured with these lines: 0.23 s and 0.10 s. A part that grows past its budget shows here first.
HEADER_LINES_MAX = 5420
ECHO_LINES_MAX = 5970
UMBRELLA_LINES_MAX = 16600
HTTP_SERVER_LINES_MAX = 7030  # 0.35 s above the base for a whole program: tasks, sockets and the server
HTTP_SERVER_HEADERS = ("cookie", "credentials", "error_page", "event_stream", "exchange", "form", "handler", "hosts",
                       "metrics", "middleware", "middlewares", "multipart_form", "per_context", "request",
                       "request_id", "router", "server", "slot", "static_files")
REDIS_CLIENT_LINES_MAX = 7660  # typed replies: 3,500 of them are the tables of types
REDIS_CLIENT_HEADERS = ("cache", "client", "cluster", "exec", "exec_functions", "lane", "primary_watch")
# Under Asio's names programs expect parts of the standard library from headers, whose lines depend on the library's
# version: the facade's own lines are counted above them.
FACADE_ECHO_STANDARD = ("chrono", "csignal", "memory", "mutex", "streambuf", "thread", "tuple", "vector")
FACADE_STANDARD = (*FACADE_ECHO_STANDARD, "deque", "functional", "future", "iostream", "list", "map", "set",
                   "fcntl.h", "termios.h", "net/if.h", "netdb.h", "poll.h", "sys/ioctl.h", "sys/stat.h", "sys/uio.h")
FACADE_ECHO_LINES_MAX = 14500
FACADE_LINES_MAX = 15900
FACADE_ECHO_HEADERS = ("co_spawn", "detached", "io_context", "ip/tcp", "signal_set", "steady_timer", "write")
BASE = "#include <system_error>\n#include <coroutine>\n"


def count_lines(source, include, compiler="g++"):
    """The preprocessed lines of code of a source text."""
    folders = [part for name in (include, include.parent / "asio" / "include", include.parent / "examples")
               for part in ("-I", str(name))]
    command = [compiler, "-std=c++20", "-O2", "-E", *folders, "-x", "c++", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
    return sum(1 for line in done.stdout.splitlines() if line.strip() and not line.startswith("#"))


def budget_of(header):
    """The budget of a public header, named as users include it; None for an exempt one."""
    if header.startswith("beck/interop/"):
        return None
    larger = {"beck/beck.hpp": UMBRELLA_LINES_MAX}
    larger |= {f"beck/http/{name}.hpp": HTTP_SERVER_LINES_MAX for name in HTTP_SERVER_HEADERS}
    larger |= {f"beck/websocket/{name}.hpp": HTTP_SERVER_LINES_MAX for name in ("accept", "connect")}
    larger |= {f"beck/redis/{name}.hpp": REDIS_CLIENT_LINES_MAX for name in REDIS_CLIENT_HEADERS}
    return larger.get(header, HEADER_LINES_MAX)


def facade_echo(root):
    """The includes of an echo server in Asio's names, with the headers that asio/headers.txt maps them to."""
    lines = (line.split() for line in (root / "asio" / "headers.txt").read_text().splitlines())
    header_of = {line[0]: line[1] for line in lines if len(line) == 2}
    return "".join(f"#include <beck/asio/{header_of[name + '.hpp']}>\n" for name in FACADE_ECHO_HEADERS)


def includes(headers):
    return "".join(f"#include <{header}>\n" for header in headers)


def plan(root):
    """What is measured: (name, source text, budget, the name of the row above which its lines are counted)."""
    include = root / "include"
    yield "base", BASE, None, "base"
    for path in sorted(include.rglob("*.hpp")):
        header = path.relative_to(include).as_posix()
        yield header, includes([header]), budget_of(header), "base"
    for path in sorted((root / "examples").glob("echo*.cpp")):
        yield path.relative_to(root).as_posix(), path.read_text(), ECHO_LINES_MAX, "base"
    if (root / "asio").is_dir():
        yield "standard headers of that echo server", BASE + includes(FACADE_ECHO_STANDARD), None, "base"
        yield ("an echo server over asio/", facade_echo(root), FACADE_ECHO_LINES_MAX,
               "standard headers of that echo server")
        yield "standard headers of asio.hpp", BASE + includes(FACADE_STANDARD), None, "base"
        yield "asio.hpp", includes(["beck/asio/all.hpp"]), FACADE_LINES_MAX, "standard headers of asio.hpp"


def main(root):
    rows = list(plan(root))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = list(pool.map(lambda row: count_lines(row[1], root / "include"), rows))
    lines_of = {name: lines for (name, *_), lines in zip(rows, counts)}
    status = 0
    print(f"{'lines':>8} {'over base':>10} {'budget':>8}  file")
    for name, _, budget, base in rows:
        over = lines_of[name] - lines_of[base]
        print(f"{lines_of[name]:8} {over:10} {budget or '-':>8}  {name}")
    for name, _, budget, base in rows:
        over = lines_of[name] - lines_of[base]
        if budget and over > budget:
            print(f"{name}: {over} lines of code above those of {base}; the budget is {budget}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))

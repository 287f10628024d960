#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Writes src/redis/protocol/command_table.def: for each command of a Redis server where its keys are and what a client
has to know of it. The facts come from the server's own COMMAND; what COMMAND does not tell is in this file, with the
reason.

usage: redis_commands.py [--server PROGRAM] [--update]     compares, or writes the file anew
       redis_commands.py --server PROGRAM --later          compares the rows of both tables, command_table_later.def
           too, with those of a later server; ends with 1 if it says otherwise of a command, or has one that they lack

PROGRAM (default: redis-server) is started on a UNIX socket in a temporary folder, and ended.
"""
import argparse
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "src/redis/protocol/command_table.def"
LATER_TABLE = ROOT / "src/redis/protocol/command_table_later.def"
HEAD = """\
// SPDX-License-Identifier: BSL-1.0
// The commands of redis-server {version}, written by tools/redis_commands.py --update: name, arity (the number of
// arguments, the name included; -n: n or more), facts, and where the keys are. See command_table.cpp for the words.
"""

# COMMAND has no flag for the state of a connection. These change it, or are answered otherwise than by one reply, so
# they must not be sent on a connection that others use.
STATEFUL = """
    select auth hello reset quit multi exec discard watch unwatch readonly readwrite asking subscribe psubscribe
    ssubscribe unsubscribe punsubscribe sunsubscribe client|reply client|tracking client|caching client|setname
    client|no-evict script|debug wait
""".split()
# The server takes the connection over: only a proxy relays what comes.
RELAYED = "monitor sync psync replconf".split()
# WAIT blocks as well, and has no flag for it.
BLOCKING = ["wait"]
# These block only with the option BLOCK.
BLOCKING_BY_OPTION = "xread xreadgroup".split()
# Commands without keys have no flag that says they change nothing. These may run twice, or not at all, unnoticed.
HARMLESS = """
    ping echo time info lastsave role command command|count command|docs command|getkeys command|getkeysandflags
    command|info command|list client|id client|getname client|getredir client|info client|list client|trackinginfo
    config|get cluster|countkeysinslot cluster|getkeysinslot cluster|info cluster|keyslot cluster|links cluster|myid
    cluster|nodes cluster|replicas cluster|shards cluster|slaves cluster|slots slowlog|get slowlog|len latency|doctor
    latency|graph latency|histogram latency|history latency|latest acl|cat acl|dryrun acl|getuser acl|list acl|users
    acl|whoami script|exists function|dump function|list function|stats module|list memory|doctor memory|malloc-stats
    memory|stats pubsub|channels pubsub|numpat pubsub|numsub pubsub|shardchannels pubsub|shardnumsub
""".split()
# How replies of the parts of a command that touches several nodes become one. MSETNX is left out: it sets all keys or
# none, which nodes cannot promise together.
SPLIT = {"del": "sum", "unlink": "sum", "exists": "sum", "touch": "sum", "mget": "values", "mset": "all"}
# Commands of later servers that no connection may share, as those of STATEFUL.
LATER = (
    '"client|no-touch", 3, writes | needs_lane',
    '"client|setinfo", 4, writes | needs_lane',
    '"waitaof", 4, writes | blocks | needs_lane',
)
# The same of commands in command_table_later.def: STATEFUL and HARMLESS ones.
LATER_STATEFUL = """
    client|capa client|import-source client|maint_notifications client|no-touch client|setinfo waitaof
""".split()
LATER_HARMLESS = """
    cluster|getslotmigrations cluster|myshardid cluster|slot-stats commandlog|get commandlog|len hotkeys|get script|show
""".split()
# Of these the number of keys may be 0; the others refuse it.
MAY_HAVE_NO_KEYS = ("eval", "fcall")
# Where the server finds keys by a function of its own, because a key specification cannot say it.
BY_FUNCTION = {"sort": "sort_keys()", "sort_ro": "at(1).key()", "migrate": "migrate_keys()"}


class server:
    """A redis-server with a socket of its own."""

    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory()
        path = f"{self.folder.name}/s"
        self.process = subprocess.Popen(
            [program, "--port", "0", "--unixsocket", path, "--save", ""],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        for line in self.process.stdout:
            if "ready to accept connections" in line.lower():
                break
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.input = self.socket.makefile("rb")

    def ask(self, *words):
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words))
        return self.reply()

    def reply(self):
        line = self.input.readline()[:-2].decode()
        kind, rest = line[0], line[1:]
        if kind == "$":
            return None if rest == "-1" else self.input.read(int(rest) + 2)[:-2].decode()
        if kind == "*":
            return None if rest == "-1" else [self.reply() for _ in range(int(rest))]
        return int(rest) if kind == ":" else rest

    def end(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()


def pairs(flat):
    return dict(zip(flat[::2], flat[1::2]))


def place(name, spec):
    """One key specification, in the words of command_table.cpp."""
    spec = pairs(spec)
    begin, find = pairs(spec["begin_search"]), pairs(spec["find_keys"])
    begin_at, find_at = pairs(begin["spec"]), pairs(find["spec"])
    if begin["type"] == "index":
        start = f"at({begin_at['index']})"
    elif begin["type"] == "keyword":
        start = f'after("{begin_at["keyword"].lower()}", {begin_at["startfrom"]})'
    else:
        raise SystemExit(f"{name}: begin_search of type {begin['type']}")
    if find["type"] == "range":
        last, step, limit = find_at["lastkey"], find_at["keystep"], find_at["limit"]
        keys = "key()" if last == 0 else f"range({last}, {step}, {limit})"
    elif find["type"] == "keynum":
        word = "counted_or_none" if name.startswith(MAY_HAVE_NO_KEYS) else "counted"
        keys = f"{word}({find_at['keynumidx']}, {find_at['firstkey']}, {find_at['keystep']})"
    else:
        raise SystemExit(f"{name}: find_keys of type {find['type']}; name it in BY_FUNCTION")
    return f"{start}.{keys}"


def facts(name, flags, below):
    words = ["reads" if "readonly" in flags or name in (*HARMLESS, *LATER_HARMLESS) else "writes"]
    if "blocking" in flags or name in BLOCKING:
        words.append("blocks_by_option" if name in BLOCKING_BY_OPTION else "blocks")
    if name in STATEFUL or name in LATER_STATEFUL:
        words.append("needs_lane")
    if name in RELAYED:
        words.append("relayed")
    if below:
        words.append("container")
    if name in SPLIT:
        words.append(f"split_{SPLIT[name]}")
    return " | ".join(words)


def commands(found):
    """Every command and subcommand of a reply of COMMAND."""
    for command in found:
        yield command
        yield from commands(command[9])


def row_of(command):
    """A command of a server, in the words of a table."""
    name, arity, flags, _, _, _, _, _, specs, below = command
    name = name.lower()
    places = [BY_FUNCTION[name]] if name in BY_FUNCTION else [place(name, spec) for spec in specs]
    return ", ".join([f'"{name}"', str(arity), facts(name, flags, below), *places])


def compare_later(redis):
    """Returns the differences between both tables and a later server. The arity of a command of the first table is that
    of its server, and modules tell none."""
    ours = {}
    for path in (LATER_TABLE, TABLE):
        for row in re.findall(r"^BECK_REDIS_COMMAND\((.*)\)$", path.read_text(), re.M):
            name, arity, *rest = row.split(", ")
            ours[name.strip('"')] = (None if path == TABLE else int(arity), ", ".join(rest))
    different = []
    for command in commands(redis.ask("COMMAND")):
        quoted, arity, *rest = row_of(command).split(", ")
        name, arity, rest = quoted.strip('"'), int(arity), ", ".join(rest)
        if name not in ours:
            different.append(f"{name}: is in no table; the server: {arity}, {rest}")
            continue
        our_arity, our_rest = ours[name]
        if our_rest != rest:
            different.append(f"{name}: {our_rest}; the server: {rest}")
        if our_arity is not None and arity not in (our_arity, -1):
            different.append(f"{name}: arity {our_arity}; the server: {arity}")
    return different


def table(redis):
    info = redis.ask("INFO", "server")
    version = next(line.partition(":")[2] for line in info.splitlines() if line.startswith("redis_version"))
    rows, known = [f"BECK_REDIS_COMMAND({row})" for row in LATER], set()
    for command in commands(redis.ask("COMMAND")):
        row = row_of(command)
        known.add(row.split('"')[1])
        rows.append(f"BECK_REDIS_COMMAND({row})")
    missing = {*STATEFUL, *RELAYED, *BLOCKING, *BLOCKING_BY_OPTION, *HARMLESS, *SPLIT, *BY_FUNCTION} - known
    if missing:
        raise SystemExit(f"the server does not know {', '.join(sorted(missing))}")
    return HEAD.format(version=version) + "".join(f"{row}\n" for row in sorted(rows))


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default="redis-server")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--later", action="store_true")
    options = parser.parse_args(arguments)
    redis = server(options.server)
    try:
        if options.later:
            different = compare_later(redis)
            print("\n".join(different or ["no row of the server differs"]))
            return different != []
        text = table(redis)
    finally:
        redis.end()
    if options.update:
        TABLE.write_text(text)
        return 0
    if TABLE.read_text() == text:
        return 0
    print(f"{TABLE}: differs from the server's COMMAND; run {Path(__file__).name} --update and read the difference")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

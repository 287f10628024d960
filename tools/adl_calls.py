#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Finds what argument-dependent lookup finds and should not, in the public headers:

- calls whose function is looked up through the types of their arguments: a handler whose type mentions a namespace
  with a function of that name (Asio's, or a user's) makes them ambiguous. Whatever they name has to be qualified;
  operators are exempt, and functions that belong to a user's type (MEANT_CALLS).
- functions that a program's call without a namespace finds beside its own: those that take arguments, are not Asio's
  (ASIO) and not meant to be found (MEANT). They belong into a namespace `functions` (beck/detail/functions.hpp), and
  each of them needs a line in tests/interop/own_names_test.cpp.

usage: adl_calls.py [ROOT]

clang++-19 knows which these are. Prints file:line: message; exits with 1 if there is one.
"""
import re
import subprocess
import sys
from pathlib import Path

PLACE = re.compile(r"(?P<file>[^\s<>,:]+\.[a-z]+):(?P<line>\d+):\d+|line:(?P<same>\d+):\d+|col:\d+")
RANGE = re.compile(r"<([^<>]*)>(?: [^\s']+:\d+(?::\d+)?)?")
MEANT_CALLS = ("get", "redis_fields")  # of a tuple, and of a type that beck::redis reads
CALL = re.compile(r"UnresolvedLookupExpr.*\(ADL\) = '([^']*)'")

NODE = re.compile(r"^(?P<tree>[|` -]*)(?P<kind>[A-Z]\w+) 0x")
FUNCTION = re.compile(r" (?P<name>\w+) '[^']*?\((?P<parameters>[^']*)\)")
TEST = "tests/interop/own_names_test.cpp"
TESTED = re.compile(r"BECK_TEST_CALL\(\s*(\w+(?:::\w+)*), (\w+)")
ASIO = set("""
    async_compose async_connect async_initiate async_read async_read_at async_read_until async_write async_write_at
    bind_allocator bind_cancellation_slot bind_executor bind_immediate_executor buffer buffer_copy
    buffer_sequence_begin buffer_sequence_end buffer_size cancel_after cancel_at co_spawn connect connect_pair
    connect_pipe defer dispatch dynamic_buffer get_associated_allocator get_associated_cancellation_slot
    get_associated_executor get_associated_immediate_executor make_address make_address_v4 make_address_v6
    make_parallel_group make_strand make_work_guard post prefer query read read_at read_until redirect_error
    register_buffers require write write_at
""".split())  # fmt: skip
ASIO_NAMESPACES = ("beck", "beck::ip")
MEANT = {"make_error_code", "hash_value", "to_string"}  # the standard's words for "of this type"


def places(dump):
    """Pairs of a line of a text that clang's -ast-dump has written, and its place: one leaves out what the one before
    it had, too."""
    file, line = "", 0
    for text in dump:
        text = text.rstrip()
        extent = RANGE.search(text)
        begin = None
        for place in PLACE.finditer(extent.group(0) if extent else ""):
            if place["file"]:
                file, line = place["file"], int(place["line"])
            elif place["same"]:
                line = int(place["same"])
            begin = begin or (file, line)
        yield text, begin


def calls(placed, folder):
    """The calls in files under `folder`, as (file, line, name)."""
    found = set()
    for text, begin in placed:
        name = CALL.search(text)
        if name and begin and begin[0].startswith(folder) and not name[1].startswith(("operator", *MEANT_CALLS)):
            found.add((*begin, name[1]))
    return sorted(found)


def functions(placed, folder):
    """The functions of namespaces in files under `folder` that take arguments, as (file, line, namespace, name, whether
    it is a template)."""
    found = set()
    scopes = []  # the nodes around a line: (depth, kind, name)
    for text, begin in placed:
        node = NODE.match(text)
        if not node:
            continue
        depth = len(node["tree"])
        while scopes and scopes[-1][0] >= depth:
            scopes.pop()
        kind, around = node["kind"], [scope[1] for scope in scopes]
        spaces = [scope[2] for scope in scopes if scope[1] == "NamespaceDecl" and scope[2] != "inline"]
        scopes.append((depth, kind, text.removesuffix(" nested").rsplit(" ", 1)[-1]))
        is_template = around[-1:] == ["FunctionTemplateDecl"]
        around = around[: -1 if is_template else None]
        if kind != "FunctionDecl" or set(around) - {"TranslationUnitDecl", "NamespaceDecl", "LinkageSpecDecl"}:
            continue
        function = FUNCTION.search(text)
        if function and begin and begin[0].startswith(folder) and function["parameters"] not in ("", "void"):
            found.add((*begin, "::".join(spaces), function["name"], is_template))
    return sorted(found)


def misplaced(found):
    """Those of functions() that a program's calls find beside its own."""
    for file, line, space, name, is_template in found:
        inside = space.split("::")
        is_exempt = name in MEANT or (name in ASIO and space in ASIO_NAMESPACES)
        if inside[0] == "beck" and "functions" not in inside and not is_exempt:
            if is_template or "detail" not in inside:
                yield file, line, name


def untested(found, test):
    """The public names of functions() that have no line in the text of the test."""
    tested = set(TESTED.findall(test))
    for file, line, space, name, _ in found:
        public = space.removesuffix("::functions")
        if public != space and "detail" not in space.split("::") and (public, name) not in tested:
            yield file, line, name


def main(root):
    include = root / "include"
    source = "".join(f"#include <{path.relative_to(include)}>\n" for path in sorted(include.rglob("*.hpp")))
    command = ["clang++-19", "-std=c++20", "-I", str(include), "-fsyntax-only", "-fno-color-diagnostics"]
    command += ["-Xclang", "-ast-dump", "-x", "c++", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, errors="replace") as clang:
        clang.stdin.write(source)
        clang.stdin.close()
        placed = [line for line in places(clang.stdout) if "Decl 0x" in line[0] or CALL.search(line[0])]
    found = functions(placed, str(include))
    messages = [(*at, "is looked up through its arguments' types: qualify it") for at in calls(placed, str(include))]
    messages += [(*at, "is found through its arguments' types: put it into `functions`") for at in misplaced(found)]
    messages += [(*at, f"has no line in {TEST}") for at in untested(found, (root / TEST).read_text())]
    for file, line, name, message in messages:
        print(f"{file}:{line}: {name} {message}")
    return 1 if messages or clang.returncode != 0 else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))

#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Counts the figures by which the shape of the code is judged, and prints them as a table with their limits.

usage: figures.py [ROOT] [--classes]

Members of classes are counted by clang++-19, those of their bases included; everything else is counted in the text.
--classes prints the classes of the protocols, the largest first.
"""
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from cpp_text import code_only, files, functions

SMALL_LINES, LARGE_LINES, COLUMNS, FUNCTION_LINES = 60, 400, 100, 70
PROTOCOLS = ("http", "redis", "tls", "websocket")
FUNCTION = re.compile(r"^[|`]-CXX(?:Method|Constructor|Destructor)Decl (?!.*\bimplicit\b(?!-))")
FIELD = re.compile(r"^[|`]-FieldDecl .* '([^']*)'")
BASE = re.compile(r"^[|`]-(?:public|protected|private) '([^']*)'(?::'([^']*)')?")
ASSERT = re.compile(r"\bBECK_ASSERT\(|\badvance\(\w")  # the second: a transition that a table checks
PRIVATE_IO = re.compile(r'^#include "io/', re.MULTILINE)
COMMENT = re.compile(r"//[/<!]*\s?(.*)$", re.MULTILINE)
WORD = re.compile(r"[A-Za-z']+")
# The classes of options that had a setter for each member.
OPTIONS = re.compile(
    r"^( *)(?:class|struct) (?:\w+_options|options|limits|request_limits) \{\n.*?^\1\};$", re.MULTILINE | re.DOTALL
)
NOT_OPTIONS = ("socket_option.hpp", "datagram_option.hpp")  # numbers of setsockopt()
CLASS = re.compile(r"^(?:class|struct) (\w+)(?: final)?(?: : [^;{]*)? \{$", re.MULTILINE)


class Shape(NamedTuple):
    """What a class has: functions, data members, those that are bool, and .cpp files with its functions."""
    name: str
    functions: int
    members: int
    bools: int
    files: int


def declarations(root, headers):
    """Returns the lines of clang's dump of each class in a namespace detail, by its qualified name."""
    command = ["clang++-19", "-std=c++20", f"-I{root}/src", f"-I{root}/include", "-fsyntax-only", "-x", "c++", "-"]
    command += ["-fno-color-diagnostics", "-Xclang", "-ast-dump", "-Xclang", "-ast-dump-filter=detail::"]
    source = "".join(f'#include "{header}"\n' for header in headers)
    text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    found = {}
    for part in text.split("Dumping ")[1:]:
        name, _, body = part.partition(":\n")
        if re.match(r"CXXRecordDecl .* definition$", body.split("\n", 1)[0]):
            found[name] = body.splitlines()
    return found


def shape(name, dumps, texts):
    """Returns the shape of a class of `dumps`, its bases included; their files do not count."""
    functions = members = bools = 0
    for line in dumps[name]:
        functions += bool(FUNCTION.match(line))
        if field := FIELD.match(line):
            members += 1
            bools += field[1] == "bool"
        if base := BASE.match(line):
            known = [n for n in dumps if f"::{n}".endswith(f"::{base[2] or base[1]}")]
            for inner in [shape(n, dumps, {}) for n in known[:1]]:
                functions, members, bools = functions + inner[1], members + inner[2], bools + inner[3]
    short = name.rsplit("::", 1)[1]
    defines = re.compile(rf"^(?:[^ /\n].*)?\b{short}::~?\w+\(", re.MULTILINE)
    part = name.split("::")[1]
    count = sum(bool(defines.search(t)) for p, t in texts.items() if p.suffix == ".cpp" and p.parts[1] == part)
    return Shape(name, functions, members, bools, count)


def protocol_shapes(root, texts):
    """Returns the shapes of the classes in the private headers of the protocols."""
    found = []
    for protocol in PROTOCOLS:
        headers = [p for p in texts if p.suffix == ".hpp" and p.parts[1] == protocol]
        classes = {name for p in headers for name in CLASS.findall(texts[p])}
        dumps = declarations(root, [p.relative_to("src").as_posix() for p in headers]) if classes else {}
        names = [n for n in dumps if n.startswith(f"beck::{protocol}::") and n.rsplit("::", 1)[1] in classes]
        found += [shape(name, dumps, texts) for name in names]
    return found


def sentences(page):
    """Returns the numbers of words of the sentences of a page, without code, tables and titles."""
    text = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    text = "\n".join(line for line in text.splitlines() if not line.startswith(("|", "#")))
    text = re.sub(r"`[^`]*`", "x", text)
    found = [len(one.split()) for one in re.split(r"(?<=[.:;?!])\s+|\n- |\n\n", text)]
    return [words for words in found if words > 1]


def protocol_figures(root, sources, public):
    """Yields the figures of the protocols' text: (figure, value, limit)."""
    for protocol in PROTOCOLS:
        private = {p: t for p, t in sources.items() if p.parts[1] == protocol}
        texts = [*private.values(), *(t for p, t in public.items() if p.parts[2] == protocol)]
        lines = sum(t.count("\n") for t in texts)
        asserts = sum(len(ASSERT.findall(code_only(t))) for t in texts)
        yield f"lines of {protocol} for each assert", round(lines / max(1, asserts)), 200
        words = [word.lower() for t in texts for comment in COMMENT.findall(t) for word in WORD.findall(comment)]
        share = round(words.count("what") * 10000 / max(1, len(words)), 1)
        yield f"`what` per 10,000 words of comments of {protocol}", share, 8
        yield f"private includes of io/ in {protocol}", sum(len(PRIVATE_IO.findall(t)) for t in private.values()), 0
    for page in ("http", "redis"):
        if (root / f"docs/{page}.md").is_file():
            count = sentences((root / f"docs/{page}.md").read_text())
            yield f"words a sentence in docs/{page}.md", round(sum(count) / max(1, len(count)), 1), 14
    bodies = [m[0] for p, t in public.items() if p.name not in NOT_OPTIONS for m in OPTIONS.finditer(t)]
    yield "lines of classes of options", sum(body.count("\n") + 1 for body in bodies), 600
    codes = [code_only(text) for text in [*sources.values(), *public.values()]]
    lengths = [code.count("\n", start, end) + 1 for code in codes for start, end in functions(code)]
    yield f"functions over {FUNCTION_LINES} lines", sum(length > FUNCTION_LINES for length in lengths), 0


def figures(root):
    """Yields (figure, value, limit); a limit of None is only shown."""
    sources = [path for path in files(root, ".hpp", ".cpp") if path.parts[0] == "src"]
    texts = {path: (root / path).read_text() for path in sources}
    public = {p: (root / p).read_text() for p in files(root, ".hpp") if p.parts[0] == "include"}
    lines = {path: text.count("\n") for path, text in texts.items()}
    names = [n for n in (root / "api_names.txt").read_text().split("\n") if re.fullmatch(r"beck::[^:]+", n)]
    loop = next(p.relative_to("src").as_posix() for p in texts if p.name == "io_loop.hpp")
    loop_users = sum(f'"{loop}"' in text for text in texts.values())
    dumps = declarations(root, [loop])
    of_loop = shape("beck::detail::io_loop", dumps, {})
    yield "functions of io_loop, with its bases", of_loop.functions, 110
    yield "members of io_loop, with its bases", of_loop.members, 25
    shapes = protocol_shapes(root, texts)
    for index, what, limit in ((1, "functions", 40), (2, "members", 25), (3, "bools", 4), (4, ".cpp files", 3)):
        yield f"classes of protocols with over {limit} {what}", sum(one[index] > limit for one in shapes), 0
    yield from protocol_figures(root, texts, public)
    yield "names directly in beck::", len(names), 220
    yield f"files of src under {SMALL_LINES} lines", sum(n < SMALL_LINES for n in lines.values()), 40
    yield f"files of src over {LARGE_LINES} lines", sum(n > LARGE_LINES for n in lines.values()), 0
    yield "uses of is_shared()", sum(code_only(t).count("is_shared()") for t in texts.values()), 15
    long = sum(len(line) > COLUMNS for t in [*texts.values(), *public.values()] for line in t.splitlines())
    yield f"lines of src and include over {COLUMNS} columns", long, 0
    yield "`case op_kind::` in src", sum(t.count("case op_kind::") for t in texts.values()), None
    yield "files of src that include io_loop.hpp", loop_users, None
    yield "files of src", len(texts), None
    yield "lines of src", sum(lines.values()), None


def table(rows):
    yield "| figure | now | at most |"
    yield "|---|---|---|"
    for figure, value, limit in rows:
        yield f"| {figure} | {value:,} | {'' if limit is None else f'{limit:,}'} |"


def class_table(root):
    texts = {p: (root / p).read_text() for p in files(root, ".hpp", ".cpp") if p.parts[0] == "src"}
    yield "| class | functions | members | bools | .cpp files |"
    yield "|---|---|---|---|---|"
    for one in sorted(protocol_shapes(root, texts), key=lambda one: -one.functions):
        yield f"| {' | '.join(str(value) for value in one)} |"


if __name__ == "__main__":
    arguments = [one for one in sys.argv[1:] if one != "--classes"]
    place = Path(arguments[0] if arguments else ".")
    print(*(class_table(place) if "--classes" in sys.argv else table(figures(place))), sep="\n")

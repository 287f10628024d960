#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Takes the C++ out of the documents, so that it is compiled and cannot rot.

usage: snippets.py ROOT OUTPUT_DIR

Each ```cpp block of README.md and docs/**/*.md becomes a source file in OUTPUT_DIR, by how it begins:
  #include ...       a whole file
  // declarations    what stands outside of functions; the umbrella header is added
  // statements      the inside of a coroutine with the parameters named in STATEMENTS below
Blocks opened with ```cpp ignore are left out; anything else is an error. Prints the names of the files it wrote.
"""
import re
import sys
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^\s*```(\w*)[ \t]*(.*)$")

DECLARATIONS = """\
#include <beck/beck.hpp>
#include <chrono>
using beck::ip::tcp;
using namespace std::chrono_literals;
%s"""

STATEMENTS = (
    DECLARATIONS
    % """\
[[maybe_unused]] static beck::task<> snippet(beck::io_context& ctx, tcp::socket& socket,
    tcp::acceptor& acceptor, beck::steady_timer& timer, char (&data)[4096]) {
  (void)ctx, (void)socket, (void)acceptor, (void)timer, (void)data;
%s
  co_return;
}
"""
)


class Unusable(Exception):
    """A block that is no snippet; the text says where and why."""


@dataclass
class Snippet:
    document: Path
    line: int  # of the opening fence
    mark: str  # what follows ```cpp
    code: str

    def source(self, name):
        """The source file that compiles this block; errors point into the document."""
        located = f'#line {self.line + 1} "{name}"\n{self.code}'
        begin = next((line.strip() for line in self.code.splitlines() if line.strip()), "")
        if begin.startswith("#include"):
            return located
        if begin == "// declarations":
            return DECLARATIONS % located
        if begin == "// statements":
            return STATEMENTS % located
        raise Unusable(
            f"{name}:{self.line}: begin the block with #include, // declarations or // statements, "
            "or open it with ```cpp ignore"
        )


def extract(document):
    """The C++ blocks of one document."""
    opened, lines = None, []
    for number, line in enumerate(document.read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if opened is None:
            if fence:
                opened, lines = (number, fence[1], fence[2].strip()), []
        elif fence and not fence[1]:
            if opened[1] == "cpp":
                yield Snippet(document, opened[0], opened[2], "\n".join(lines) + "\n")
            opened = None
        else:
            lines.append(line)
    if opened:
        raise Unusable(f"{document}:{opened[0]}: the block is never closed")


def write_all(root, output):
    """Writes a source file for each block and gives their paths; files of removed blocks disappear."""
    output.mkdir(parents=True, exist_ok=True)
    wanted = {}
    for document in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        if not document.exists():
            continue
        name = document.relative_to(root).as_posix()
        for snippet in extract(document):
            if snippet.mark != "ignore":
                path = output / f"{re.sub(r'[^A-Za-z0-9]+', '_', name[:-3])}_{snippet.line}.cpp"
                wanted[path] = snippet.source(name)
    for path in output.glob("*.cpp"):
        if path not in wanted:
            path.unlink()
    for path, source in wanted.items():
        if not path.exists() or path.read_text() != source:
            path.write_text(source)
    return sorted(wanted)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        print(*write_all(Path(sys.argv[1]), Path(sys.argv[2])), sep="\n")
    except Unusable as error:
        sys.exit(str(error))

#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks what no compiler checks: the style of STYLE.md, light headers, one place per system call, safe coroutines,
and that simulations follow from their seed.

usage: lint.py [ROOT]

Prints file:line: rule: message for each breach and exits with 1 if there is one. A line that is right in spite of a
rule says so in a comment with a reason: // lint: allow co-capture, the int has no destructor
"""
import re
import sys
from pathlib import Path

import comment_names
import coroutine_rules
import determinism_rules
import header_table
import helper_includes
import snippets
import test_index
from cpp_text import code_only, files, functions, line_of

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = {".hpp": 100, ".cpp": 100}  # see .clang-format; scripts have more room
SCRIPT_COLUMNS_MAX = 120
PROSE_COLUMNS_MAX = 140

CPP = (".hpp", ".cpp", ".def")
SCRIPTS = (".py", ".sh", ".cmake", "CMakeLists.txt")
COMMANDS = ("run", "test", ".ci/run")

# The files that may make system calls, read clocks and draw random numbers; everything else asks them, so that the
# whole library runs on the simulator.
SYSTEM_FILES = re.compile(
    r"src/((io/\w+|base|run|testing|http/\w+|tls)/posix_\w+\.cpp|io/(epoll|uring)/\w+\.[ch]pp"
    r"|base/(unique_fd|assert)\.cpp)"
)
SYSTEM_CALLS = re.compile(
    r"(?<![\w>:])::(accept4?|access|bind|close|connect|dup[23]?|epoll_\w+|eventfd|f?stat|fallocate|fcntl|fdatasync"
    r"|fork|fsync|ftruncate|futex|get(peer|sock)name|getsockopt|io_uring_\w+|ioctl|kill|listen|lseek|madvise|mmap"
    r"|munmap|open(at)?|pipe2?|poll|p?readv?2?|p?writev?2?|recv(from|msg)?|send(to|msg|file)?|setsockopt|shutdown"
    r"|signalfd|socket(pair)?|splice|syscall|time|timerfd_\w+|unlink)\s*\("
    r"|(?<![\w.>:])(clock_gettime|epoll_(create1?|ctl|p?wait2?)|eventfd|getaddrinfo|getrandom|io_uring_(setup|enter"
    r"|register)|nanosleep|syscall|timerfd_\w+|usleep)\s*\("
    r"|\bstd::(random_device|rand|time)\b"
    r"|\b(steady|system|high_resolution)_clock::now\b"
)
# What a public header may include besides <beck/...>: the rest costs every user's every file.
# interop/ is opt-in and exempt.
LIGHT_HEADERS = set(
    "bit climits compare concepts coroutine cstddef cstdint cstdlib cstring exception initializer_list iosfwd limits "
    "new source_location string_view tuple type_traits utility version".split()
)
# Files outside of base/ that may have #if.
CONDITIONAL_FILES = ("checked_result.hpp", "vocabulary.hpp")
SLEEPS = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep)\s*\(|(?<!\w)::sleep\s*\(|\bsleep\s*\(\d")
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
INCLUDE = re.compile(r"^\s*#\s*include\s*<([^>]+)>")
LINK_TARGET = re.compile(r"\]\([^)\s]*\)")
# Entries of the changelog stay as they were released; the index of tests is generated.
LONG_DOCUMENTS = ("CHANGELOG.md", "tests/README.md")
ALLOWED = re.compile(r"lint: allow ([\w-]+), \w+")


def under(path, *folders):
    return path.parts[0] in folders


def header_comment(path, text):
    lines = text.splitlines()
    if lines and lines[0].startswith("#!"):
        lines = lines[1:]
    mark = "//" if path.suffix in CPP else "#"
    if not lines or lines[0] != f"{mark} SPDX-License-Identifier: BSL-1.0":
        yield 1, "spdx", f"the file must begin with {mark} SPDX-License-Identifier: BSL-1.0"
    elif len(lines) < 2 or not lines[1].startswith((mark, '"""')):
        yield 2, "header-comment", "say in two to six lines why the file exists"


def shape(path, text):
    lines = text.splitlines()
    columns_max = COLUMNS_MAX.get(path.suffix, SCRIPT_COLUMNS_MAX)
    if len(lines) > FILE_LINES_MAX:
        yield len(lines), "file-length", f"{len(lines)} lines; at most {FILE_LINES_MAX}"
    for number, line in enumerate(lines, 1):
        if len(line) > columns_max:
            yield number, "columns", f"{len(line)} columns; at most {columns_max}"
        if "\t" in line:
            yield number, "tab", "tabs are not used"
        if line != line.rstrip():
            yield number, "trailing-space", "the line ends with spaces"
        if UNFINISHED.search(line):
            yield number, "unfinished", "finish it, or open an issue"


def function_length(path, code):
    for start, end in functions(code):
        length = code.count("\n", start, end) + 1
        if length > FUNCTION_LINES_MAX:
            message = f"the function has {length} lines; at most {FUNCTION_LINES_MAX}"
            yield line_of(code, start), "function-length", message


def preprocessor(path, code):
    if path.suffix == ".hpp" and not re.search(r"^#pragma once$", code, re.MULTILINE):
        yield 1, "pragma-once", "a header needs #pragma once"
    in_base = path.parts[:3] == ("include", "beck", "base") or path.parts[:2] == ("src", "base")
    if in_base or path.name in CONDITIONAL_FILES or not under(path, "include", "src", "tests", "examples", "apps"):
        return
    for match in re.finditer(r"^\s*#\s*(if\w*)\b", code, re.MULTILINE):
        yield line_of(code, match.end()), "if", f"#if belongs in base/, {' or '.join(CONDITIONAL_FILES)}"


def public_includes(path, code):
    if path.parts[:2] != ("include", "beck") or path.parts[2] == "interop":
        return
    for number, line in enumerate(code.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match or match[1].startswith("beck/"):
            continue
        header = match[1]
        if header.endswith(".h"):
            yield number, "system-header", f"<{header}>: system headers belong in src/"
        elif header == "system_error":
            if path.as_posix() != "include/beck/base/error.hpp":
                yield number, "heavy-header", "<system_error> comes through base/error.hpp only"
        elif header not in LIGHT_HEADERS:
            yield number, "heavy-header", f"<{header}> is too heavy for a public header"


def option_structs(path, code):
    """Options may stand in braces inside a co_await only if they are trivially destructible: docs/coroutines.md."""
    if path.parts[:2] != ("include", "beck"):
        return
    for match in re.finditer(r"^struct ((?!tcp_|udp_)\w*options|limits) \{", code, re.MULTILINE):
        if not re.search(rf"static_assert\(std::is_trivially_destructible_v<{match[1]}>\)", code):
            message = f"{match[1]} needs a static_assert of std::is_trivially_destructible_v behind it"
            yield line_of(code, match.start()), "option-struct", message


def async_names(path, code):
    """async_x() takes a completion token; a task is a coroutine, which a plain verb names: docs/tour.md."""
    if path.parts[:2] == ("include", "beck"):
        for match in re.finditer(r"\btask<[^;{}()]*>\s+async_\w+\(", code):
            yield line_of(code, match.start()), "async-task", "the name of a function that returns a task has no async_"


def system_calls(path, code):
    if not under(path, "include", "src") or SYSTEM_FILES.fullmatch(path.as_posix()):
        return
    for match in SYSTEM_CALLS.finditer(code):
        name = match.group().rstrip("( ")
        yield line_of(code, match.start()), "system-call", f"{name} outside the system's files (see tools/lint.py)"


def sleeps(path, code):
    if under(path, "tests"):
        for match in SLEEPS.finditer(code):
            yield line_of(code, match.start()), "sleep", "tests wait for events, never for time"


def coroutines(path, code):
    for rule, find in coroutine_rules.RULES.items():
        if rule == "co-dropped" and under(path, "tests"):
            continue  # clang says it of every result that is [[nodiscard]]; tests also await what gives nothing
        for position, message in find(code):
            yield line_of(code, position), rule, message


def determinism(path, code, text):
    if determinism_rules.applies(path):
        for position, rule, message in determinism_rules.check(code, text):
            yield line_of(code, position), rule, message


def folders(path):
    if "detail" in path.parts and path.parts[:-1] != ("include", "beck", "detail"):
        yield 1, "detail", "the only detail/ folder is include/beck/detail"


def unlisted(root):
    """Files that exist and that no CMakeLists.txt names: they would be neither built nor installed nor tested."""
    of_library = [str(p) for p in files(root, "CMakeLists.txt", ".cmake") if under(p, "src")]
    for folder, suffixes, lists in (
        ("src", (".cpp",), of_library),
        ("include/beck", (".hpp",), of_library),
        ("tests", ("_test.cpp",), [str(p) for p in files(root, "CMakeLists.txt", ".cmake") if under(p, "tests")]),
    ):
        listed = "\n".join((root / name).read_text() for name in lists if (root / name).exists())
        names = set(re.findall(r"[\w./-]+\.[ch]pp", listed))
        for path in files(root, *suffixes):
            relative = path.relative_to(folder) if path.is_relative_to(folder) else None
            if relative and not any(str(relative).endswith(name) for name in names if name.endswith(path.name)):
                yield f"{path}:1: unlisted: {lists[0]} does not name it"


NAMESPACE = re.compile(r"^(?:inline )?namespace(?: ([\w:]+))? \{")
DEFINITION = re.compile(r"^(?:class|struct|union|enum class|enum)(?: \[\[\w+\]\]| alignas\(\w+\))? (\w+)\b(?!::|<)")


def definitions(code):
    """Yields (line, qualified name) of the classes and enumerations that others can name."""
    spaces = []
    for number, line in enumerate(code.splitlines(), 1):
        if opened := NAMESPACE.match(line):
            spaces.append(opened[1] or "")
        elif line.startswith("}  // namespace"):
            spaces = spaces[:-1]
        elif (found := DEFINITION.match(line)) and "" not in spaces and not re.search(r"^[^{]*;\s*$", line):
            yield number, "::".join([*spaces, found[1]])


def defined_twice(root):
    """Names that the library defines twice: no compiler tells, and a call may run the function of the other class."""
    places = {}
    for path in files(root, ".hpp", ".cpp"):
        if not under(path, "src", "include"):
            continue
        for line, name in definitions(code_only((root / path).read_text())):
            first = places.setdefault(name, path)
            if first != path:  # a file may have one for each value of a macro
                yield f"{path}:{line}: defined-twice: {name} is defined in {first}, too"


def check_text(path, text):
    """All complaints about one file, as (line, rule, message)."""
    found = list(shape(path, text)) + list(folders(path))
    if path.suffix not in (".def",):
        found += header_comment(path, text)
    if path.suffix in CPP:
        code = code_only(text)
        for rule in (function_length, preprocessor, public_includes, option_structs, async_names, system_calls, sleeps):
            found += rule(path, code)
        found += determinism(path, code, text)
        if path.parts[:2] != ("tests", "compiler_probe"):
            found += coroutines(path, code)
    return found


def prose_columns(text):
    """Long lines of prose in a Markdown text. Code blocks, rows of tables and the targets of links do not count."""
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if snippets.FENCE.match(line):
            in_code = not in_code
        elif not in_code and not line.startswith("|"):
            columns = len(LINK_TARGET.sub("]", line))
            if columns > PROSE_COLUMNS_MAX:
                yield number, "prose-columns", f"{columns} columns; at most {PROSE_COLUMNS_MAX}"


def check_document(root, path):
    if path.as_posix() not in LONG_DOCUMENTS:
        yield from prose_columns((root / path).read_text())
    for snippet in snippets.extract(root / path):
        for line, rule, message in coroutines(path, code_only(snippet.code)):
            yield snippet.line + line, rule, message


def check(root):
    sources = files(root, *CPP, *SCRIPTS) + [Path(name) for name in COMMANDS if (root / name).exists()]
    for path in sources:
        text = (root / path).read_text()
        lines = text.splitlines()
        for line, rule, message in check_text(path, text):
            allowed = ALLOWED.search(lines[line - 1]) if line <= len(lines) else None
            if not allowed or allowed[1] != rule:
                yield f"{path}:{line}: {rule}: {message}"
    for path in files(root, ".md"):
        for line, rule, message in check_document(root, path):
            yield f"{path}:{line}: {rule}: {message}"
    yield from unlisted(root)
    yield from defined_twice(root)
    yield from comment_names.check(root)
    if (root / test_index.PAGE).exists():
        yield from test_index.check(root)
    if (root / header_table.PAGE).exists():
        yield from header_table.check(root)
    if (root / helper_includes.FOLDER).exists():
        yield from helper_includes.check(root)


if __name__ == "__main__":
    complaints = list(check(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
    print(*complaints, sep="\n", end="\n" if complaints else "")
    sys.exit(1 if complaints else 0)

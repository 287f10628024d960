# SPDX-License-Identifier: BSL-1.0
"""Checks docs/headers.md, the table of public headers and their names, and the umbrella against the headers: each
header has one row, each name of a row occurs in its header, each name directly in beck:: has a row, and
<beck/beck.hpp> includes every header except detail/, http/, interop/, redis/, testing/, tls/ and websocket/, which it
says itself, and README too.
"""
import re
from pathlib import Path

from cpp_text import code_only, files

PAGE = Path("docs/headers.md")
UMBRELLA = Path("include/beck/beck.hpp")
README = Path("README.md")
NAMES = Path("api_names.txt")
ROW = re.compile(r"^\| `(beck/[^`]+)` \|([^|]*)\|", re.MULTILINE)
TOP_LEVEL = re.compile(r"^beck::(\w+)$", re.MULTILINE)
# The words that name what the umbrella leaves out: in README up to the end of the sentence, in its own first comment.
EXCEPTIONS = {README: r"`<beck/beck.hpp>` includes everything except ([^.]*)\.", UMBRELLA: r"header except ([^.]*)\."}
FOLDER = re.compile(r"\b(?:beck/)?(\w+)/")
OPT_IN = ("http", "interop", "redis", "testing", "tls", "websocket")


def check(root):
    rows = [(match[1], re.findall(r"`([^`]+)`", match[2])) for match in ROW.finditer((root / PAGE).read_text())]
    headers = [path for path in files(root, ".hpp") if path.parts[:2] == ("include", "beck") and path != UMBRELLA]
    public = {path.relative_to("include").as_posix(): path for path in headers if path.parts[2] != "detail"}
    listed = [header for header, _ in rows]
    for header in sorted(set(public) | set(listed)):
        if listed.count(header) != (header in public):
            yield f"{PAGE}:1: headers: <{header}> has {listed.count(header)} rows"
    for header, names in rows:
        words = set(re.findall(r"\w+", code_only((root / public[header]).read_text()))) if header in public else set()
        for name in names:
            if header in public and name.rpartition("::")[2] not in words:
                yield f"{PAGE}:1: headers: <{header}> does not declare {name}"
    known = {name for _, names in rows for name in names}
    for name in TOP_LEVEL.findall((root / NAMES).read_text()):
        if name not in known:
            yield f"{PAGE}:1: headers: no row has beck::{name}"
    included = set(re.findall(r"^#include <(.*)>$", (root / UMBRELLA).read_text(), re.MULTILINE))
    for header in sorted(included ^ {header for header in public if header.split("/")[1] not in OPT_IN}):
        verb = "must not include" if header in included else "does not include"
        yield f"{UMBRELLA}:1: headers: the umbrella {verb} <{header}>"
    for page, words in EXCEPTIONS.items():
        sentence = re.search(words, (root / page).read_text())
        named = set(FOLDER.findall(sentence[1])) if sentence else set()
        for folder in sorted(named ^ set(OPT_IN)):
            verb = "leaves out" if folder in named else "does not leave out"
            yield f"{page}:1: headers: the sentence about <beck/beck.hpp> {verb} {folder}/"

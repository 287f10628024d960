#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compares the names that the public headers declare with api_names.txt, so that none appears or goes by accident.

usage: api_names.py [--update]     compares, or writes the file anew

A new name needs a test, an example and a reason; a name that goes breaks somebody's program. The headers are read by
clang++-19 (or $CXX_FOR_NAMES): all names of namespace beck, and the public members of its classes. Namespaces called
detail, constructors, destructors and operators are left out; overloads are one name. What is in a namespace called
functions is listed as the program writes it, without that.
"""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "api_names.txt"
HEAD = """\
# The names of the public headers, written by tools/api_names.py --update and compared by ./test --static.
# A line that you add or take away here is a promise made or broken: say why in the commit.
"""
RECORDS = {"CXXRecordDecl", "ClassTemplateSpecializationDecl", "ClassTemplatePartialSpecializationDecl"}
TEMPLATES = {"ClassTemplateDecl", "FunctionTemplateDecl", "VarTemplateDecl", "TypeAliasTemplateDecl"}
PLAIN = {
    "FunctionDecl", "CXXMethodDecl", "VarDecl", "FieldDecl", "TypeAliasDecl", "TypedefDecl", "ConceptDecl", "UsingDecl",
    "EnumConstantDecl", "VarTemplatePartialSpecializationDecl",
}  # fmt: skip
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)


def declared_name(node):
    """The unqualified name of a declaration, or "" where it has none that a user would write."""
    name = node.get("name", "").partition("<")[0]
    return "" if name.startswith(("operator", "~")) or node.get("isImplicit") else name


def names_in(nodes, scope, access="public"):
    """The names of some declarations that lie in `scope`; `access` is that of the first one."""
    for node in nodes:
        kind, name = node.get("kind"), declared_name(node)
        if "parentDeclContextId" in node:  # a member, defined outside of its class
            continue
        if kind == "AccessSpecDecl":
            access = node["access"]
        elif kind == "NamespaceDecl" and name == "detail":
            continue
        elif kind == "NamespaceDecl" and name == "functions":  # its names are written as those around it
            yield from names_in(node.get("inner", []), scope)
        elif access == "public" and name not in ("", scope.rpartition("::")[2]):  # not the constructors
            yield from names_of(node, kind, f"{scope}::{name}")


def names_of(node, kind, name):
    inner = node.get("inner", [])
    if kind == "NamespaceDecl":
        yield from names_in(inner, name)
    elif kind == "EnumDecl":
        yield name
        yield from names_in(inner, name if node.get("scopedEnumTag") else name.rpartition("::")[0])
    elif kind in RECORDS and "completeDefinition" in node:
        yield name
        yield from names_in(inner, name, "private" if node.get("tagUsed") == "class" else "public")
    elif kind in TEMPLATES:
        pattern = next((child for child in inner if child.get("kind") in RECORDS), None)
        yield from names_of(pattern, pattern["kind"], name) if pattern else [name]
    elif kind in PLAIN:
        yield name


def documents(text):
    """The JSON values that clang prints one after the other, one for each part of the namespace."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        value, at = decoder.raw_decode(text, at)
        yield value


def public_names(include, compiler):
    """All names of the headers under `include`, sorted."""
    headers = sorted(path for path in include.rglob("*.hpp"))
    source = "".join(f"#include <{path.relative_to(include).as_posix()}>\n" for path in headers)
    command = [compiler, "-std=c++20", f"-I{include}", "-fsyntax-only", "-Xclang", "-ast-dump=json"]
    command += ["-Xclang", "-ast-dump-filter=beck", "-x", "c++", "-"]
    dump = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if dump.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{dump.stderr}")
    names = {name for path in headers for name in MACRO.findall(path.read_text())}
    for document in documents(dump.stdout):
        if document.get("kind") == "NamespaceDecl" and document.get("name") == "beck":
            names.update(names_of(document, "NamespaceDecl", "beck"))
    return sorted(names)


def compare(listed, found):
    """Lines that say how the two lists differ."""
    yield from (f"new: {name}" for name in sorted(set(found) - set(listed)))
    yield from (f"gone: {name}" for name in sorted(set(listed) - set(found)))


def main(arguments):
    if arguments not in ([], ["--update"]):
        sys.exit(__doc__)
    found = public_names(ROOT / "include", os.environ.get("CXX_FOR_NAMES", "clang++-19"))
    if arguments:
        LIST.write_text(HEAD + "".join(f"{name}\n" for name in found))
        return 0
    listed = [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    differences = list(compare(listed, found))
    for line in differences:
        print(line)
    if differences:
        print(f"{LIST.name} does not fit the headers; if they are right: tools/api_names.py --update")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

# SPDX-License-Identifier: BSL-1.0
"""Spellings that g++ 12 miscompiles, or lets pass in silence. docs/coroutines.md tells their story, and
tests/compiler_probe shows each of them. All rules take text from cpp_text.code_only and give (position, message)."""
import functools
import re
from pathlib import Path

from cpp_text import closing, functions

_AWAIT = re.compile(r"\bco_await\b")
_BY_VALUE_CAPTURE = re.compile(r"(?<![\w\])])\[(?!\[)([^\[\]]+)\]\s*(?=[({]|mutable\b|<)")
_CONDITION = re.compile(r"\b(if|switch|while|for)\s*(?:constexpr\s*)?\(")
_DECLARATION = re.compile(r"\s*(?:const\s+)?[A-Za-z_][\w:<>, ]*[ &*]+\w+\s*=(?!=)")
_STATEMENT_START = re.compile(r"(?:[;{}]|\belse\b|\bdo\b|\))\s*$")
_RESULT_TYPE = re.compile(r"\b(task|awaitable)\b(?=\s*<)")


def _blank_bodies(code):
    """Blanks the bodies of lambdas: what stands there is another function's."""
    result, position = code, 0
    while (position := result.find("{", position)) >= 0:
        end = closing(result, position)
        body = result[position + 1 : end]
        if ";" in body:
            result = result[: position + 1] + re.sub(r"[^\n]", " ", body) + result[end:]
        position += 1
    return result


def _awaits(code):
    """Every co_await with the rest of its full expression: (position, expression)."""
    for match in _AWAIT.finditer(code):
        depth, end = 0, match.end()
        while end < len(code):
            char = code[end]
            if char in "([{":
                depth += 1
            elif char in ")]}":
                depth -= 1
            if depth < 0 or (char == ";" and depth == 0):
                break
            end += 1
        yield match.start(), _blank_bodies(code[match.start() : end])


def capture_in_await(code):
    for position, expression in _awaits(code):
        for match in _BY_VALUE_CAPTURE.finditer(expression):
            captures = [c.strip() for c in match[1].split(",")]
            if any(not c.startswith("&") and c not in ("this", "*this") for c in captures):
                yield position, "a lambda with a capture inside a co_await: name it in its own statement first"


@functools.cache
def _option_members():
    """The members of the library's options, which are trivially destructible (lint: option-struct)."""
    names = set()
    struct = re.compile(r"^struct (?:\w+_options|limits) \{(.*?)^\};", re.MULTILINE | re.DOTALL)
    for header in (Path(__file__).resolve().parents[1] / "include").rglob("*.hpp"):
        for match in struct.finditer(header.read_text()):
            names.update(re.findall(r"^  [\w:<>&*, ]+? (\w+)(?:\[\w*\])? =", match[1], re.MULTILINE))
    return names


def braced_argument(code):
    for position, expression in _awaits(code):
        for match in re.finditer(r"[(,]\s*\{(?:\s*\.(\w+))?", expression):
            if match[1] not in _option_members():
                yield position, "a braced list inside a co_await: build the object in its own statement first"
                break


def braced_await(code):
    for match in re.finditer(r"\{[^;{}]*\bco_await\b[^;{}]*\}", code):
        yield match.start(), "co_await inside a braced initializer: await in separate statements first"


def await_in_capture(code):
    for match in re.finditer(r"\[[^\[\]]*=[^\[\]]*\bco_await\b", code):
        yield match.start(), "co_await inside a lambda's capture: await first"


def await_in_condition(code):
    message = "co_await in a condition: declare its value there or before, as in `if (auto v = co_await x)`"
    for match in _CONDITION.finditer(code):
        parts = code[match.end() : closing(code, match.end() - 1)].split(";")
        condition = parts[1] if match[1] == "for" and len(parts) > 1 else parts[-1]
        if _AWAIT.search(condition) and not (match[1] == "for" and len(parts) == 1):
            if not _DECLARATION.match(condition):
                yield match.start(), message
    for match in re.finditer(r"(?:!|&&|\|\|)\s*co_await\b", code):
        yield match.start(), "co_await behind !, && or ||: take its value in its own statement first"


def spawn_with_await(code):
    for match in re.finditer(r"\bco_spawn\s*\(\s*co_await\b", code):
        yield match.start(), "co_await in co_spawn's arguments: take the executor first, or use spawn()"


def dropped_result(code):
    for position, expression in _awaits(code):
        if not re.search(r"\basync_\w+\s*[(<]", expression):
            continue
        before = code[:position].rstrip()
        if not _STATEMENT_START.search(before) and before:
            continue
        if before.endswith(")") and not _ends_a_control_head(before):
            continue
        results = _RESULT_TYPE.findall(before)
        if results and results[-1] == "awaitable":  # throws on error, so nothing is lost
            continue
        yield position, "the result of an operation is dropped: bind it, or write beck::ignore(co_await ...)"


def _ends_a_control_head(before):
    """Whether the text ends with the `)` of if, for or while, and not of a cast."""
    depth = 0
    for position in range(len(before) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(before[position], 0)
        if depth == 0:
            return re.search(r"\b(if|for|while|constexpr)\s*$", before[:position]) is not None
    return False


def leaking_binding(code):
    pattern = r"\bauto\s*&{0,2}\s*\[[^\]]*\]\s*=\s*co_await\b[^;]*\basync_(?:accept|resolve)\b"
    for match in re.finditer(pattern, code):
        yield match.start(), "structured bindings of a result that owns something leak on g++ 15: take it whole"


def aligned_local(code):
    for start, end in functions(code):
        body = code[start:end]
        if re.search(r"\bco_(await|return|yield)\b", body):
            for match in re.finditer(r"\balignas\s*\(", body):
                yield start + match.start(), "alignas in a coroutine's frame is not kept: allocate it separately"


RULES = {
    "co-capture": capture_in_await,
    "co-braced-argument": braced_argument,
    "co-braced-await": braced_await,
    "co-capture-await": await_in_capture,
    "co-condition": await_in_condition,
    "co-spawn-await": spawn_with_await,
    "co-dropped": dropped_result,
    "co-binding": leaking_binding,
    "co-alignas": aligned_local,
}

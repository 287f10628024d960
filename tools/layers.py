#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks who includes whom: a folder of include/beck or src includes only the folders of the layers below it, a room
of src/io, src/http or src/redis only the rooms that ROOMS allows it, members and free functions are defined where they
are declared, and a protocol is written against the public headers: it includes no private header of the layers below
but PROTOCOL_HEADERS, and names nothing of beck::detail but SEAM.

usage: layers.py [ROOT]

Prints file:line: message for each breach and exits with 1 if there is one.
"""
import re
import sys
from pathlib import Path

from cpp_text import code_only, files, line_of

LAYERS = (
    ("base",),
    ("run",),
    ("coro",),
    ("io",),
    ("net", "file"),
    ("transfer",),
    ("testing", "http", "redis", "tls"),
    ("websocket",),
    ("interop",),
)
LEVEL = {folder: level for level, row in enumerate(LAYERS) for folder in row}
# The layers of the headers in include/beck/detail.
DETAIL = {
    "base": """
        bytes_readable checked_result fixed_text functions intrusive_list deferred_init ref_count text_sink
        opaque_value
    """,
    "run": """
        awaited_result block continuation deadline_scope frame_end initiating_call inner_scope
        executor_with_token launch loop_command many_results operation_executor queue_entry reports_error
        result_slot runner schedule_operation scope sender_wait throws_error timer_entry
        token_adapter token_scope
    """,
    "coro": """
        channel_buffer join pause_operation waiter
    """,
    "io": """
        timed_operation callback_operation composed_operation descriptor_stream file_operation
        io_object job_operation message_operation operation stream_object typed_executor
        vector_operation
    """,
    "net": """
        adapted_stream connect_operation connected_socket datagram_option endpoint_data socket_object
    """,
}
DETAIL_LAYER = {f"{name}.hpp": folder for folder, names in DETAIL.items() for name in names.split()}
DRIVERS = ("epoll", "uring", "sim")
# Who may name a driver, besides its own folder.
DRIVER_USERS = {"epoll": (), "uring": (), "sim": ("testing",)}
CHOOSER = Path("src/io/driver/backend_select.cpp")
# The rooms of a layer: what their headers may include, and what their sources may besides. A room that the loop is
# built from sees the loop only in its sources.
ROOMS = {
    "io": {
        "system": ((), ()),
        "driver": (("op", "system"), ("loop",)),
        "op": (("system",), ("driver", "loop")),
        "blocking": (("op", "system"), ("loop",)),
        "shared": (("driver", "system"), ("loop", "op")),
        "engine": (("blocking", "driver", "op", "shared", "system"), ("loop",)),
        "loop": (("blocking", "driver", "engine", "op", "shared", "system"), ()),
        "epoll": (("driver", "op", "system"), ("loop",)),
        "uring": (("driver", "op", "system"), ("loop",)),
        "sim": (("blocking", "driver", "op", "shared", "system"), ("loop",)),
        "objects": ((), ("driver", "loop", "op", "system")),
        "dump": ((), ("loop", "op")),
    },
    "http": {
        "message": ((), ()),
        "client": (("message",), ()),
        "server": (("message",), ("files",)),
        "files": (("message",), ("server",)),
        "middlewares": (("message",), ("server",)),
    },
    "redis": {
        "protocol": ((), ()),
        "session": (("protocol",), ()),
        "push": (("protocol", "session"), ("client",)),
        "cache": (("protocol",), ("client",)),
        "client": (("cache", "protocol", "push", "session"), ()),
        "cluster": (("client", "protocol", "session"), ()),
        "memory": (("protocol",), ()),
    },
}
# The rooms that do no I/O: their files include nothing of the layers above run/ but these headers.
PURE_ROOMS = (("http", "message"), ("redis", "protocol"), ("redis", "session"))
PURE_HEADERS = ("beck/io/buffer_lease.hpp", "beck/net/address_v4.hpp", "beck/net/address_v6.hpp")
PROTOCOLS = ("http", "redis", "tls", "websocket")
# The private headers of other layers that a protocol may include, besides those of base/.
PROTOCOL_HEADERS = ("coro/seen_locals.hpp", "coro/task_completion.hpp")
# The names of beck::detail that a protocol may use. Whatever else it needs has to become public: people write protocols
# outside of this tree, too.
SEAM = set(
    # lists, blocks, texts
    "allocate_block byte_block counter deferred_init fixed_text free_block has_wide_blocks intrusive_list item_ring "
    "list_hook ref_count wide_block "
    # tables of states
    "advance any_but any_of transition_table "
    # operations, and coroutines that wait
    "first_in inner_scope is_task launch loop_time result_handler scope scope_of seen_locals stop_reason "
    "suspend_inside "
    "task_completion waiter waiter_chain waiter_list within "
    # streams and buffers
    "adapted_stream buffer_container buffer_parts growing_container layered_stream make_lease single_buffer "
    "stream_object "
    # errors, and the process
    "behind_standard caught_code failure_code first_own_number fork_count known_fork_count of_this_thread "
    "signals_blocked throw_error".split()
)
# What single files name besides: sockets and files of a class that the protocol does not know.
SEAM_EXCEPTIONS = {
    "src/http/server/listener.cpp": ("accept_into_operation", "socket_calls"),
    "src/http/server/listener.hpp": ("accept_into_operation",),
    "src/http/server/response_file.cpp": ("file_call", "file_transfer", "io_op", "op_kind"),
}
# Functions that are declared in base/, and need what only a layer above knows.
DEFINED_ABOVE = ("report_dropped",)
DETAIL_NAME = re.compile(r"\bbeck::detail::(\w+)")
# A free function, declared or defined in the first column; not one of a class, an operator or a macro.
FUNCTION = re.compile(
    r"^(?:\[\[[\w:]+\]\] |inline |constexpr |extern )*(?!return|using|namespace|template|else|class|struct|static)"
    r"[a-z_][\w:<>,*& ]*?[ *&]([a-z]\w*)\([^;{}]*?\)(?: noexcept)?\s*[;{]",
    re.MULTILINE,
)
ANONYMOUS = re.compile(r"^namespace \{", re.MULTILINE)
CLASS = re.compile(
    r"^[ \t]*(?:class|struct)\s+(?:\[\[\w+\]\]\s*)?(?:detail::)?(\w+)(?:\s+final)?\s*(?::[^;{}]*)?\{", re.MULTILINE
)
# The definition of a member begins in the first column.
MEMBER = re.compile(
    r"^(?![\s#}/]|using|namespace|.*\boperator\b)[^;={}()\n]*?\b(?!detail::)(\w+)::~?\w+\(", re.MULTILINE
)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def folder_of(parts):
    """The layer's folder of a path below include/beck or src; None for beck.hpp, which may include all."""
    if parts[0] == "detail":
        return DETAIL_LAYER.get(parts[-1], "detail")
    return parts[0] if len(parts) > 1 else None


def driver_of(parts):
    return parts[1] if len(parts) > 2 and parts[0] == "io" and parts[1] in DRIVERS else None


def unknown(folder):
    if folder == "detail":
        return "DETAIL in tools/layers.py does not list a header of detail/"
    return f"{folder}/ is no layer (known: {', '.join(LEVEL)})"


def check_include(path, quote, target):
    """The complaint about one include of one file, or None."""
    public = path.parts[0] == "include"
    own = path.parts[2:] if public else path.parts[1:]
    if public and quote == '"':
        return f'a public header includes only <beck/...>, not "{target}"'
    if quote == "<" and not target.startswith("beck/"):
        return None
    theirs = Path(target).parts[1:] if quote == "<" else Path(target).parts
    mine, other = folder_of(own), folder_of(theirs)
    if other is None:
        if quote == '"':
            return f'private headers are named from src/, such as "io/driver/driver.hpp", not "{target}"'
        return None if mine is None else "the umbrella beck.hpp is for users"
    if other not in LEVEL:
        return unknown(other)
    if mine is None:
        return "interop/ is opt-in and stays out of the umbrella" if other == "interop" else None
    if mine not in LEVEL:
        return unknown(mine)
    if mine == other:
        return check_driver(path, own, theirs) or check_room(path, own, theirs, quote)
    if LEVEL[mine] == LEVEL[other]:
        return f"{mine}/ and {other}/ are siblings and never include each other"
    if LEVEL[mine] < LEVEL[other]:
        return f"{mine}/ stands below {other}/ and must not include it"
    return check_driver(path, own, theirs)


def check_driver(path, own, theirs):
    driver = driver_of(theirs)
    if driver is None or driver == driver_of(own) or path == CHOOSER:
        return None
    if driver_of(own):
        return f"drivers never include one another: io/{driver_of(own)}/ and io/{driver}/"
    if own[0] in DRIVER_USERS[driver]:
        return None
    return f"only {CHOOSER} names the driver io/{driver}/"


def check_room(path, own, theirs, quote):
    """The complaint about an include between two rooms of a layer, or None."""
    rooms = ROOMS.get(own[0])
    if path.parts[0] != "src" or rooms is None or quote == "<" or path == CHOOSER:
        return None
    if len(own) < 3 or own[1] not in rooms:
        return f"{path} lies in no room of src/{own[0]} (known: {', '.join(rooms)})"
    room, other = own[1], theirs[1]
    headers, sources = rooms[room]
    if room == other or other in headers or (path.suffix == ".cpp" and other in sources):
        return None
    which = "headers of " if other in sources else ""
    return f"{which}{own[0]}/{room}/ must not include {own[0]}/{other}/ (see ROOMS in tools/layers.py)"


def check_purity(path, target):
    """The complaint about an include of a room that does no I/O, or None."""
    if path.parts[0] != "src" or path.parts[1:3] not in PURE_ROOMS or target in PURE_HEADERS:
        return None
    parts = Path(target).parts
    layer = folder_of(parts[1:] if parts[0] == "beck" else parts)
    if LEVEL.get(layer, 0) <= LEVEL["run"] or layer == path.parts[1]:
        return None
    return f"{path.parts[1]}/{path.parts[2]}/ does no I/O: it must not include {target}"


def layer_of(path):
    return folder_of(path.parts[2:] if path.parts[0] == "include" else path.parts[1:])


def check_members(texts):
    """Complaints about members that are defined in another layer than their class. `texts`: path -> code."""
    layers = {}
    for path, code in texts.items():
        for match in CLASS.finditer(code):
            layers.setdefault(match[1], set()).add(layer_of(path))
    for path, code in texts.items():
        if path.suffix != ".cpp":
            continue
        for match in MEMBER.finditer(code):
            homes = layers.get(match[1], set())
            if homes and layer_of(path) not in homes:
                where = "/, ".join(sorted(homes))
                yield f"{path}:{line_of(code, match.start())}: a member of {match[1]} belongs in {where}/"


def room_of(path):
    """The layer of a file, and its room in src/io."""
    layer = layer_of(path)
    return f"{layer}/{path.parts[2]}" if path.parts[:2] == ("src", "io") and len(path.parts) > 3 else layer


def check_functions(texts):
    """Complaints about free functions that are defined in another room than declared. `texts`: path -> code."""
    rooms = {}
    for path, code in texts.items():
        if path.suffix == ".hpp":
            for match in FUNCTION.finditer(code):
                rooms.setdefault(match[1], set()).add(room_of(path))
    for path, code in texts.items():
        if path.suffix != ".cpp":
            continue
        for match in FUNCTION.finditer(without_anonymous(code)):
            homes = rooms.get(match[1], set())
            public = any("/" not in home and home == layer_of(path) for home in homes)
            is_definition = match[0].rstrip().endswith("{") and match[1] not in DEFINED_ABOVE
            if is_definition and homes and room_of(path) not in homes and not public:
                where = "/, ".join(sorted(homes))
                yield f"{path}:{line_of(code, match.start())}: {match[1]}() is declared in {where}/"


def without_anonymous(code):
    """The code with what is in anonymous namespaces blanked."""
    for match in ANONYMOUS.finditer(code):
        depth, end = 1, match.end()
        while depth != 0 and end < len(code):
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        code = code[: match.end()] + re.sub(r"[^\n]", " ", code[match.end() : end]) + code[end:]
    return code


def check_seam(path, code):
    """Complaints about what a protocol takes from other layers than their public headers offer."""
    if layer_of(path) not in PROTOCOLS:
        return
    allowed = SEAM.union(SEAM_EXCEPTIONS.get(path.as_posix(), ()))
    for match in DETAIL_NAME.finditer(code):
        if match[1] not in allowed:
            yield f"{path}:{line_of(code, match.start())}: beck::detail::{match[1]} is not for protocols (see SEAM)"


def check_protocol_include(path, quote, target):
    """The complaint about a private header that a protocol includes, or None."""
    if quote == "<" or layer_of(path) not in PROTOCOLS:
        return None
    other = folder_of(Path(target).parts)
    if other in (*PROTOCOLS, "base") or target in PROTOCOL_HEADERS:
        return None
    return f'a protocol includes no private header of {other}/ (see PROTOCOL_HEADERS): "{target}"'


def check(root):
    paths = [p for p in files(root, ".hpp", ".cpp") if p.parts[:2] == ("include", "beck") or p.parts[0] == "src"]
    texts = {path: code_only((root / path).read_text()) for path in paths}
    yield from check_members(texts)
    yield from check_functions(texts)
    for path in paths:
        yield from check_seam(path, texts[path])
        for number, line in enumerate((root / path).read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            complaint = match and (
                check_include(path, match[1], match[2])
                or check_protocol_include(path, match[1], match[2])
                or check_purity(path, match[2])
            )
            if complaint:
                yield f"{path}:{number}: {complaint}"


if __name__ == "__main__":
    complaints = list(check(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
    print(*complaints, sep="\n", end="\n" if complaints else "")
    sys.exit(1 if complaints else 0)

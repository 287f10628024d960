# SPDX-License-Identifier: BSL-1.0
"""What can be run: benchmarks, their cases, and the peers that take part in each case."""
import re
from dataclasses import dataclass

from .peers import (
    BECK,
    COPIERS,
    ENGINES,
    FACADE,
    HTTP_FILES,
    HTTP_MIDDLEWARES,
    HTTP_HEADS,
    HTTP_SERVERS,
    LIBRARIES,
    ON_REQUEST,
    PEERS,
    RAW_IO,
    REDIS_CLIENTS,
    RESP_PARSERS,
    RESP_SMALL,
    VARIANTS,
)


@dataclass(frozen=True)
class Case:
    name: str
    peers: tuple
    floor: str = ""  # another case whose peers are rivals of this one too, measured in the same rounds
    without: str = ""  # why the ring peers of this library take no part; empty: they do, or nobody would expect them
    comparable: bool = True  # False: the peers do different amounts of work, so there are no ratios of CPU time

    def candidates(self):
        """The peers that may take part."""
        return self.peers + (VARIANTS if set(BECK) <= set(self.peers) else ())


@dataclass(frozen=True)
class Bench:
    name: str
    operation: str  # what is counted
    title: str
    duration_ms: int  # of one timed run
    cases: tuple
    notes: tuple = ()
    display: tuple = ("ns", 1)  # the unit of the tables, and how many ns it has
    rivals: tuple = ()  # what ratios are taken to; empty: to all that are not beck

    def case(self, name):
        for case in self.cases:
            if case.name == name:
                return case
        if self.name == "echo" and re.fullmatch(r"[1-9]\d*x[1-9]\d*", name):
            return Case(name, LIBRARIES + RAW_IO)
        raise LookupError(f"{self.name} has no case {name}; there are: {', '.join(c.name for c in self.cases)}")


def cases(names, peers):
    return tuple(Case(name, peers) for name in names)


BENCHES = {
    bench.name: bench
    for bench in (
        Bench(
            "pingpong",
            "message",
            "100 pairs of UNIX stream sockets, 64-byte messages; -2p: the ends of a pair in two processes",
            500,
            (
                Case("callback", LIBRARIES + FACADE, "raw"),
                Case("coroutine", LIBRARIES + FACADE, "raw"),
                Case("raw", RAW_IO),
                Case("callback-2p", LIBRARIES, "raw-2p"),
                Case("coroutine-2p", LIBRARIES, "raw-2p"),
                Case("raw-2p", RAW_IO),
            ),
            ("-2p counts the CPU time of both processes.",),
        ),
        Bench(
            "echo",
            "message",
            "TCP echo on the loopback, connections x message size; CPU time of the server alone",
            350,
            cases([f"{c}x{s}" for s in (64, 16384) for c in (1, 10, 100, 1000)], LIBRARIES + FACADE + RAW_IO),
        ),
        Bench(
            "read_until",
            "read",
            "IO-less async_read_until; a 1 ms timer and a second socket are served beside it",
            300,
            cases(["callback", "reentrant", "coroutine"], LIBRARIES + ("raw",))
            # Without raw: a bare loop has no rule for how much of a flood comes before the next line, and the CPU
            # time of a case in which that rule decides what is done would say nothing.
            + (Case("flooded", LIBRARIES, comparable=False),),
            (
                "raw does the same in every case: memchr and a hop through an intrusive list. It has no flooded.",
                "flooded: beside it 64 KiB reads from a socket that is never empty, as many as a loop finds time",
                "  for; they cost CPU time too, so the CPU per read compares nothing. Compare the gaps (flood_mb is",
                "  how much was read).",
                "Asio's reentrant searches by hand and dispatches: its version has no bind_immediate_executor.",
            ),
        ),
        Bench(
            "post",
            "handler",
            "handlers that post themselves, an idle socket is registered; one chain, and 64 at once",
            300,
            cases(["chain", "chains64"], LIBRARIES + ("raw",)),
        ),
        Bench(
            "strand",
            "handler",
            "a handler that posts itself to its strand, an idle socket is registered",
            300,
            cases(["chain"], LIBRARIES + ("raw",)),
        ),
        Bench(
            "spawn",
            "coroutine",
            "spawn and run a trivial coroutine; await a child of another translation unit, or two; await a post",
            300,
            cases(["co_spawn", "nested", "co_post"], LIBRARIES + ("raw",)) + cases(["when_all"], LIBRARIES),
        ),
        Bench(
            "threads",
            "operation",
            "posts to a loop on another thread; two contexts on two threads, two processes; one context on two threads",
            400,
            (
                Case("post_stream", BECK + ("asio-epoll", "raw")),
                Case("pool_2", BECK + ("asio-epoll",)),
                Case("processes_2", BECK + ("asio-epoll",)),
                *(
                    Case(name, ("beck-epoll", "asio-epoll", "raw"), without="contexts for several threads run on epoll")
                    for name in ("exclusive_1", "shared_1", "shared_2", "shared_1_busy", "shared_2_busy")
                ),
            ),
            (
                "post_stream: an operation is a post; the CPU time is that of both threads together.",
                "pool_2, processes_2: an operation is a 64-byte message; each context has 50 pairs of sockets.",
                "  Compare the wall time: both use two CPUs.",
                "shared_N: a context made for two threads, run by N, with 100 pairs; _busy: each message is computed",
                "  on for 5 microseconds. exclusive_1: the same with a context for one thread. Compare the wall time.",
                "  raw: the threads wait on one epoll instance.",
            ),
        ),
        Bench(
            "timer",
            "wait",
            "waits cancelled, armed anew, expired when they start; beside a million pending ones; an idle socket",
            300,
            cases(["create_cancel", "rearm", "expired"], LIBRARIES + ("raw",))
            + cases(["million", "million_any"], LIBRARIES),
            (
                "raw: one look at the clock, a place in a list, a hop through an intrusive list.",
                "million re-arms 64 timers by turns, each one turn later, beside a million that wait; million_any",
                "  re-arms any of the million, so every one of them is found in a cold cache.",
            ),
        ),
        Bench(
            "channel",
            "exchange",
            "a send and a receive that are ready; to another coroutine and back; an uncontended lock and unlock",
            300,
            cases(["send_receive", "receive_timeout", "ping", "mutex"], LIBRARIES),
            (
                "receive_timeout is send_receive with a limit of one second on each receive: what the limit costs is",
                "  the difference (Asio: operator|| with a timer).",
                "Asio has no mutex for coroutines: its peer is a channel with one place, sent to and try_received.",
            ),
        ),
        Bench(
            "udp",
            "datagram",
            "bursts of 64 datagrams of 1000 bytes between two UDP sockets on the loopback, sent and received",
            300,
            (
                Case("one_by_one", LIBRARIES + ("raw-epoll",)),
                Case("batch", BECK + ("raw-epoll",), "one_by_one"),
                Case("gso_gro", BECK + ("raw-epoll",), "one_by_one"),
            ),
            (
                "batch: sendmmsg and recvmmsg of 64. gso_gro: a burst is one send with UDP_SEGMENT and one receive",
                "  with UDP_GRO. Asio has neither; its one_by_one is what both are compared with.",
            ),
        ),
        Bench(
            "idle",
            "message",
            "1,000 or 9,900 TCP connections on the loopback, 16 of which get 256 bytes each, by turns",
            300,
            cases(["lease", "buffer", "lease_9900", "callback_9900"], LIBRARIES),
            (
                "lease: async_receive(), so a waiting connection has no buffer. Asio has no leases: it waits until the",
                "  socket is readable and reads into one buffer of all. buffer: a buffer of 4 KiB in each coroutine.",
                "A coroutine for each connection; callback: an object with a callback, which waits as in lease.",
                "bytes_per_connection is what the allocator says of the connections' own ends, all of them waiting.",
            ),
        ),
        Bench(
            "write_queue",
            "message",
            "bursts of 16 messages of 64 bytes into a UNIX stream socket: pushed into a queue, or written one by one",
            300,
            (Case("push", BECK, "each"), Case("each", LIBRARIES)),
        ),
        Bench(
            "http_parse",
            "message",
            "heads of requests, whole, 16 in a row, byte by byte; a chunked body; writing a head; routes; middlewares",
            200,
            cases(["head_37", "head_109", "head_703", "pipelined", "split"], HTTP_HEADS)
            + (
                Case("chunked", ("beck", "llhttp")),
                Case("head_writer", ("beck", "raw")),
                Case("route", ("beck",)),
                Case("middleware", ("beck",)),
                Case("no_middleware", ("beck",)),
            ),
            (
                "Every peer keeps method, target, and each field's name and value. beck also knows the common names,",
                "  checks Host and the framing; picohttpparser does not. llhttp is strict, as beck always is.",
                "split: the head of 109 bytes. chunked: 64 KiB in chunks of 256 bytes, with its head.",
                "picohttpparser's decoder rewrites its input, so it takes no part in chunked.",
                "route: a path of 20 to 33 bytes is decoded, and found among 100 patterns with its captures.",
                "middleware: a handler inside 5 middlewares that do nothing, composed; no_middleware: without them.",
            ),
            rivals=("llhttp", "picohttpparser", "picohttpparser-native", "raw"),
        ),
        Bench(
            "resp",
            "element",
            "replies of Redis servers, whole in memory: strings, integers, arrays, streams, maps, texts up to 16 KiB",
            200,
            cases([*RESP_SMALL, "bulk_1k", "bulk_16k"], RESP_PARSERS),
            (
                "Every peer looks at the value of each element, and adds it up. beck: tokens; beck-value: a value of",
                "  each reply, used again. hiredis: its reader with functions that create nothing; hiredis-objects:",
                "  its own objects. Both copy their input first, as their API has it. boost-redis: its parser's nodes.",
                "raw: memchr and skips, without any check. beck checks everything, limits too.",
            ),
            rivals=("hiredis", "hiredis-objects", "boost-redis", "raw"),
        ),
        Bench(
            "redis",
            "command",
            "Redis clients on one CPU, one connection to a redis-server on another: CPU time of the client",
            400,
            cases(["tcp-1", "tcp-50", "tcp-1000"], REDIS_CLIENTS + ("boost-redis",))
            + cases(["tcp-push"], BECK + ("boost-redis",))
            + cases(["unix-1", "unix-50", "unix-1000"], REDIS_CLIENTS),
            (
                "N callers share it, over TCP or a UNIX socket; each gets 16 bytes, and again when it has them.",
                "beck, boost-redis: a coroutine for each caller, one command an await, each a request of its own.",
                "hiredis: by hand, with its blocking functions: writes N commands, takes N replies, again.",
                "raw: the same with prepared commands. redis-benchmark: -c 1 -P N, prepared, less its start.",
                "tcp-push: 1,000 callers send 5 PING and a PUBLISH at a time, and a subscriber of the same connection",
                "  takes the messages; ns for the six commands and the message.",
                "commands_per_write: how many commands go to the kernel at once.",
                "left out: boost-redis of unix: Boost.Redis 1.88 has no UNIX sockets",
                "left out: redis-rs, rueidis: they need the toolchains of Rust and Go",
            ),
            rivals=("raw", "hiredis", "redis-benchmark", "boost-redis"),
        ),
        Bench(
            "redis_cache",
            "hit",
            "reads of a cache of Redis replies that it answers: 64 keys of 16 bytes, in random order",
            200,
            cases(["long", "string", "buffer", "long_10k"], BECK + ("raw",)),
            (
                "long: a number below 64; string: 16 digits as a std::string, which is one allocation; buffer: the",
                "  same into memory of the caller's; long_10k: as long, of 10,000 keys, which are not in the",
                "  processor's nearest caches.",
                "beck: co_await cache.exec(...), with age, order of use and type; the server is idle.",
                "raw: std::unordered_map<std::string, std::string>::find() and the same copy, without any of these.",
            ),
        ),
        Bench(
            "http",
            "request",
            "HTTP servers on one CPU under wrk, ab and curl on another: CPU time of the server",
            500,
            (
                Case("1k", HTTP_SERVERS + HTTP_MIDDLEWARES + HTTP_FILES + ("asio-epoll", "beast", "go")),
                Case("1k-1000", HTTP_SERVERS + ("beast",)),
                Case("64k", BECK + ("raw-epoll",) + HTTP_FILES),
                Case("pipelined", HTTP_SERVERS),
                Case("connection", HTTP_SERVERS + HTTP_FILES + ("asio-epoll",)),
                Case("file-1g", HTTP_FILES + ("raw-epoll",)),
            ),
            (
                "1k: 100 connections, bodies of 1 KiB; 1k-1000: 1,000; 64k: 100, of 64 KiB; pipelined: 16 requests at",
                "  once; connection: ab, a connection for each request, 4 KiB; file-1g: curl downloads 1 GiB.",
                "beck parses strictly and keeps its limits; raw-epoll only looks for the end of a head.",
                "nginx: one worker, return; nginx-file: sendfile and open_file_cache. beck-*-file: static_files.",
                "beck-*-middlewares: it inside request_id, add_fields, at_most, rate_limit, same_origin, cors.",
            ),
            ("us", 1e3),
            ("raw-epoll", "nginx", "nginx-file", "asio-epoll", "beast", "go"),
        ),
        Bench(
            "tls",
            "request",
            "HTTPS servers on one CPU, P-256, under wrk and openssl s_time on another: CPU time of the server",
            500,
            (
                Case("1k", BECK + ("nginx", "nginx-file")),
                Case("64k", BECK + ("nginx-file",)),
                *cases(["full", "resumed", "idle"], BECK + ("nginx",)),
            ),
            (
                "1k, 64k: 100 connections that are kept. full, resumed: a connection for each request, one after",
                "  another. idle: bytes_per_connection is what the server's resident memory grows by for each of 500",
                "  connections that have had a reply; its time is that of their handshakes.",
            ),
            ("us", 1e3),
            ("nginx", "nginx-file"),
        ),
        Bench(
            "http_blocking",
            "request",
            "the blocking and the coroutine HTTP server of the examples, under wrk with 100 and 1,000 connections",
            600,
            cases(
                ["100", "1000"],
                ("coroutine-uring", "coroutine-epoll", "blocking-one", "blocking-threads", "blocking-pool", "nginx"),
            ),
            (
                "blocking-one: one connection after another, as in the document: wrk's others wait for ever, and its",
                "  latencies are those of one. -threads: a thread for each connection. -pool: 64 threads, a connection",
                "  each, so wrk counts 64 of its connections.",
                "Compare the wall time, and the percentiles of the latency.",
            ),
            ("us", 1e3),
            ("blocking-one", "blocking-threads", "blocking-pool", "nginx"),
        ),
        Bench(
            "websocket",
            "message",
            "WebSocket on the loopback: echo, connections x message size; broadcast; CPU time of the server alone",
            350,
            cases(
                [f"{c}x{s}" for s in (64, 16384) for c in (1, 100)] + ["broadcast-1000x64"],
                BECK + ("raw-epoll", "beast"),
            )
            + (Case("unmask", ("beck-epoll", "raw-epoll")),),
            (
                "As echo, in masked frames. beast: its answers are one frame (auto_fragment off). raw-epoll knows that",
                "  a client has one message in flight, in one frame.",
                "broadcast: one client sends, and all 1,000 get the message; counted are the messages that arrive.",
                "unmask: a MiB in messages of 16 KiB, without I/O, so one backend stands for both.",
            ),
            rivals=("raw-epoll", "beast"),
        ),
        Bench(
            "http_client",
            "call",
            "HTTP clients on one CPU, 32 calls in flight to nginx on another: CPU time of the client",
            500,
            cases(["1k", "64k"], BECK + ("raw-epoll", "libcurl")),
            (
                "Bodies of 1 KiB and 64 KiB, over 32 connections that are kept. Each peer reads every body to its end",
                "  and checks its length, with buffers of 16 KiB. beck parses strictly and keeps its limits; raw-epoll",
                "  sends fixed requests and reads the status and Content-Length; libcurl: multi, with epoll.",
            ),
            ("us", 1e3),
            ("raw-epoll", "libcurl"),
        ),
        Bench(
            "compile",
            "compilation",
            "compile an echo server, g++ -O2; user CPU time of the compiler",
            0,
            cases(["callback", "coroutine"], LIBRARIES + ("raw",)),
            (
                "raw is a file with only <system_error> and <coroutine>.",
                "beck-uring and beck-epoll are the same file: the driver is chosen at run time.",
            ),
            ("ms", 1e6),
        ),
        Bench(
            "copy",
            "GiB",
            "beck-copy with each engine beside dd, cp and fio; zeros, a cached and a cold file, a new file",
            0,
            (
                Case("zero-null", ENGINES + ("dd", "fio")),
                Case("file-null-warm", ENGINES + ("dd", "cp", "fio")),
                Case("file-null-cold", ENGINES + ("dd", "cp", "fio")),
                Case("zero-file", ENGINES + ("dd", "fio")),
                Case("file-file", COPIERS),
            ),
            (
                "Whole processes, with their start. cp has no part in what has no end (/dev/zero), copy-range none in",
                "  what is no file. fio reads or writes but does not copy: zero-null, file-null are reads, zero-file",
                "  is a write, file-file a read beside a write of other bytes.",
                "sendfile, copy-range and uring-splice to /dev/null move no bytes, only references to pages.",
                "zero-file, file-file: into the page cache; the disk comes later, for all alike.",
            ),
            ("ms", 1e6),
            ("dd", "cp", "fio", "beck-sync"),
        ),
    )
}


@dataclass(frozen=True)
class Slot:
    """One run of a round."""

    case: Case
    peer: str


def is_chosen(peer, peers):
    return peer not in ON_REQUEST if peers is None else peer in peers


def slots(bench, case_names=None, peers=None):
    """The runs of one round, in order. `peers` limits them; a limit that no case knows is an error."""
    chosen = [bench.case(name) for name in case_names] if case_names else list(bench.cases)
    for peer in peers or ():
        if peer not in PEERS:
            raise LookupError(f"no peer {peer}; there are: {', '.join(PEERS)}")
    result = [Slot(case, peer) for case in chosen for peer in case.candidates() if is_chosen(peer, peers)]
    for peer in peers or ():
        if all(slot.peer != peer for slot in result):
            raise LookupError(f"{peer} takes no part in these cases of {bench.name}")
    return result

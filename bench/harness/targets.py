# SPDX-License-Identifier: BSL-1.0
"""The project's speed targets (performance.md, "Targets") beside what was measured. A ratio is judged by its median.

Absolute times hold beside the raw peer of the same minute: where it is slower than on the machine that the target was
written on, the limit grows as much, up to 1.5 times.
"""
from dataclasses import dataclass

from .peers import BECK, RESP_SMALL
from .results import ratio_text
from .stats import geometric_mean, median

MOOD_MAX = 1.5
# CPU ns of the raw peers in a quiet minute of the machine that the targets were written on.
RAW_REFERENCE_NS = {
    ("read_until", "coroutine"): 3.8,
    ("post", "chain"): 2.0,
    ("strand", "chain"): 1.6,
    ("threads", "post_stream"): 17.5,
    ("spawn", "co_spawn"): 10.5,
    ("spawn", "nested"): 10.0,
    ("timer", "create_cancel"): 24.2,
    ("timer", "rearm"): 24.2,
    ("timer", "expired"): 42.0,
    ("redis_cache", "long"): 16.0,
}
# How long a timer and a second socket may wait beside a loop that never does, 99.9th percentile of CPU time; and with a
# flooded socket as well, of which one entry's budget is up to ten reads of 64 KiB.
GAP_US = 250
UNMASKED_BYTES_PER_NS = 10  # at least
FLOODED_GAP_US = 1000
RESP_BULK_NS = 200
MIDDLEWARES_NS = 5
ALLOCATIONS_ASIDE = 0.001  # an operation: those of the start and the end of a run
FORMATS = {
    "ratio": ratio_text,
    "ns": "{:.1f}".format,
    "us": "{:.0f}".format,
    "s": "{:.2f}".format,
    "lines": "{:,.0f}".format,
    "MiB": "{:.1f}".format,
    "bytes": "{:,.0f}".format,
    "count": "{:.3f}".format,
}
UNITS = {"ratio": "", "ns": " ns", "us": " us", "s": " s", "lines": " lines", "MiB": " MiB", "bytes": " bytes"}


@dataclass(frozen=True)
class Check:
    target: str  # P1, P2, ... of performance.md; H7 of http.md; sync, udp, leases, queue, routes
    what: str
    measured: float
    limit: float
    unit: str = "ratio"
    interval: tuple = ()
    note: str = ""

    @property
    def passed(self):
        return self.measured <= self.limit

    def row(self):
        ending = UNITS.get(self.unit, "")
        text = FORMATS[self.unit]
        interval = f"[{text(self.interval[0])} {text(self.interval[1])}]" if self.interval else ""
        return [
            f"{self.target}  {self.what}",
            text(self.measured) + ending,
            interval,
            "at most " + text(self.limit) + ending,
            "pass" if self.passed else "MISS",
            self.note,
        ]


def ratio_check(results, target, case, peer, rival, limit):
    """Gives a check, or nothing if one of the two did not run."""
    key, rival_key = results.find(case, peer), results.find(case, rival)
    if key is None or rival_key is None:
        return
    ratio = results.ratio(key, rival_key)
    yield Check(target, f"{case}: {peer} / {rival}", ratio.median, limit, interval=(ratio.low, ratio.high))


def time_check(results, target, case, peer, limit_ns):
    key, raw_key = results.find(case, peer), results.find(case, "raw")
    if key is None:
        return
    note, mood = "without raw beside it", 1.0
    if raw_key:
        raw = results.summary(raw_key).median
        mood = min(MOOD_MAX, max(1.0, raw / RAW_REFERENCE_NS[results.bench.name, case]))
        note = f"raw {raw:.1f} ns" + (f", so {limit_ns:g} x {mood:.2f}" if mood > 1.005 else "")
    yield Check(target, f"{case}: {peer}", results.summary(key).median, limit_ns * mood, "ns", note=note)


def wall_check(results, key, rival_key, limit, beside="", target="P8"):
    """P8: a ratio of wall times. `beside`: a case whose ratio is worth knowing too."""
    if key not in results.samples or rival_key not in results.samples:
        return
    ratio = results.ratio(key, rival_key, metric="wall_ns_per_op")
    what = f"{key[0]} / {rival_key[0]}: {key[1]}" if key[1] == rival_key[1] else f"{key[0]}: {key[1]} / {rival_key[1]}"
    note = ""
    if beside and (beside, key[1]) in results.samples:
        other = results.ratio(key, (beside, key[1]), metric="wall_ns_per_op")
        note = f"to {beside}: {ratio_text(other.median)} [{ratio_text(other.low)} {ratio_text(other.high)}]"
    yield Check(target, f"{what}, wall", ratio.median, limit, interval=(ratio.low, ratio.high), note=note)


def pingpong(results):
    for style in ("callback", "coroutine"):
        yield from ratio_check(results, "P1", style, "beck-uring", "asio-epoll", 1 / 1.5)
        yield from ratio_check(results, "P1", style, "beck-uring", "raw-uring-lazy", 1.15)
        yield from ratio_check(results, "P1", style, "beck-epoll", "asio-epoll", 1 / 1.15)
        yield from ratio_check(results, "P1", style, "beck-epoll", "raw-epoll", 1.05)
        yield from ratio_check(results, "P1", style, "facade-uring", "beck-uring", 1.05)
        yield from ratio_check(results, "P1", style, "facade-epoll", "beck-epoll", 1.05)
        yield from ratio_check(results, "P1", style, "facade-uring", "asio-epoll", 0.75)
    for style in ("callback-2p", "coroutine-2p"):
        for peer in BECK:
            yield from ratio_check(results, "P1b", style, peer, "raw-epoll", 1.10)
            yield from ratio_check(results, "P1b", style, peer, "asio-epoll", 1.0)
            yield from ratio_check(results, "P1b", style, peer, "asio-uring", 1.0)


def echo(results):
    for peer in BECK:
        cases = [case for case in results.cases() if (case, peer) in results.samples]
        to_raw = [c for case in cases for c in ratio_check(results, "P2", case, peer, "raw-epoll", 1.25)]
        if len(to_raw) > 1:
            mean = geometric_mean([check.measured for check in to_raw])
            yield Check("P2", f"geometric mean: {peer} / raw-epoll", mean, 1.10)
        yield from to_raw
        for case in cases:
            yield from ratio_check(results, "P2", case, peer, "asio-epoll", 1.05)


def read_until(results):
    for peer in BECK:
        yield from time_check(results, "P4", "coroutine", peer, 10)
        yield from ratio_check(results, "P4", "coroutine", peer, "asio-epoll", 1 / 20)
        for case in results.cases():
            for metric in ("timer_gap_p999_us", "socket_gap_p999_us"):
                if (case, peer) in results.samples and metric in results.metrics((case, peer)):
                    gap = median(results.values((case, peer), metric))
                    limit = FLOODED_GAP_US if case == "flooded" else GAP_US
                    yield Check("P4", f"{case}: {peer}, {metric}", gap, limit, "us")


def post(results):
    for peer in BECK:
        yield from time_check(results, "P5", "chain", peer, 10)


def strand(results):
    for peer in BECK:
        yield from time_check(results, "P5", "chain", peer, 15)


def spawn(results):
    for peer in BECK:
        yield from time_check(results, "P5", "co_spawn", peer, 40)
        yield from time_check(results, "P5", "nested", peer, 15)


def threads(results):
    for peer in BECK:
        yield from time_check(results, "P7", "post_stream", peer, 60)
        both = [(case, peer) for case in ("pool_2", "processes_2")]
        if all(key in results.samples for key in both):
            ratio = results.ratio(*both, metric="wall_ns_per_op")
            what = f"pool_2 / processes_2: {peer}, wall"
            yield Check("P8", what, ratio.median, 1 / 0.9, interval=(ratio.low, ratio.high))
    yield from wall_check(results, ("shared_2", "beck-epoll"), ("shared_1", "beck-epoll"), 1.0, beside="exclusive_1")
    yield from wall_check(results, ("shared_2_busy", "beck-epoll"), ("shared_1_busy", "beck-epoll"), 1 / 1.6)
    yield from wall_check(results, ("shared_2", "beck-epoll"), ("shared_2", "asio-epoll"), 1 / 1.5)


def timer(results):
    for peer in BECK:
        yield from time_check(results, "P6", "create_cancel", peer, 40)
        yield from time_check(results, "P6", "rearm", peer, 40)
        yield from time_check(results, "P6", "expired", peer, 300)
        yield from time_check(results, "P6", "million", peer, 100)


def channel(results):
    for peer in BECK:
        yield from time_check(results, "sync", "send_receive", peer, 25)
        yield from time_check(results, "sync", "mutex", peer, 6)
        with_limit, without = ((case, peer) for case in ("receive_timeout", "send_receive"))
        if with_limit in results.samples and without in results.samples:
            price = results.summary(with_limit).median - results.summary(without).median
            yield Check("scope", f"receive_timeout - send_receive: {peer}", price, 40, "ns")


def compile_time(results):
    for case in results.cases():
        key = (case, "beck-uring") if (case, "beck-uring") in results.samples else (case, "beck-epoll")
        if key not in results.samples:
            continue
        if (case, "raw") in results.samples:
            above = results.summary(key, "code_lines").median - results.summary((case, "raw"), "code_lines").median
            yield Check("P10", f"{case}: lines of code above the base file", above, 4_050, "lines")
        if "above_base_s" in results.metrics(key):
            above = results.summary(key, "above_base_s").median
            yield Check("P10", f"{case}: user time above the base file", above, 0.30, "s")


# What a process needs besides its blocks, and the largest blocks of an engine with its default depth: P9.
COPY_OVERHEAD_MB = 8
COPY_BLOCKS_MB = {"beck-sync": 0.25, "beck-posix-aio": 1, "beck-uring": 0.5}


def copy(results):
    for case in results.cases():
        single = [peer for peer in results.peers(case) if peer.startswith("beck-") and peer != "beck-auto"]
        if single and "beck-auto" in results.peers(case):
            best = min(single, key=lambda peer: results.summary((case, peer), "wall_ns_per_op").median)
            ratio = results.ratio((case, "beck-auto"), (case, best), metric="wall_ns_per_op")
            cpu = results.ratio((case, "beck-auto"), (case, best)).median
            yield Check("P9", f"{case}: beck-auto / {best}, wall", ratio.median, 1.10, interval=(ratio.low, ratio.high),
                        note=f"CPU {ratio_text(cpu)}")
        for peer in (peer for peer in single if peer in COPY_BLOCKS_MB):
            peak = results.summary((case, peer), "peak_mb").max
            yield Check("P9", f"{case}: {peer}, peak memory", peak, COPY_BLOCKS_MB[peer] + COPY_OVERHEAD_MB, "MiB")
    yield from ratio_check(results, "P9", "zero-null", "beck-uring", "beck-sync", 1.25)


def udp(results):
    """CPU time of a datagram: in batches and with segmentation offload against Asio's one by one."""
    for peer in BECK:
        yield from ratio_check(results, "udp", "batch", peer, "asio-epoll", 1 / 1.25)
        yield from ratio_check(results, "udp", "gso_gro", peer, "asio-epoll", 1 / 10)


def idle(results):
    """P11, and that lending costs no more than a buffer of one's own."""
    for peer in BECK:
        key = results.find("callback_9900", peer)
        if key is not None:
            memory = results.summary(key, "bytes_per_connection").median
            yield Check("P11", f"callback_9900: {peer}, memory of a connection", memory, 640, "bytes")
        yield from ratio_check(results, "leases", "lease", peer, "asio-epoll", 1.0)


def write_queue(results):
    for peer in BECK:
        yield from ratio_check(results, "queue", "push", peer, "asio-epoll", 1 / 2)


def http_parse(results):
    """H7: at least three times as fast as llhttp; as picohttpparser, and 1.3 times as fast on a browser's head.

    Routes: at most 50 ns. Five middlewares that do nothing: at most 5 ns, without an allocation."""
    for case in ("head_37", "head_109", "head_703", "pipelined"):
        yield from ratio_check(results, "H7", case, "beck", "llhttp", 1 / 3)
    for rival in ("picohttpparser", "picohttpparser-native"):
        for case, times in (("head_37", 1), ("head_109", 1), ("head_703", 1.3)):
            yield from ratio_check(results, "H7", case, "beck", rival, 1 / times)
    yield from time_check(results, "routes", "route", "beck", 50)
    key, bare = results.find("middleware", "beck"), results.find("no_middleware", "beck")
    if key is not None and bare is not None:
        more = results.summary(key).median - results.summary(bare).median
        yield Check("middlewares", "middleware: beck, beyond no_middleware", more, MIDDLEWARES_NS, "ns")
        count = median(results.values(key, "allocations_per_op"))
        yield Check("middlewares", "middleware: beck, allocations", count, ALLOCATIONS_ASIDE, "count")


def resp(results):
    """redis.md, section 5: geometric means over the cases with small elements, and the time of long texts."""
    limits = (("beck", "hiredis", 2.2), ("beck", "boost-redis", 2.4), ("beck-value", "hiredis-objects", 4.5))
    for peer, rival, times in limits:
        checks = [check for case in RESP_SMALL for check in ratio_check(results, "R", case, peer, rival, 1.0)]
        if len(checks) > 1:
            mean = geometric_mean([check.measured for check in checks])
            yield Check("R", f"geometric mean: {peer} / {rival}", mean, 1 / times)
        yield from checks
    for case in ("bulk_1k", "bulk_16k"):
        for peer in ("beck", "beck-value"):
            key = results.find(case, peer)
            if key is not None:
                yield Check("R", f"{case}: {peer}", results.summary(key).median, RESP_BULK_NS, "ns")


def redis(results):
    """redis.md, section 5: the client's CPU time for a command."""
    limits = (
        ("tcp-1", "boost-redis", 1.0),
        ("tcp-50", "boost-redis", 0.5),
        ("tcp-1000", "boost-redis", 0.2),
        ("tcp-push", "boost-redis", 0.35),
        ("unix-1", "raw", 1.15),
        ("unix-1000", "hiredis", 1.0),
        ("unix-1000", "redis-benchmark", 1.5),
    )
    for case, rival, limit in limits:
        for peer in BECK:
            yield from ratio_check(results, "R", case, peer, rival, limit)


def redis_cache(results):
    """redis.md, section 5: the time of a hit, and no allocation but that of a string."""
    for peer in BECK:
        yield from time_check(results, "R", "long", peer, 60)
        for case, most in (("long", 0), ("string", 1), ("buffer", 0), ("long_10k", 0)):
            key = results.find(case, peer)
            if key is not None and "allocations_per_op" in results.metrics(key):
                count = median(results.values(key, "allocations_per_op"))
                yield Check("R", f"{case}: {peer}, allocations", count, most + ALLOCATIONS_ASIDE, "count")


def http(results):
    """H1 to H5 of http.md, and the latency of H10."""
    limits = (
        ("H1", "1k", (("raw-epoll", 1.20), ("nginx", 1.0), ("beast", 0.65))),
        ("H1", "1k-1000", (("raw-epoll", 1.20), ("nginx", 1.0), ("beast", 0.65))),
        ("H2", "64k", (("raw-epoll", 1.12),)),
        ("H3", "pipelined", (("raw-epoll", 1.20), ("nginx", 0.15))),
        ("H4", "connection", (("raw-epoll", 1.10), ("nginx", 1.0), ("asio-epoll", 0.92))),
    )
    files = (("H1", "1k", 0.95), ("H2", "64k", 1.0), ("H4", "connection", 1.0), ("H5", "file-1g", 1.03))
    for target, case, rivals in limits:
        for peer in BECK:
            for rival, limit in rivals:
                yield from ratio_check(results, target, case, peer, rival, limit)
    for target, case, limit in files:
        for peer in BECK:
            yield from ratio_check(results, target, case, f"{peer}-file", "nginx-file", limit)
    for peer in BECK:
        yield from ratio_check(results, "middlewares", "1k", f"{peer}-middlewares", peer, 1.05)
    for peer in BECK:
        key, rival = results.find("1k-1000", peer), results.find("1k-1000", "nginx")
        if key is not None and rival is not None:
            ratio = results.ratio(key, rival, metric="p999_us")
            yield Check("H10", f"1k-1000: {peer} / nginx, p99.9", ratio.median, 1.0, interval=(ratio.low, ratio.high))


def tls(results):
    """H6 and H8 of http.md: TLS beside nginx."""
    for peer in BECK:
        for case, rival, limit in (
            ("1k", "nginx", 0.85),
            ("64k", "nginx-file", 0.75),
            ("full", "nginx", 0.95),
            ("resumed", "nginx", 0.95),
        ):
            yield from ratio_check(results, "H6", case, peer, rival, limit)
        keys = [results.find("idle", name) for name in (peer, "nginx")]
        if None not in keys:
            own, other = (results.summary(key, "bytes_per_connection").median for key in keys)
            yield Check("H8", f"idle: {peer}", own, 1.25 * other, "bytes", note=f"nginx {other:,.0f}")


def http_client(results):
    """H10: at most 1.3 times the CPU time of a client of ours on bare epoll, 0.6 times that of libcurl."""
    for case in results.cases():
        for peer in BECK:
            yield from ratio_check(results, "H10", case, peer, "raw-epoll", 1.30)
            yield from ratio_check(results, "H10", case, peer, "libcurl", 0.60)


def websocket(results):
    """At most 1.2 times the CPU time of a loop of ours on bare epoll, 0.6 times that of Boost.Beast; a broadcast 1.3
    times that of as many sends; unmasking 10 GB/s."""
    for case in results.cases():
        if case == "unmask":
            continue
        is_broadcast = case.startswith("broadcast")
        for peer in BECK:
            yield from ratio_check(results, "websocket", case, peer, "raw-epoll", 1.30 if is_broadcast else 1.20)
            if not is_broadcast:
                yield from ratio_check(results, "websocket", case, peer, "beast", 0.60)
    key = results.find("unmask", "beck-epoll")
    if key is not None:
        of_mib = results.summary(key).median
        yield Check("websocket", "unmask: a MiB", of_mib, 2**20 / UNMASKED_BYTES_PER_NS, "ns")


def http_blocking(results):
    """H10: how much faster the coroutine form is than the blocking form, which serves one connection after another."""
    for case in results.cases():
        for peer in ("coroutine-uring", "coroutine-epoll"):
            yield from wall_check(results, (case, peer), (case, "blocking-one"), 1 / 10, target="H10")
            key, rival = results.find(case, peer), results.find(case, "nginx")
            if key is not None and rival is not None:
                ratio = results.ratio(key, rival, metric="p999_us")
                interval = (ratio.low, ratio.high)
                yield Check("H10", f"{case}: {peer} / nginx, p99.9", ratio.median, 1.0, interval=interval)


CHECKS = {
    "http": http,
    "tls": tls,
    "http_blocking": http_blocking,
    "http_client": http_client,
    "websocket": websocket,
    "copy": copy,
    "http_parse": http_parse,
    "resp": resp,
    "redis": redis,
    "redis_cache": redis_cache,
    "idle": idle,
    "write_queue": write_queue,
    "pingpong": pingpong,
    "echo": echo,
    "read_until": read_until,
    "post": post,
    "strand": strand,
    "spawn": spawn,
    "threads": threads,
    "timer": timer,
    "channel": channel,
    "udp": udp,
    "compile": compile_time,
}


def checks(results):
    return list(CHECKS[results.bench.name](results))

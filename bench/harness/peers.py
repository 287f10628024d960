# SPDX-License-Identifier: BSL-1.0
"""The peers: how their programs are started, which need a ring, which may be missing, and the groups of them."""

# How a peer is started: the last part of its program's name, and its arguments.
PEERS = {
    "beck-uring": ("beck", ["--backend", "io_uring"]),
    "beck-epoll": ("beck", ["--backend", "epoll"]),
    "beck-uring-eager": ("beck", ["--backend", "io_uring", "--arming", "eager"]),
    "beck-uring-poll": ("beck", ["--backend", "io_uring", "--arming", "none"]),
    "beck-uring-prompt": ("beck", ["--backend", "io_uring", "--no-batched-sends"]),
    "beck-uring-spin": ("beck", ["--backend", "io_uring", "--busy-poll", "20"]),
    "beck-epoll-spin": ("beck", ["--backend", "epoll", "--busy-poll", "20"]),
    "beck-epoll-prompt": ("beck", ["--backend", "epoll", "--no-speculation"]),
    "asio-epoll": ("asio_epoll", []),
    "asio-uring": ("asio_uring", []),
    # The programs of asio-epoll, compiled over beck's facade.
    "facade-uring": ("facade_uring", []),
    "facade-epoll": ("facade_epoll", []),
    "raw-epoll": ("raw_epoll", []),
    "raw-uring": ("raw_uring", []),
    "raw-uring-lazy": ("raw_uring", ["--lazy"]),
    "raw": ("raw", []),
    # Of the benchmark http_parse, which needs no backend.
    "beck": ("beck", []),
    "llhttp": ("llhttp", []),
    "picohttpparser": ("picohttpparser", []),
    "picohttpparser-native": ("picohttpparser_native", []),
    # Of the benchmark resp.
    "beck-value": ("beck_value", []),
    "hiredis": ("hiredis", []),
    "hiredis-objects": ("hiredis_objects", []),
    "boost-redis": ("boost_redis", []),
    "redis-benchmark": ("", []),
    # Of the benchmarks of HTTP servers (serving.py). nginx is no program of this folder; with `return`, with a file.
    "beck-uring-file": ("beck", ["--backend", "io_uring"]),
    "beck-epoll-file": ("beck", ["--backend", "epoll"]),
    "beck-uring-middlewares": ("beck", ["--backend", "io_uring", "--form", "middlewares"]),
    "beck-epoll-middlewares": ("beck", ["--backend", "epoll", "--form", "middlewares"]),
    "nginx": ("", []),
    "nginx-file": ("", []),
    "beast": ("beast", []),
    "go": ("go", []),
    # Of the benchmark of HTTP clients (calling.py).
    "libcurl": ("libcurl", []),
    # Of http_blocking: the programs of examples/ that differ in a few words.
    "coroutine-uring": ("coroutine", ["0"]),
    "coroutine-epoll": ("coroutine", ["0"]),
    "blocking-one": ("blocking", ["0", "one"]),
    "blocking-threads": ("blocking", ["0", "threads"]),
    "blocking-pool": ("blocking", ["0", "pool"]),
    # Of the benchmark copy (copying.py), where beck-uring is an engine too; no programs of this folder.
    "beck-auto": ("", []),
    "beck-sync": ("", []),
    "beck-posix-aio": ("", []),
    "beck-uring-splice": ("", []),
    "beck-sendfile": ("", []),
    "beck-copy-range": ("", []),
    "dd": ("", []),
    "cp": ("", []),
    "fio": ("", []),
}
RING_PEERS = frozenset(
    "beck-uring beck-uring-eager beck-uring-poll beck-uring-prompt beck-uring-spin beck-uring-splice beck-uring-file"
    " beck-uring-middlewares"
    " asio-uring facade-uring raw-uring raw-uring-lazy coroutine-uring".split()
)
BECK = ("beck-uring", "beck-epoll")
FACADE = ("facade-uring", "facade-epoll")
# beck without one of its mechanisms (docs/mechanisms.md).
VARIANTS = ("beck-uring-eager", "beck-uring-poll", "beck-uring-prompt", "beck-uring-spin", "beck-epoll-spin")
VARIANTS += ("beck-epoll-prompt",)
ON_REQUEST = VARIANTS + FACADE  # take part only where --peers names them
# Rivals that a system may lack: without them a benchmark says so and goes on.
OPTIONAL = {
    "asio-epoll": "Asio is not installed (Debian: libasio-dev)",
    "asio-uring": "Asio or liburing is not installed (Debian: libasio-dev, liburing-dev)",
    "llhttp": "llhttp is not installed (Debian: node-llhttp)",
    "picohttpparser": "libh2o is not installed (Debian 12: libh2o-evloop-dev)",
    "fio": "it is not installed (Debian: fio)",
    "picohttpparser-native": "no package has it; see BECK_BENCH_PICOHTTPPARSER in bench/CMakeLists.txt",
    "beast": "Boost.Beast is not installed (Debian: libboost-dev)",
    "hiredis": "its sources are not there (tools/peer_sources.sh hiredis)",
    "hiredis-objects": "its sources are not there (tools/peer_sources.sh hiredis)",
    "boost-redis": "its headers are not there (tools/peer_sources.sh boost-redis; Debian 13: libboost1.88-dev)",
    "redis-benchmark": "it is not installed (Debian: redis-tools)",
    "nginx": "nginx is not installed (Debian: nginx-light)",
    "nginx-file": "nginx is not installed (Debian: nginx-light)",
    "libcurl": "libcurl is not installed (Debian: libcurl4-openssl-dev)",
    "go": "Go is not installed (https://go.dev/dl, to /usr/local/go)",
}
LIBRARIES = BECK + ("asio-epoll", "asio-uring")
ENGINES = ("beck-auto", "beck-sync", "beck-posix-aio", "beck-uring", "beck-uring-splice", "beck-sendfile")
COPIERS = ENGINES + ("beck-copy-range", "dd", "cp", "fio")
HTTP_HEADS = ("beck", "llhttp", "picohttpparser", "picohttpparser-native")
RESP_PARSERS = ("beck", "beck-value", "raw", "hiredis", "hiredis-objects", "boost-redis")
# The cases of resp with small elements: all but the texts from 1 KiB up.
RESP_SMALL = ("ok", "integers", "get_16", "mget_16", "stream", "map", "scalars")
REDIS_CLIENTS = BECK + ("raw", "hiredis", "redis-benchmark")
HTTP_SERVERS = BECK + ("raw-epoll", "nginx")
HTTP_MIDDLEWARES = ("beck-uring-middlewares", "beck-epoll-middlewares")
HTTP_FILES = ("beck-uring-file", "beck-epoll-file", "nginx-file")
RAW_IO = ("raw-epoll", "raw-uring", "raw-uring-lazy")

# SPDX-License-Identifier: BSL-1.0
"""Programs that none of us wrote, with their default settings, against beck: clients and servers of HTTP, WebSocket and
TLS, libraries of Redis. Their versions are pinned (requirements.txt, package.json, go.mod) and come from their
registries into BUILD/../world; a program whose tool is missing is left out with a line.

usage: world.py BUILD [PATTERN]     BUILD such as build/release; only the programs whose name contains PATTERN
Prints a line for each program and each of its checks. Ends with 0 if none has failed. On the loopback only.
"""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "http"), str(HERE.parent / "apps")]
import peer  # noqa: E402
import redis_groups  # noqa: E402
import redis_proxy  # noqa: E402
from tools import Missing, Tools  # noqa: E402

LIMIT_S = 300
# What needs a connection of its own is refused there (docs/redis.md).
NOT_BEFORE_A_CLUSTER = ("a transaction", "messages", "a blocking command")
NOT_BEFORE_ONE = ("a cluster's client",)  # which one server without a cluster refuses
NOT_IN_MEMORY = ("a script", *NOT_BEFORE_ONE)  # memory_server runs none
SHARED_MIN = 400  # of the commands that each library sends


class World:
    def __init__(self, build, pattern):
        self.build, self.pattern = build, pattern
        self.tools = Tools(build.parent / "world")
        self.failures = self.passed = self.left_out = 0

    def program(self, name, command):
        """Runs one foreign program. `command` makes its command line, and raises Missing if it cannot run here. Returns
        whether it has passed."""
        if self.pattern not in name:
            return False
        try:
            words = [str(word) for word in command()]
        except Missing as why:
            self.left_out += 1
            print(f"left out: {name}: {why}", flush=True)
            return False
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, timeout=LIMIT_S, cwd=self.tools.folder, env=self.tools.environment)
            status, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            status, output = "no end", (late.stdout or b"").decode(errors="replace")
        if status == 0:
            self.passed += 1
            checks = [line.removeprefix("ok: ") for line in output.splitlines() if line.startswith("ok: ")]
            print(f"ok: {name}" + (f": {'; '.join(checks)}" if checks else ""), flush=True)
        else:
            self.failures += 1
            print(f"FAILED: {name} ({status})", flush=True)
            print("".join(f"    | {line}\n" for line in output.splitlines()[-25:]), end="", flush=True)
        return status == 0

    def http(self, backend):
        server = self.build / "tests/http_peer_server"
        with peer.beck_server(server, backend, "--idle", 1) as one:
            self.program(f"http: Go net/http, {backend}", lambda: [self.tools.go("http_go"), one.url])
            self.program(f"http: undici, {backend}", lambda: [*self.tools.node("http_undici.mjs"), one.url])
            for library in ("aiohttp", "httpx"):
                words = [HERE / "http_python.py", library, one.url]
                self.program(f"http: {library}, {backend}", lambda words=words: self.tools.python(words))
            self.program(f"http: curl, {backend}", lambda: self.curl(one.url))

    def curl(self, url):
        """An upload that asks first (Expect), one that is refused, and a request behind each on the same connection."""
        if not shutil.which("curl"):
            raise Missing("curl is not installed")
        big = self.tools.folder / "3MB"
        big.write_bytes(bytes(3_000_000))
        parts = []
        for path in ("/upload", "/refuse", "/after", "/refuse", "/after"):
            parts += ["--next", "--silent", "--show-error", "--output", "/dev/null", "--write-out", "%{http_code}\n"]
            parts += ["--data-binary", f"@{big}" if path != "/after" else "hello", url + path]
        script = 'got=$("$@" 2>&1 | tr "\\n" " "); echo "$got"; [ "$got" = "200 401 200 401 200 " ]'
        return ["bash", "-c", script, "_", "curl", *parts[1:]]

    def websocket(self, backend):
        program = self.build / "tests/websocket_peer"
        with peer.beck_server(program, backend, "serve") as server:
            url = f"ws://127.0.0.1:{server.port}/echo"
            self.program(f"websocket: ws, client, {backend}",
                         lambda: [*self.tools.node("websocket_node.mjs"), "connect", url])
        name = f"websocket: ws, server, {backend}"
        with contextlib.ExitStack() as stack:
            def connect():
                server = stack.enter_context(peer.announced([*self.tools.node("websocket_node.mjs"), "serve"],
                                                            cwd=self.tools.folder, env=self.tools.environment))
                return ["env", f"BECK_BACKEND={backend}", program, "connect", f"ws://127.0.0.1:{server.port}/"]

            self.program(name, connect)

    def tls(self, backend):
        serve = self.build / "apps/beck-serve/beck-serve"
        if not serve.exists():
            return
        with tempfile.TemporaryDirectory() as folder:
            key, chain = Path(folder, "key.pem"), Path(folder, "chain.pem")
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                 "-days", "2", "-keyout", key, "-out", chain, "-subj", "/CN=world",
                 "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
            Path(folder, "page.txt").write_text("hello\n")
            environment = os.environ | {"BECK_BACKEND": backend}
            command = [serve, "--port", "0", "--cert", chain, "--key", key, folder]
            with beck_serve(command, environment) as port:
                url = f"https://127.0.0.1:{port}/page.txt"
                self.program(f"tls: node, {backend}", lambda: [*self.tools.node("tls_node.mjs"), url, chain])
                self.program(f"tls: Go, {backend}", lambda: [self.tools.go("tls_go"), url, chain])
                peer_program = self.build / "tests/tls_posture_peer"
                words = ["env", f"BECK_BACKEND={backend}", HERE / "tls_openssl.sh", port, chain, key, peer_program]
                self.program(f"tls: openssl s_client and s_server, {backend}", lambda: words)

    def redis_libraries(self, place, port, without=(), shared=None):
        """Runs the libraries against a port, without some of their checks. `shared` returns a count of commands that
        each of them has to raise."""
        node = self.tools.node
        for name, command in (
            ("redis-py", lambda: self.tools.python([HERE / "redis_python.py", port, *without])),
            ("node-redis", lambda: [*node("redis_node.mjs"), "redis", port, *without]),
            ("ioredis", lambda: [*node("redis_node.mjs"), "ioredis", port, *without]),
            ("go-redis", lambda: [self.tools.go("redis_go"), f"127.0.0.1:{port}", *without]),
        ):
            before = shared() if shared else 0
            if self.program(f"redis: {name}, {place}", command) and shared and shared() < before + SHARED_MIN:
                self.failures += 1
                print(f"FAILED: redis: {name}, {place}: {shared() - before} commands were shared")

    def redis_tools(self, place, port):
        """Runs the tools of Redis and Valkey: benchmarks with the commands of their own choice, and a mass of lines and
        of arrays through redis-cli --pipe."""
        for tool in ("redis-benchmark", "valkey-benchmark"):
            self.program(f"redis: {tool}, {place}", lambda tool=tool: self.benchmark(tool, port))
        lines = "".join(f"SET tool:{i} {i}\r\n" for i in range(1000))
        arrays = "".join(f"*3\r\n$3\r\nSET\r\n$8\r\ntool{i:04}\r\n$1\r\nx\r\n" for i in range(1000))
        for kind, text in (("lines", lines), ("arrays", arrays)):
            file = self.tools.folder / f"pipe.{kind}"
            file.write_text(text, newline="")
            said = "errors: 0, (replies|responses): 1000"  # by version
            script = f'redis-cli -p {port} --pipe <"$0" | tee /dev/stderr | grep -Eq "{said}"'
            self.program(f"redis: redis-cli --pipe, {kind}, {place}", lambda file=file, script=script: [
                "bash", "-o", "pipefail", "-c", script, file])

    def benchmark(self, tool, port):
        newer = self.build.parent / "peers/newer/root/usr"
        words, more = [tool], []
        if tool.startswith("valkey"):
            if not (newer / "bin" / tool).exists():
                raise Missing(f"there is no {newer / 'bin' / tool}")
            loader = newer / "lib64/ld-linux-x86-64.so.2"
            words = [loader, "--library-path", newer / "lib/x86_64-linux-gnu", newer / "bin" / tool]
            more = ["-t", "ping,set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,spop,zadd,zpopmin,mset,xadd"]  # of Redis 7
        elif not shutil.which(tool):
            raise Missing(f"{tool} is not installed")
        return [*words, "-p", port, "-q", "-n", 300, "-c", 20, *more]

    def memory_server(self, backend):
        with peer.beck_server(self.build / "tests/redis_memory_peer", backend) as server:
            self.redis_libraries(f"memory_server, {backend}", server.port, NOT_IN_MEMORY)

    def redis(self):
        if not shutil.which("redis-server"):
            print("left out: redis: redis-server is not installed")
            return
        redis_proxy.program = self.build / "apps/beck-redis-proxy/beck-redis-proxy"
        with contextlib.closing(redis_proxy.Redis()) as server:
            url = server.urls()[0]
            with running_proxy(url) as proxy:
                self.redis_libraries("proxy", proxy.port, NOT_BEFORE_ONE)
                self.redis_tools("proxy", proxy.port)
            with running_proxy("--shared", url) as proxy:
                seen = lambda: proxy.metrics()["shared_commands_total"]
                self.redis_libraries("proxy --shared", proxy.port, NOT_BEFORE_ONE, seen)
                self.redis_tools("proxy --shared", proxy.port)
        with contextlib.closing(redis_groups.Cluster()) as cluster, running_proxy(cluster.url()) as proxy:
            self.redis_libraries("proxy before a cluster", proxy.port, NOT_BEFORE_A_CLUSTER)
            self.redis_tools("proxy before a cluster", proxy.port)

    def servers(self):
        """beck's client against the system's redis-server and newer ones (tools/peer_sources.sh newer-redis)."""
        newer = self.build.parent / "peers/newer/bin"
        for name, program in (
            ("the system's redis-server", Path("/usr/bin/redis-server")),
            ("redis-server of Debian 13", newer / "redis-server"),
            ("valkey-server of Debian 13", newer / "valkey-server"),
        ):
            self.program(f"redis: beck's client, {name}",
                         lambda program=program: self.client_cases("redis_server_tests", program))
            self.program(f"redis: beck's cache, {name}",
                         lambda program=program: self.client_cases("redis_tests", program))
            self.program(f"redis: the table of commands, {name}", lambda program=program: self.command_table(program))

    def command_table(self, program):
        if not program.exists():
            raise Missing(f"there is no {program}")
        return ["python3", HERE.parent.parent / "tools/redis_commands.py", "--later", "--server", program]

    def client_cases(self, binary, program):
        if not program.exists():
            raise Missing(f"there is no {program}")
        cases = ["--test-case=*redis-server*", "--test-case-exclude=memory_server*", "--minimal=true"]
        return ["env", f"BECK_TEST_REDIS_SERVER={program}", self.build / "tests" / binary, *cases]


@contextlib.contextmanager
def beck_serve(command, environment):
    """Starts beck-serve. Yields its port."""
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               text=True, env=environment)
    try:
        line = process.stdout.readline()
        peer.require(line.startswith("listening: "), f"beck-serve did not start: {line!r}")
        yield int(line.rstrip("/\n").rpartition(":")[2])
    finally:
        peer.end(process)
        process.stdout.close()


@contextlib.contextmanager
def running_proxy(*arguments):
    proxy = redis_proxy.Proxy("--port", 0, "--metrics", 0, *arguments)
    try:
        yield proxy
    finally:
        proxy.close()


def main(build, pattern=""):
    world = World(Path(build).resolve(), pattern)
    for backend in peer.backends():
        world.http(backend)
        world.websocket(backend)
        world.tls(backend)
        world.memory_server(backend)
    world.redis()
    world.servers()
    print(f"world: passed {world.passed}, left out {world.left_out}, failed {world.failures}")
    return world.failures != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

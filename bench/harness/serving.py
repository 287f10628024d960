# SPDX-License-Identifier: BSL-1.0
"""The benchmarks of HTTP servers: each peer is a server on one CPU, a client on another one loads it, and the CPU time
of the server is divided by the requests that the client counts."""
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from . import machine
from .peers import PEERS

TIMEOUT_S = 20
WARM_UP_MS = 200
GIB = 1 << 30
# The fields of a reply; nginx has others of the same length (macro/common/http_service.hpp).
HEAD = (
    "HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: text/plain\r\n"
    "Content-Length: {}\r\n{}\r\n\r\n"
)


@dataclass(frozen=True)
class Load:
    """What the client asks for."""

    connections: int = 100
    body: int = 1024
    pipelined: int = 1
    close: bool = False  # a connection for each request, by ab
    requests: int = 0  # with ab

    def path(self):
        """The target of the requests; the document's for 4 KiB."""
        return "/data_4K.html" if self.body == 4096 else f"/{self.body}.txt"

    def head_bytes(self):
        return len(HEAD.format(self.body, "Connection: close" if self.close else "Cache-Control: private"))


LOADS = {
    "1k": Load(),
    "1k-1000": Load(connections=1000),
    "64k": Load(body=65536),
    "pipelined": Load(pipelined=16),
    "connection": Load(body=4096, close=True, requests=6000),
    "file-1g": Load(connections=1, body=GIB),
    # Of http_blocking: a greeting, as in the document.
    "100": Load(body=12),
    "1000": Load(connections=1000, body=12),
}

NGINX = """daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  server_tokens off;
  default_type text/plain;
  types {{ }}
  sendfile on;
  tcp_nopush on;
  open_file_cache max=100;
  keepalive_timeout 75;
  keepalive_requests 1000000000;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    {job}
  }}
}}
"""


def body_of(size):
    """The bytes of every body: those of http_service::body()."""
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    return (alphabet * (size // 26 + 1))[:size]


def cpu_now_ns(pids):
    """The CPU time that processes have used, ended threads included. The clock's number: clock_getcpuclockid(3)."""
    return sum(time.clock_gettime_ns((~pid << 3) | 2) for pid in pids)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as unused:
        return unused.getsockname()[1]


def children_of(pid):
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text(encoding="ascii").split()]


def start(command, cpu, **options):
    def prepare():
        machine.take_precedence()
        os.sched_setaffinity(0, {cpu})

    return subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=prepare, **options)


def end(process):
    """Ends a process that we have started, and what it has started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def first_line(process, name):
    ready, _, _ = select.select([process.stdout], [], [], TIMEOUT_S)
    line = process.stdout.readline().decode() if ready else ""
    found = re.match(r"listening on port (\d+)", line)
    if not found:
        raise machine.RunError(f"{name} did not start: {line!r}")
    return int(found[1])


def wait_until_accepted(port, process, name):
    limit = time.monotonic() + TIMEOUT_S
    while time.monotonic() < limit and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.005)
    raise machine.RunError(f"{name} does not accept connections")


class Services:
    """Peers that are servers."""

    loads = LOADS
    scheme = "http"

    def __init__(self, bench, build, root, duration_ms=None):
        self.bench = bench
        alone = build / "programs"
        self.programs = alone if alone.is_dir() else build / "bench" / "programs"
        self.script = root / "bench" / "macro" / "http" / "report.lua"
        self.out = root / "out"
        self.duration_ms = duration_ms or bench.duration_ms
        self.cpu, self.other_cpu = machine.two_cpus()
        self.folder = None

    def __enter__(self):
        self.out.mkdir(exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="bench-http-", dir=self.out))
        self.folder.chmod(0o755)  # nginx drops its privileges
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def path(self, peer):
        return self.programs / f"{self.bench.name}_{PEERS[peer][0]}"

    def missing(self, slot):
        """Why the slot cannot run, or ""."""
        if slot.peer.startswith("nginx"):
            return "" if self.nginx() else "nginx is not installed"
        client = "ab" if self.loads[slot.case.name].close else "wrk"
        if not shutil.which(client):
            return f"{client} is not installed (Debian: {'apache2-utils' if client == 'ab' else client})"
        return "" if self.path(slot.peer).exists() else f"{self.path(slot.peer)} is not built"

    @staticmethod
    def nginx():
        return shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")

    def file(self, load):
        """A file with the body, in the page cache."""
        size, path = load.body, self.folder / load.path().lstrip("/")
        if not path.exists():
            block = body_of(26 << 15).encode()
            with open(path, "wb") as out:
                while out.tell() < size:
                    out.write(block[: size - out.tell()])
        return path

    def nginx_job(self, load, with_file):
        if with_file:
            return f"root {self.file(load).parent};"
        # A text in nginx's configuration may have 4,096 bytes, so a longer body is put together.
        part = body_of(load.body)
        pieces = [part[at : at + 1024] for at in range(0, len(part), 1024)]
        sets = "".join(f"set $p{i} '{piece}'; " for i, piece in enumerate(pieces))
        return f"location / {{ {sets} return 200 \"{''.join(f'${{p{i}}}' for i in range(len(pieces)))}\"; }}"

    def nginx_text(self, port, load, with_file):
        return NGINX.format(folder=self.folder, port=port, job=self.nginx_job(load, with_file))

    @contextmanager
    def server(self, slot, load):
        """Starts the server of a slot; gives its port and its processes."""
        if slot.peer.startswith("nginx"):
            port = free_port()
            text = self.nginx_text(port, load, slot.peer == "nginx-file")
            config = self.folder / "nginx.conf"
            config.write_text(text, encoding="ascii")
            command = [self.nginx(), "-p", str(self.folder), "-c", str(config), "-e", str(self.folder / "error.log")]
            process = start(command, self.cpu, stdout=subprocess.DEVNULL)
        else:
            # A new copy each time, for the reason that execute.py gives.
            program = shutil.copy(self.path(slot.peer), self.folder / "server")
            environment = os.environ | {"BECK_BACKEND": "epoll" if slot.peer.endswith("epoll") else "io_uring"}
            command = [program, *self.arguments(slot, load)]
            process = start(command, self.cpu, stdout=subprocess.PIPE, env=environment)
        try:
            if not slot.peer.startswith("nginx"):
                port = first_line(process, slot.peer)
            wait_until_accepted(port, process, slot.peer)
            yield port, process.pid
        finally:
            end(process)

    def arguments(self, slot, load):
        if self.bench.name == "http_blocking":
            return PEERS[slot.peer][1]
        arguments = ["--body", str(load.body)] + ["--close"] * load.close + PEERS[slot.peer][1]
        with_file = slot.case.name.startswith("file") or slot.peer.endswith("-file")
        return arguments + (["--file", str(self.file(load))] if with_file else [])

    def probe(self, slot, load, port):
        """One request before those that are measured."""
        if self.bench.name == "http" or slot.peer == "nginx":
            check(slot, load, port)

    def run(self, slot, warm_up):
        load = self.loads[slot.case.name]
        with self.server(slot, load) as (port, pid):
            self.probe(slot, load, port)
            pids = [pid, *children_of(pid)]  # nginx has forked its worker by now: it has replied
            began = cpu_now_ns(pids)
            seen = self.client(load, port, warm_up)
            used = cpu_now_ns(pids) - began
        if seen["errors"] != 0 or seen["requests"] <= 0:
            raise machine.RunError(f"{slot.case.name} {slot.peer}: the client counts {seen}")
        done = seen.pop("requests")
        if load.pipelined > 1:
            seen = {"duration_us": seen["duration_us"]}  # of requests sent together wrk knows no latency
        figures = {"cpu_ns_per_op": used / done, "wall_ns_per_op": seen.pop("duration_us") * 1000 / done}
        return figures | {name: value for name, value in seen.items() if name not in ("errors", "bytes")}

    def client(self, load, port, warm_up):
        if load.close:
            return self.ab(load, port, warm_up)
        if load.body == GIB:
            return self.curl(load, port)
        command = ["wrk", "-t1", f"-c{load.connections}", "-d60s", "-s", str(self.script)]
        command += [f"{self.scheme}://127.0.0.1:{port}{load.path()}", "--", str(load.pipelined)]
        process = start(command, self.other_cpu, stdout=subprocess.PIPE)
        try:
            time.sleep((min(self.duration_ms, WARM_UP_MS) if warm_up else self.duration_ms) / 1000)
            process.send_signal(signal.SIGINT)  # wrk ends and reports
            output, _ = process.communicate(timeout=TIMEOUT_S)
        finally:
            end(process)
        seen = json.loads(output.decode().strip().splitlines()[-1])
        if load.connections == 1 or seen["bytes"] >= seen["requests"] * load.body:
            return seen
        raise machine.RunError(f"{seen['bytes']} bytes are fewer than {seen['requests']} bodies of {load.body}")

    def ab(self, load, port, warm_up):
        requests = load.requests // 4 if warm_up else load.requests
        # The line of the document, but for the number of requests.
        command = ["ab", "-q", "-c", str(load.connections), "-n", str(requests)]
        command.append(f"http://127.0.0.1:{port}{load.path()}")
        process = start(command, self.other_cpu, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            output, _ = process.communicate(timeout=TIMEOUT_S)
        finally:
            end(process)
        text = output.decode()

        def figure(pattern, default=None):
            found = re.search(pattern, text)
            if not found and default is None:
                raise machine.RunError(f"ab said:\n{text}")
            return float(found[1]) if found else default

        failed = figure(r"Failed requests:\s+(\d+)") + figure(r"Non-2xx responses:\s+(\d+)", 0)
        length = figure(r"Document Length:\s+(\d+)")
        return {
            "requests": int(figure(r"Complete requests:\s+(\d+)")),
            "errors": failed + (length != load.body),
            "duration_us": figure(r"Time taken for tests:\s+([\d.]+)") * 1e6,
        }

    def curl(self, load, port):
        command = ["curl", "-s", "-o", "/dev/null", "-w", "%{size_download} %{http_code}"]
        command.append(f"http://127.0.0.1:{port}{load.path()}")
        began = time.monotonic()
        process = start(command, self.other_cpu, stdout=subprocess.PIPE)
        try:
            output, _ = process.communicate(timeout=TIMEOUT_S)
        finally:
            end(process)
        duration_us = (time.monotonic() - began) * 1e6
        good = output.decode() == f"{load.body} 200"
        return {"requests": 1, "errors": 0 if good else 1, "duration_us": duration_us}


def check(slot, load, port):
    """One request: the same bytes from every peer."""
    version = "1.0" if load.close else "1.1"
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as client:
        client.sendall(f"GET {load.path()} HTTP/{version}\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        stream = client.makefile("rb")
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = stream.readline()
            if not line:
                raise machine.RunError(f"{slot.case.name} {slot.peer}: no whole head: {head!r}")
            head += line
        read = min(load.body, 1 << 20)
        body = stream.read(read)
    # Its head has what belongs to a file, such as its tag, or what the middlewares add.
    has_more = slot.peer.endswith(("-file", "-middlewares"))
    if (len(head) != load.head_bytes() and not has_more) or not head.startswith(b"HTTP/1.1 200 OK\r\n"):
        raise machine.RunError(f"{slot.case.name} {slot.peer}: not the head of all peers: {head!r}")
    if body != body_of(read).encode():
        raise machine.RunError(f"{slot.case.name} {slot.peer}: not the body of all peers")

# SPDX-License-Identifier: BSL-1.0
"""The processes of peers.sh and hostile.sh: starting them on the loopback, their counters, their end."""
import os
import re
import select
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

LIMIT_S = 20
ALL_BACKENDS = ("epoll", "io_uring")


class Failed(Exception):
    """A peer did not see what it should; the text is the line that is printed."""


def require(condition, text):
    if not condition:
        raise Failed(text)


def backends():
    forced = os.environ.get("BECK_BACKEND", "automatic")
    return [forced] if forced in ALL_BACKENDS else list(ALL_BACKENDS)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as unused:
        return unused.getsockname()[1]


def end(process, by=signal.SIGTERM):
    """Ends a process that we have started, by its id."""
    if process.poll() is None:
        process.send_signal(by)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


def wait_until(condition, text, limit_s=LIMIT_S):
    limit = time.monotonic() + limit_s
    while not condition():
        require(time.monotonic() < limit, text)
        time.sleep(0.02)


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


class Server:
    """A process that listens."""

    def __init__(self, process, port):
        self.process, self.port = process, port
        self.url = f"http://127.0.0.1:{port}"

    def cpu_ns(self):
        """The CPU time that it has used. The clock's number: clock_getcpuclockid(3)."""
        return time.clock_gettime_ns((~self.process.pid << 3) | 2)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def memory_kib(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1])

    def stats(self):
        """The counters of beck's server, without the request that asks for them."""
        text = fetch(self.port, "/stats").decode()
        return {name: int(value) for name, value in (line.split() for line in text.splitlines())}


def fetch(port, target):
    """The body of a small response to GET."""
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as client:
        client.sendall(f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        received = b""
        while more := client.recv(1 << 16):
            received += more
    head, _, body = received.partition(b"\r\n\r\n")
    require(b" 200 " in head.split(b"\r\n")[0], f"{target}: {received[:200]!r}")
    return body


@contextmanager
def announced(command, **options):
    """Starts a program that says which port it listens on."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **options)
    try:
        ready, _, _ = select.select([process.stdout], [], [], LIMIT_S)
        line = process.stdout.readline().decode() if ready else ""
        found = re.match(r"listening on port (\d+)", line)
        require(found, f"{command[0]} did not start: {line!r}")
        yield Server(process, int(found[1]))
    finally:
        end(process)
        process.stdout.close()


def beck_server(program, backend, *arguments, **options):
    environment = os.environ | {"BECK_BACKEND": backend}
    return announced([str(program), *map(str, arguments)], env=environment, **options)

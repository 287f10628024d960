# SPDX-License-Identifier: BSL-1.0
"""What the tests of beck-redis-proxy share: a redis-server, a proxy in front of it, and commands byte by byte."""
import os
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import unittest
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from server import LIMIT_S, Program, until

program = Path("beck-redis-proxy")


def command(*arguments):
    """Formats a command."""
    parts = [one if isinstance(one, bytes) else str(one).encode() for one in arguments]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(one), one) for one in parts)


def connect(address):
    """Connects to a port of this machine, or to the path of a UNIX socket."""
    if isinstance(address, int):
        return socket.create_connection(("127.0.0.1", address), timeout=LIMIT_S)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(LIMIT_S)
    connection.connect(str(address))
    return connection


def reset(connection):
    """Closes a TCP connection with a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@contextmanager
def threads(work, count):
    """Runs work(0) to work(count - 1), each in a thread; waits for their end behind the block."""
    running = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for one in running:
        one.start()
    yield
    for one in running:
        one.join()


def fill_backlog(port):
    """Connects to a port of this machine until the kernel drops what comes. Returns the connections."""
    fills = []
    try:
        while len(fills) < 16:
            fills.append(socket.create_connection(("127.0.0.1", port), timeout=0.2))
    except TimeoutError:
        pass
    return fills


def rest_of(connection):
    """Reads to the end of a connection; a reset is an end, too."""
    received = b""
    try:
        while part := connection.recv(65536):
            received += part
    except ConnectionResetError:
        pass
    return received


def words_of(connection):
    """Reads to the end of a connection, which must be no reset: its peer reads all that is sent."""
    words = b"".join(iter(lambda: connection.recv(65536), b""))
    error = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)  # a reset behind the end
    assert error == 0, os.strerror(error)
    return words


def fill(connection, part=bytes(1 << 20)):
    """Sends a part again and again until the proxy takes no more. Returns the number of bytes."""
    connection.settimeout(0.05)
    sent = 0
    try:
        while sent < 64 << 20:
            sent += connection.send(part[sent % len(part):])
    except (TimeoutError, ConnectionError):  # also --idle of a test may have ended it
        pass
    connection.settimeout(LIMIT_S)
    assert sent < 64 << 20, "the proxy takes everything"
    return sent


def talk(address, data=b""):
    """Connects, sends bytes, and returns all that comes as text."""
    with connect(address) as connection:
        connection.sendall(data)
        return rest_of(connection).decode()


class Client:
    """A connection that reads replies of RESP2, and may be closed twice."""

    def __init__(self, address):
        self.socket = connect(address)
        self.stream = self.socket.makefile("rb", buffering=1 << 16)

    def ask(self, *arguments):
        self.send(command(*arguments))
        return self.read()

    def send(self, data):
        self.socket.sendall(data)

    def read(self):
        line = self.stream.readline()
        if not line.endswith(b"\r\n"):
            raise EOFError("the connection has ended")
        kind, rest = line[:1], line[1:-2]
        if kind in b"+-:":
            return int(rest) if kind == b":" else line[:-2].decode()
        size = int(rest)
        if size < 0:
            return None
        if kind == b"*":
            return [self.read() for _ in range(size)]
        data = self.stream.read(size + 2)
        if len(data) != size + 2:
            raise EOFError("the connection has ended")
        return data[:-2]

    def close(self):
        self.stream.close()
        self.socket.close()


class Redis:
    """A redis-server on a port and on a UNIX socket of its own."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="beck-redis-"))
        self.path = self.folder / "server"
        until(self.begin)

    def begin(self):
        """Starts the server on a free port. Returns false if another program has taken that meanwhile."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        options = ["--port", self.port, "--unixsocket", self.path, "--save", "", "--dir", self.folder]
        with (self.folder / "log").open("w") as log:
            self.process = subprocess.Popen(["redis-server", *map(str, options)], stdout=log, stderr=log)
        until(lambda: "eady to accept" in (self.folder / "log").read_text() or self.process.poll() is not None)
        return self.process.poll() is None

    def urls(self):
        return f"redis://127.0.0.1:{self.port}", f"unix://{self.path}"

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)


class Proxy(Program):
    """A running proxy; `addresses` are the places where it listens, the port first."""

    def __init__(self, *arguments, **how):
        line = r"(?:tcp://127\.0\.0\.1:(\d+))? ?(?:unix://(\S+))? ?(http://\S+)?"
        super().__init__([program, *arguments], line, **how)
        self.port = int(self.found[1]) if self.found[1] else None
        self.path = self.found[2]
        self.addresses = [one for one in (self.port, self.path) if one]

    def metrics(self):
        """Returns the counters by name."""
        with urllib.request.urlopen(self.found[3], timeout=LIMIT_S) as reply:
            text = reply.read().decode()
        return {name: int(value) for name, value in re.findall(r"(?m)^beck_redis_proxy_(\w+) (\d+)$", text)}

    def memory(self):
        """Returns the most resident memory so far, in KiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1])


class ProxyCase(unittest.TestCase):
    """A test with a redis-server that all tests of its class share."""

    @classmethod
    def setUpClass(cls):
        cls.redis = Redis()
        cls.addClassCleanup(cls.redis.close)

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="beck-proxy-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, *arguments, **how):
        proxy = Proxy(*arguments, **how)
        self.addCleanup(proxy.close)
        return proxy

    def proxy(self, *arguments, url=None, **how):
        """Starts a proxy on a free port, with counters."""
        return self.start("--port", 0, "--metrics", 0, *arguments, url or self.redis.urls()[0], **how)

    def client(self, address):
        one = Client(address)
        self.addCleanup(one.close)
        return one

    def answered(self, proxy):
        """Returns a client that had a reply; others were ended before, as --idle is short."""
        clients = []

        def ask():
            clients.append(self.client(proxy.port))
            try:
                return clients[-1].ask("PING") == "+PONG"
            except (EOFError, ConnectionError):
                return False

        until(ask)
        return clients[-1]

    def listener(self, path=None):
        """Listens as a server that the test plays, on TCP or this path. Returns the socket and its URL."""
        if path:
            listening = socket.socket(socket.AF_UNIX)
            listening.bind(str(path))
            listening.listen()
        else:
            listening = socket.create_server(("127.0.0.1", 0))
        listening.settimeout(LIMIT_S)
        self.addCleanup(listening.close)
        return listening, f"unix://{path}" if path else f"redis://127.0.0.1:{listening.getsockname()[1]}"

    def accept(self, listening):
        connection = listening.accept()[0]
        connection.settimeout(LIMIT_S)
        self.addCleanup(connection.close)
        return connection

# SPDX-License-Identifier: BSL-1.0
"""What the tests of beck-serve share: a running server on a folder of its own, and requests byte by byte."""
import contextlib
import ctypes
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

LIMIT_S = 30
program = Path("beck-serve")


class Response:
    """A response: status, fields by their names in lower case, body."""

    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body

    def __getitem__(self, name):
        return self.fields.get(name.lower())


def read_head(stream):
    """Reads the head of a response; gives None at the end of the connection."""
    line = stream.readline()
    if not line:
        return None
    status = int(re.fullmatch(rb"HTTP/1\.1 (\d{3}) [^\r\n]*\r\n", line)[1])
    fields = {}
    while (line := stream.readline()) != b"\r\n":
        name, value = re.fullmatch(rb"([!-9;-~]+): (.*)\r\n", line).groups()
        assert name.lower() not in fields, f"{name} twice"
        fields[name.decode().lower()] = value.decode("latin-1")
    return Response(status, fields, b"")


def read_body(stream, response, is_head=False):
    """Reads the body, which has to be whole."""
    if is_head or response.status in (204, 304):
        return response
    if response["Transfer-Encoding"] == "chunked":
        while size := int(stream.readline(), 16):
            response.body += stream.read(size)
            assert stream.readline() == b"\r\n"
        assert stream.readline() == b"\r\n"
    else:
        length = int(response["Content-Length"])
        response.body = stream.read(length)
        assert len(response.body) == length, f"{len(response.body)} bytes of {length}"
    return response


class Program:
    """A running server that has printed its line; stop() ends it and returns its exit status."""

    def __init__(self, command, line, **how):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [*map(str, command)],
            stdout=subprocess.PIPE,
            stderr=self.errors,
            stdin=subprocess.DEVNULL,
            text=True,
            **how,
        )
        self.line = self.process.stdout.readline()
        self.found = re.fullmatch(f"listening: {line}\n", self.line)
        if not self.found:
            self.process.kill()
            raise AssertionError(f"not the line of a server: {self.line!r}, {self.error_text()!r}")

    def send_signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        try:
            return self.process.wait(LIMIT_S)
        finally:
            self.process.stdout.close() if self.process.returncode is not None else None

    def rest_of_output(self):
        return self.process.stdout.read()

    def error_text(self):
        self.errors.seek(0)
        return self.errors.read()

    def stop(self, number=signal.SIGTERM):
        self.send_signal(number)
        return self.wait()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()


class Server(Program):
    """A running beck-serve."""

    def __init__(self, folder, *arguments, wrapper=(), line=r"http://(127\.0\.0\.1):(\d+)/", **how):
        super().__init__([*wrapper, program, folder, "--port", "0", *arguments], line, **how)
        found = self.found
        self.address = (found[1], int(found[2])) if len(found.groups()) == 2 else found[1]

    def connect(self):
        if isinstance(self.address, tuple):
            return socket.create_connection(self.address, timeout=LIMIT_S)
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(LIMIT_S)
        connection.connect(self.address)
        return connection

    def talk(self, data):
        """Sends bytes, and gives all that comes until the server closes."""
        with self.connect() as connection:
            connection.sendall(data)
            received = b""
            while part := connection.recv(65536):
                received += part
            return received

    def ask(self, path, method="GET", body=None, **fields):
        """Makes one request on a connection of its own."""
        lines = [f"{method} {path} HTTP/1.1", "Host: a", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
        with self.connect() as connection:
            connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + (body or b""))
            with connection.makefile("rb") as stream:
                return read_body(stream, read_head(stream), method == "HEAD")


def run(*arguments, **how):
    """Runs the program to its end, for cases in which it does not serve."""
    return subprocess.run(
        [str(program), *map(str, arguments)], capture_output=True, text=True, timeout=LIMIT_S, **how
    )


@contextlib.contextmanager
def without_streams(redirections, command, path):
    """A server at a UNIX socket whose standard streams are as the shell's `redirections` say."""
    words = ["bash", "-c", f'exec "$@" {redirections}', "bash", *map(str, command)]
    with subprocess.Popen(words) as started:
        try:
            until(lambda: started.poll() is not None or can_connect(path))
            yield started
            started.send_signal(signal.SIGTERM)
        finally:
            try:
                started.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                started.kill()


def refusing(call, error):
    """A preexec_fn after which the call of this number fails, as seccomp(2) and old kernels make it."""
    load, equal, answer = 0x20, 0x15, 0x06  # BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ, BPF_RET
    code = ((load, 0, 0, 0), (equal, 0, 1, call), (answer, 0, 0, 0x00050000 | error), (answer, 0, 0, 0x7FFF0000))
    filters = b"".join(struct.pack("HBBI", *one) for one in code)

    def install():
        c = ctypes.CDLL(None, use_errno=True)
        memory = ctypes.create_string_buffer(filters)
        program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(memory)))
        if c.prctl(38, 1, 0, 0, 0) != 0 or c.prctl(22, 2, program) != 0:  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
            raise OSError(ctypes.get_errno(), "seccomp")

    return install


def can_connect(path):
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
        return True
    except OSError:
        return False


def until(condition):
    """Waits until a condition holds that another process brings about."""
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, "it has not come about"
        time.sleep(0.01)


def pass_time(seconds):
    """Waits for a limit of time that the tested program has."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)


class ServeCase(unittest.TestCase):
    """A test with a folder of its own: `site` is served, `folder` is around it."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="beck-serve-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.site = self.folder / "site"
        self.site.mkdir()

    def write(self, name, data, age=3600):
        path = self.site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        changed = int(time.time()) - age + 0.5
        os.utime(path, (changed, changed))
        return path

    def serve(self, *arguments, **how):
        server = Server(self.site, *arguments, **how)
        self.addCleanup(server.close)
        return server

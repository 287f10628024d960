# SPDX-License-Identifier: BSL-1.0
"""Performs a scene: starts programs in a folder of their own, talks to them, and writes down all that they said.

usage: scene.py < JSON, with `steps` (one a line), `programs` (actor -> path), `files` (copied), `limit_s`,
`port` (or null), `private`

A step is a verb with its arguments, in the quotes of a shell; \\r, \\n and \\0 are escapes; {port} is a free port:

start ACTOR [ARGUMENT...]    ready PORT|PATH             connect NAME tcp|udp PORT, connect NAME unix PATH
type ACTOR TEXT              feed ACTOR PATH             listen NAME tcp|udp PORT, accept NAME LISTENER
await ACTOR TEXT             finish ACTOR                send NAME TEXT, receive NAME BYTES|line|all
end ACTOR [SIGNAL]           write PATH TEXT, show PATH  drop NAME (it sends no more), close NAME
host NAME ADDRESS (in a private scene)

`feed` types a file. `finish` closes the actor's input and waits for its end, `end` sends it SIGTERM and waits.

Prints JSON: `said`, a list of [name, text], and `error`, a sentence or null. Nothing that a scene started outlives it:
in a private scene the kernel ends all processes of its PID namespace, and the network is one of its own, so that
programs with fixed ports do not meet.
"""
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

UNBUFFERED = ("stdbuf", "-o0")  # what a program printed before it was killed is seen, too
POLL_S = 0.02
BYTES_MAX = 1 << 20


class Failed(Exception):
    """A step did not do what it should."""


class Scene:
    def __init__(self, job, folder):
        self.programs = job["programs"]
        self.folder = Path(folder)
        self.deadline = time.monotonic() + job["limit_s"]
        self.processes, self.sockets, self.said = {}, {}, []
        self.port = job["port"] or free_port()
        self.private = job["private"]

    def play(self, steps):
        """Performs the steps. Returns None, or which one failed."""
        for line in filter(None, (line.strip() for line in steps.splitlines())):
            verb, *arguments = (unescape(word) for word in shlex.split(line.replace("{port}", str(self.port))))
            try:
                getattr(self, f"do_{verb}")(*arguments)
            except (Failed, OSError, subprocess.SubprocessError) as error:
                return f"{line}: {error}"
        return None

    def close(self):
        for name, process in self.processes.items():
            if process.returncode is None:
                process.kill()
                process.wait()
                process.stdin.close()
                self._record(name, f"killed, after {self._output(name)!r}")
        for one in self.sockets.values():
            one.close()

    def do_start(self, actor, *arguments):
        with open(self._path(actor, "out"), "wb") as out, open(self._path(actor, "err"), "wb") as err:
            self.processes[actor] = subprocess.Popen([*UNBUFFERED, self.programs[actor], *arguments],
                                                     stdin=subprocess.PIPE, stdout=out, stderr=err, cwd=self.folder)

    def do_type(self, actor, text):
        self.processes[actor].stdin.write(text.encode())
        self.processes[actor].stdin.flush()

    def do_feed(self, actor, path):
        self.processes[actor].stdin.write((self.folder / path).read_bytes())
        self.processes[actor].stdin.flush()

    def do_await(self, actor, text):
        self._until(lambda: text in self._output(actor), "its output has not said so")

    def do_finish(self, actor):
        process = self.processes[actor]
        process.stdin.close()
        self._ended(actor, process)

    def do_end(self, actor, name="TERM"):
        process = self.processes[actor]
        process.send_signal(getattr(signal, f"SIG{name}"))
        self._ended(actor, process)
        process.stdin.close()

    def do_pause(self, seconds):
        time.sleep(float(seconds))

    def do_host(self, name, address):
        if not self.private:
            raise Failed("the machine does not let us make a private scene")
        hosts = self.folder / ".hosts"
        hosts.write_text(f"{address} {name}\n{Path('/etc/hosts').read_text()}")
        subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)

    def do_ready(self, where):
        self._until(lambda: is_bound(where), "nothing listens there")

    def do_connect(self, name, kind, where):
        families = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM, "unix": socket.SOCK_STREAM}
        one = socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET, families[kind])
        self.sockets[name] = one
        one.settimeout(self._left())
        one.connect(str(self.folder / where) if kind == "unix" else ("127.0.0.1", int(where)))

    def do_listen(self, name, kind, port):
        one = socket.socket(socket.AF_INET, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM)
        self.sockets[name] = one
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(("127.0.0.1", int(port)))
        if kind == "tcp":
            one.listen()

    def do_accept(self, name, listener):
        self.sockets[listener].settimeout(self._left())
        self.sockets[name] = self.sockets[listener].accept()[0]

    def do_send(self, name, text):
        self.sockets[name].settimeout(self._left())
        self.sockets[name].sendall(text.encode())

    def do_receive(self, name, amount):
        one, data = self.sockets[name], b""
        try:
            while not is_enough(data, amount):
                one.settimeout(self._left())
                if one.type == socket.SOCK_DGRAM:
                    data, peer = one.recvfrom(BYTES_MAX)
                    one.connect(peer)  # a reply goes to the sender
                    break
                piece = one.recv(1 if amount == "line" else BYTES_MAX if amount == "all" else int(amount) - len(data))
                if not piece:
                    data += b"<end>"
                    break
                data += piece
        except (TimeoutError, ConnectionError) as error:
            raise Failed(f"{error}, after {data!r}") from error
        self._record(name, data.decode(errors="replace"))

    def do_drop(self, name):
        self.sockets[name].shutdown(socket.SHUT_WR)

    def do_close(self, name):
        self.sockets[name].close()

    def do_write(self, path, text):
        (self.folder / path).write_text(text)

    def do_show(self, path):
        target = self.folder / path
        self._record(path, target.read_text(errors="replace") if target.exists() else "<no such file>")

    def _ended(self, actor, process):
        try:
            status = process.wait(self._left())
        except subprocess.TimeoutExpired as error:
            raise Failed(f"it has not ended; it said {self._output(actor)!r}") from error
        self._record(actor, self._output(actor))
        self._record(f"{actor}'s standard error", self._path(actor, "err").read_text(errors="replace"))
        self._record(f"{actor}'s status", str(status))

    def _record(self, name, text):
        self.said.append([name, text])

    def _output(self, actor):
        return self._path(actor, "out").read_text(errors="replace")

    def _path(self, actor, kind):
        return self.folder / f".{actor}.{kind}"

    def _left(self):
        return max(0.05, self.deadline - time.monotonic())

    def _until(self, condition, otherwise):
        while not condition():
            if time.monotonic() > self.deadline:
                raise Failed(otherwise)
            time.sleep(POLL_S)


def unescape(text):
    for escape, character in (("\\r", "\r"), ("\\n", "\n"), ("\\0", "\0")):
        text = text.replace(escape, character)
    return text


def is_enough(data, amount):
    if amount == "line":
        return data.endswith(b"\n")
    return amount != "all" and len(data) >= int(amount)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def is_bound(where):
    """Tells from the kernel's tables whether somebody listens to a port or a path; connects to nobody."""
    if not where.isdigit():
        rows = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
        return any(row[-1].endswith(where) and row[3] == "00010000" for row in rows)
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        path = Path("/proc/net") / kind
        rows = [line.split() for line in path.read_text().splitlines()[1:]] if path.exists() else []
        bound = [row for row in rows if int(row[1].rsplit(":", 1)[1], 16) == int(where)]
        if any(row[3] == "0A" or kind.startswith("udp") for row in bound):
            return True
    return False


def perform(job):
    if job["private"]:
        for command in ("link set lo up multicast on", "route add 224.0.0.0/4 dev lo"):
            subprocess.run(["ip", *command.split()], check=False, stderr=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder:
        for path in job["files"]:
            shutil.copy(path, folder)
        scene = Scene(job, folder)
        try:
            error = scene.play(job["steps"])
        finally:
            scene.close()
        masks = {folder: "<folder>"} if job["port"] else {folder: "<folder>", str(scene.port): "<port>"}
        for mask, name in masks.items():
            scene.said = [[who, text.replace(mask, name)] for who, text in scene.said]
        return {"said": scene.said, "error": error}


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    os.umask(0o022)
    json.dump(perform(json.load(sys.stdin)), sys.stdout)

# SPDX-License-Identifier: BSL-1.0
"""Groups of real redis-servers on this machine: one that sentinels look after, and a cluster."""
import atexit
import contextlib
import functools
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from redis_proxy import Client
from server import LIMIT_S, until


def free_ports(count):
    """Returns ports that are free now, each once."""
    with contextlib.ExitStack() as held:
        taken = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in taken]


def ask(port, *arguments):
    """Sends one command over a connection of its own. Returns the reply; None if there is no server."""
    try:
        client = Client(port)
    except ConnectionRefusedError:
        return None
    try:
        return client.ask(*arguments)
    except (EOFError, ConnectionResetError):
        return None
    finally:
        client.close()


class Group:
    """Processes of redis-server, each with a file of settings in one folder."""

    def __init__(self, count):
        self.folder = Path(tempfile.mkdtemp(prefix="beck-redis-group-"))
        self.ports = free_ports(count)
        self.processes = [None] * count

    def start(self, number, *arguments):
        command = ["redis-server", str(self.folder / f"c{number}"), *arguments]
        with (self.folder / f"log{number}").open("a") as log:
            self.processes[number] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def write(self, number, *lines):
        head = (f"port {self.ports[number]}", "bind 127.0.0.1", f"dir {self.folder}")
        (self.folder / f"c{number}").write_text("\n".join((*head, *lines)) + "\n")

    def kill(self, number):
        self.processes[number].kill()
        self.processes[number].wait()

    def close(self):
        for number, one in enumerate(self.processes):
            if one:
                self.kill(number)
        shutil.rmtree(self.folder)


class Sentinels(Group):
    """Three servers, of which the first is the primary at first, and three sentinels."""

    NAME = "main"

    def __init__(self):
        super().__init__(6)
        self.sentinels = self.ports[3:]
        for number in range(3):
            copies = [f"replicaof 127.0.0.1 {self.ports[0]}"] if number else []
            self.write(number, 'save ""', "repl-diskless-sync-delay 0", f"dbfilename d{number}", *copies)
            self.start(number)
        # A sentinel asks for replicas when it starts, and 10 s later.
        until(lambda: b"connected_slaves:2" in (ask(self.ports[0], "INFO", "replication") or b""))
        for number in range(3, 6):
            self.write(
                number,
                f"sentinel monitor {self.NAME} 127.0.0.1 {self.ports[0]} 2",
                f"sentinel down-after-milliseconds {self.NAME} 500",
                f"sentinel failover-timeout {self.NAME} 1000",
            )
            self.start(number, "--sentinel")
        until(lambda: all(self.knows_all(port) for port in self.sentinels))

    def knows_all(self, sentinel):
        return b"slaves=2,sentinels=3" in (ask(sentinel, "INFO", "sentinel") or b"")

    def primary(self):
        """Returns the port that all sentinels name; None while they do not agree."""
        named = {str(ask(port, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.NAME)) for port in self.sentinels}
        found = [port for port in self.ports[:3] if f"b'{port}'" in str(named)]
        return found[0] if len(named) == 1 and len(found) == 1 else None

    def url(self, query=""):
        places = ",".join(f"127.0.0.1:{port}" for port in self.sentinels)
        return f"redis+sentinel://{places}/{self.NAME}{query}"


class Cluster(Group):
    """Three primaries without replicas."""

    def __init__(self):
        super().__init__(6)
        self.nodes = self.ports[:3]
        for number in range(3):
            self.write(
                number,
                *('save ""', "cluster-enabled yes", "cluster-node-timeout 2000"),
                *(f"cluster-port {self.ports[3 + number]}", f"cluster-config-file nodes{number}"),
            )
            self.start(number)
        until(lambda: all(ask(port, "PING") == "+PONG" for port in self.nodes))
        places = [f"127.0.0.1:{self.ports[i]}@{self.ports[3 + i]}" for i in range(3)]
        create = ["redis-cli", "--cluster", "create", *places, "--cluster-yes"]
        done = subprocess.run(create, capture_output=True, text=True, timeout=LIMIT_S)
        assert done.returncode == 0, done.stdout + done.stderr
        until(lambda: all(b"cluster_state:ok" in ask(port, "CLUSTER", "INFO") for port in self.nodes))

    def owner(self, key):
        """Returns the port of the node that has the slot of a key."""
        slot = ask(self.nodes[0], "CLUSTER", "KEYSLOT", key)
        for first, last, (_, port, *_), *_ in ask(self.nodes[0], "CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return port
        raise AssertionError(f"no node has the slot {slot}")

    def keys(self):
        """Returns a key of each node, in the order of `nodes`."""
        found = {}
        for number in range(1000):
            found.setdefault(self.owner(f"k{number}"), f"k{number}")
            if len(found) == 3:
                return [found[port] for port in self.nodes]
        raise AssertionError("a node without keys")

    def url(self, login=""):
        return f"redis+cluster://{login}127.0.0.1:{self.nodes[0]},127.0.0.1:{self.nodes[1]}"


@functools.cache
def shared(kind):
    """Returns a group that all cases use which leave it whole: to start one takes seconds."""
    group = kind()
    atexit.register(group.close)
    return group

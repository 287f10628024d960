# SPDX-License-Identifier: BSL-1.0
"""The benchmark of TLS: the servers of serving.py behind a certificate of P-256. Loads are wrk over kept connections,
handshakes one after another, full and resumed, and connections that wait."""
import os
import re
import socket
import ssl
import subprocess
import time
from pathlib import Path

from . import machine
from .serving import LOADS, TIMEOUT_S, Load, Services, children_of, cpu_now_ns, end, start

IDLE = 500
WARM_CONNECTIONS = 20
RESUMED_SHARE = 0.95  # of the connections that shall resume a session, at least
TLS_LOADS = {"1k": LOADS["1k"], "64k": LOADS["64k"]} | {name: Load() for name in ("full", "resumed", "idle")}
NGINX_TLS = """ssl_certificate {folder}/chain.pem;
    ssl_certificate_key {folder}/key.pem;
    ssl_protocols TLSv1.2 TLSv1.3;
    """


def resident_bytes(pids):
    def of(pid):
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+) kB", text)[1]) * 1024

    return sum(map(of, pids))


class SecureServices(Services):
    """Peers that are servers of TLS."""

    loads = TLS_LOADS
    scheme = "https"

    def __enter__(self):
        super().__enter__()
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        command += ["-days", "2", "-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1"]
        command += ["-keyout", str(self.folder / "key.pem"), "-out", str(self.folder / "chain.pem")]
        subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT_S)
        return self

    def nginx_job(self, load, with_file):
        return NGINX_TLS.format(folder=self.folder) + super().nginx_job(load, with_file)

    def nginx_text(self, port, load, with_file):
        return super().nginx_text(port, load, with_file).replace("backlog=", "ssl backlog=")

    def arguments(self, slot, load):
        return [*super().arguments(slot, load), "--form", str(self.folder)]

    def run(self, slot, warm_up):
        if slot.case.name in ("1k", "64k"):
            return super().run(slot, warm_up)
        with self.server(slot, self.loads[slot.case.name]) as (port, pid):
            self.probe(slot, self.loads[slot.case.name], port)
            pids = [pid, *children_of(pid)]
            if slot.case.name == "idle":
                return self.idle(port, pids)
            return self.handshakes(port, pids, slot.case.name == "resumed", warm_up)

    def probe(self, slot, load, port):
        self.connect(port, load).close()

    def connect(self, port, load):
        """A connection that has had one reply, and waits now."""
        trust = ssl.create_default_context(cafile=self.folder / "chain.pem")
        made = trust.wrap_socket(
            socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S), server_hostname="127.0.0.1"
        )
        made.sendall(f"GET {load.path()} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        seen = b""
        while b"\r\n\r\n" not in seen or len(seen.partition(b"\r\n\r\n")[2]) < load.body:
            part = made.recv(65536)
            if not part:
                raise machine.RunError(f"no whole reply over TLS: {seen!r}")
            seen += part
        return made

    def idle(self, port, pids):
        first = [self.connect(port, Load()) for _ in range(WARM_CONNECTIONS)]
        before, cpu, began = resident_bytes(pids), cpu_now_ns(pids), time.monotonic_ns()
        waiting = [self.connect(port, Load()) for _ in range(IDLE)]
        time.sleep(0.1)
        grown, used = resident_bytes(pids) - before, cpu_now_ns(pids) - cpu
        took = time.monotonic_ns() - began
        for one in first + waiting:
            one.close()
        return {"cpu_ns_per_op": used / IDLE, "wall_ns_per_op": took / IDLE, "bytes_per_connection": grown / IDLE}

    def handshakes(self, port, pids, resumed, warm_up):
        """Connections one after another, with a reply each, by openssl s_time for a whole number of seconds."""
        command = ["openssl", "s_time", "-connect", f"127.0.0.1:{port}", "-www", "/1024.txt", "-time", "1"]
        command += ["-CAfile", str(self.folder / "chain.pem"), "-reuse" if resumed else "-new"]
        used, began = cpu_now_ns(pids), time.monotonic_ns()
        process = start(command, self.other_cpu, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            output, _ = process.communicate(timeout=TIMEOUT_S)
        finally:
            end(process)
        took = time.monotonic_ns() - began
        used = cpu_now_ns(pids) - used
        text = output.decode(errors="replace")
        found = re.search(r"(\d+) connections in \d+ real seconds", text)
        kinds = "".join(re.findall(r"^[rt*3]+", text.replace("Collecting connection statistics", ""), re.MULTILINE))
        if not found or not kinds or kinds.count("r") < (RESUMED_SHARE * len(kinds) if resumed else 0):
            raise machine.RunError(f"openssl s_time said: {text[-300:]}")
        done = int(found[1])
        return {"cpu_ns_per_op": used / done, "wall_ns_per_op": took / done}

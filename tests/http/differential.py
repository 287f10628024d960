#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Sends some hundred requests that servers may read differently (mutations.py) to beck, to Go, and to nginx and
haproxy in front of each. Three things must hold:
- what beck accepts, at least one of the others accepts and reads in the same way: method, target, length and checksum
  of the body of each request;
- as many requests arrive at beck behind a proxy as the proxy has passed on, or else one was smuggled;
- nobody gets the reply to a request of another connection.

usage: differential.py PEER_SERVER [CASE]        CASE: a part of the name; then it shows what each server says
"""
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from mutations import all_cases
from peer import LIMIT_S, Failed, announced, beck_server, require, wait_until
from proxies import haproxy, nginx

HERE = Path(__file__).resolve().parent
DESCRIBED = re.compile(rb"^(\S+) (\S+) (\d+) (\d+)$", re.MULTILINE)
STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")
CASE_OF = re.compile(r"/c(\d+)/")
ARGUED = {  # what beck accepts as none of the others does, and why
    "request line b'GET /@/%zz HTTP/1.1'": "the server does not decode targets; decode_path() refuses this one",
    "OPTIONS *": "RFC 9110, 9.3.7; nginx refuses it, and Go answers without its handler",
    "http11probe.tsv 27 COMP-OPTIONS-STAR": "the same",
}
QUIET_S, QUIET_LONG_S = 0.2, 2.0
AT_ONCE = 24


def ask(port, data, quiet_s):
    """All that comes back until the server closes, or says nothing for a while."""
    received = b""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as client:
            client.settimeout(quiet_s)
            client.sendall(data)
            while more := client.recv(1 << 16):
                received += more
    except OSError:
        pass  # a reset, or silence
    return received


def accepted(reply):
    """The requests that a handler has described."""
    return DESCRIBED.findall(reply)


def same_reading(ours, theirs):
    """Whether another server reads as beck the requests that beck has accepted. A proxy may write a target anew."""

    def parts(one):
        return one[0], re.sub(rb"^http://[^/]*", b"", one[1]), one[2], one[3]

    return [parts(one) for one in theirs[: len(ours)]] == [parts(one) for one in ours]


class Place:
    """A server, or one behind a proxy, and what it has said."""

    def __init__(self, name, port):
        self.name, self.port = name, port
        self.replies = []

    def send_all(self, cases):
        with ThreadPoolExecutor(AT_ONCE) as pool:
            self.replies = list(pool.map(lambda case: ask(self.port, case[1], QUIET_S), cases))


class Run:
    """The servers, and the faults that were found."""

    def __init__(self, stack, program, only):
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.folder.chmod(0o755)  # nginx drops its privileges
        self.stack, self.program = stack, program
        self.cases = [
            (name, data.replace(b"/@/", b"/c%d/" % i)) for i, (name, data) in enumerate(all_cases()) if only in name
        ]
        require(self.cases, f"no case has {only} in its name")
        self.faults = []

    def beck(self, name):
        log = self.folder / f"{name}.log"
        log.touch()
        return self.stack.enter_context(beck_server(self.program, "epoll", "--log", log)), log

    def go(self):
        found = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
        if not found:
            print("left out: go: it is not installed (https://go.dev/dl, to /usr/local/go)")
            return None
        built = self.folder / "go-server"
        done = subprocess.run([found, "build", "-o", built, HERE / "differential_server.go"], capture_output=True,
                              text=True, timeout=180)
        require(done.returncode == 0, f"go build: {done.stderr}")
        return self.stack.enter_context(announced([str(built)], stderr=subprocess.DEVNULL))

    def proxy(self, start, name, upstream):
        folder = self.folder / name
        folder.mkdir()
        folder.chmod(0o755)
        return self.stack.enter_context(start(folder, upstream.port))

    def fault(self, number, text):
        self.faults.append(f"{self.cases[number][0]}: {text}")

    def beck_alone(self, beck, others):
        """Cases that beck accepts as none of the others does. Those that look so are tried again, more patiently."""
        for number, (name, data) in enumerate(self.cases):
            ours = accepted(beck.replies[number])
            if name in ARGUED or any(same_reading(ours, accepted(one.replies[number])) for one in others):
                continue
            ours = accepted(ask(beck.port, data, QUIET_LONG_S))
            theirs = {one.name: accepted(ask(one.port, data, QUIET_LONG_S)) for one in others}
            if not any(same_reading(ours, one) for one in theirs.values()):
                self.fault(number, f"beck alone reads {ours}; the others {theirs}")

    def strangers(self, place):
        """Replies to requests that were not sent on this connection."""
        for number, (_, data) in enumerate(self.cases):
            for _, target, _, _ in accepted(place.replies[number]):
                if target.rpartition(b"?")[0] not in data and target not in data:
                    self.fault(number, f"{place.name}: a reply to {target!r}, which was not asked for")

    def arrivals(self, name, proxy, server, log):
        """As many requests must arrive as were passed on."""

        def seen():
            return len(log.read_text(encoding="latin-1").splitlines()), len(proxy.passed_on())

        before = seen()
        limit = time.monotonic() + LIMIT_S
        while (now := seen()) != before or now[0] != now[1]:
            if now == before and time.monotonic() > limit:
                break
            before = now
            time.sleep(0.3)
        arrived, passed_on = now
        given_up = proxy.given_up()
        print(f"{name:16} passed on {passed_on} requests and gave {given_up} of them up in the middle; {arrived} have "
              f"arrived, of which beck has refused {server.stats()['refused']}")
        if not passed_on - given_up <= arrived <= passed_on:
            counts = [Counter(CASE_OF.findall(line)[0] for line in lines if CASE_OF.search(line))
                      for lines in (log.read_text(encoding="latin-1").splitlines(), proxy.passed_on())]
            differing = [f"{self.cases[int(case)][0]}: {counts[0][case]} arrived, {counts[1][case]} passed on"
                         for case in sorted(counts[0] | counts[1], key=int) if counts[0][case] != counts[1][case]]
            self.faults.append(f"{name}: {arrived} requests arrived, {passed_on} were passed on: {differing[:5]}")

    def all(self):
        direct, _ = self.beck("beck")
        beck = Place("beck", direct.port)
        reference = self.go()
        fronts = []  # name, proxy, beck behind it, its log
        others = [Place("go", reference.port)] if reference else []
        for name, start in (("nginx", nginx), ("haproxy", haproxy)):
            server, log = self.beck(f"beck-behind-{name}")
            proxy = self.proxy(start, f"{name}-beck", server)
            fronts.append((Place(f"{name}, beck", proxy.port), proxy, server, log))
            if reference:
                others.append(Place(f"{name}, go", self.proxy(start, f"{name}-go", reference).port))
        if not reference:
            others = [place for place, _, _, _ in fronts]
        places = [beck, *others, *(place for place, _, _, _ in fronts if place not in others)]
        for place in places:
            place.send_all(self.cases)
        self.report(places)
        self.beck_alone(beck, others)
        for place in places:
            self.strangers(place)
        for place, proxy, server, log in fronts:
            self.arrivals(place.name, proxy, server, log)

    def report(self, places):
        print(f"{len(self.cases)} cases")
        for place in places:
            counts = Counter(len(accepted(reply)) for reply in place.replies)
            refused = sum(1 for reply in place.replies if re.search(rb"HTTP/1\.[01] [45]", reply))
            print(f"{place.name:16} accepts at least one request in {len(self.cases) - counts[0]} cases, none in "
                  f"{counts[0]}; answers 4xx or 5xx in {refused}")
        if len(self.cases) <= 5:
            for number, (name, data) in enumerate(self.cases):
                print(f"\n{name}\n  {data!r}")
                for place in places:
                    said = [status.decode() for status in STATUS.findall(place.replies[number])]
                    print(f"  {place.name:16} {' '.join(said) or '-'}  {accepted(place.replies[number])}")


def main(arguments):
    with ExitStack() as stack:
        try:
            run = Run(stack, Path(arguments[0]).resolve(), arguments[1] if len(arguments) > 1 else "")
            run.all()
        except Failed as e:
            print(f"differential: FAILED: {e}", file=sys.stderr)
            return 1
    for fault in run.faults:
        print(f"differential: FAILED: {fault}", file=sys.stderr)
    if not run.faults:
        print("differential: passed")
    return 1 if run.faults else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))

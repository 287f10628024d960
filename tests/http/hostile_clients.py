#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Many hostile connections of every kind, opened as fast as they are accepted and kept up until the input ends.

usage: hostile_clients.py PORT COUNT [KIND...]        Without kinds: all of them.
It prints "connected" when all have connected once, and in the end how many connections it has opened.
"""
import random
import resource
import selectors
import socket
import struct
import sys
import time

DRIP_S = 1.0
AGAIN_S = 0.02  # until a connection that has ended is opened again
NOW_MAX = 500  # connections that are opened in one turn
REQUEST = b"GET /bytes/100 HTTP/1.1\r\nHost: a\r\nUser-Agent: hostile\r\n\r\n"
LARGE = b"GET /bytes/100000000 HTTP/1.1\r\nHost: a\r\n\r\n"
UPLOAD = b"POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"
KINDS = ("silent", "dripping head", "dripping body", "never reading", "thousand requests", "garbage", "reset", "flood")


class Connection:
    """One place among the hostile ones: a connection, or the time until the next."""

    def __init__(self, kind):
        self.kind = kind
        self.socket = None
        self.due = 0.0
        self.at = 0

    def open(self, port):
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.at = 0
        self.socket.connect_ex(("127.0.0.1", port))

    def close(self, by_reset=False):
        if by_reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
        self.socket = None

    def connected(self):
        """Sends what this kind sends first. Returns whether the connection stays."""
        if self.kind == "never reading":
            self.socket.send(LARGE)
        elif self.kind == "thousand requests":
            self.socket.send(REQUEST * 1000)
        elif self.kind == "garbage":
            self.socket.send(random.randbytes(random.randrange(1, 2000)))
        elif self.kind == "reset":
            self.socket.send(REQUEST[: random.randrange(len(REQUEST) + 1)])
            self.close(by_reset=True)
        elif self.kind == "flood":
            self.close()
        return self.socket is not None

    def drip(self):
        if self.kind == "dripping head":
            self.socket.send(REQUEST[self.at : self.at + 1] if self.at < 40 else b"x")
        elif self.kind == "dripping body":
            self.socket.send(b"x" if self.at else UPLOAD)
        self.at += 1


def main(port, count, kinds):
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    selector = selectors.DefaultSelector()
    selector.register(sys.stdin, selectors.EVENT_READ, None)
    places = [Connection(kinds[i % len(kinds)]) for i in range(count)]
    first, opened, said = set(), 0, False
    waiting = list(places)
    dripping = []
    while True:
        now = time.monotonic()
        ready = [place for place in waiting if place.due <= now][:NOW_MAX]
        for place in ready:
            waiting.remove(place)
            place.open(port)
            opened += 1
            selector.register(place.socket, selectors.EVENT_WRITE, place)
        for place in [one for one in dripping if one.due <= now]:
            place.due = now + DRIP_S
            try:
                place.drip()
            except OSError:
                pass  # the next event tells
        for key, events in selector.select(0 if ready else 0.01):
            place = key.data
            if place is None:
                print(f"opened {opened}", flush=True)
                return
            fd = place.socket
            over = False
            try:
                if events & selectors.EVENT_WRITE:
                    first.add(place)
                    selector.unregister(fd)
                    over = not place.connected()
                    if not over and place.kind != "never reading":
                        selector.register(fd, selectors.EVENT_READ, place)
                    if place.kind.startswith("dripping"):
                        dripping.append(place)
                elif not fd.recv(65536):
                    over = True
            except OSError:
                over = True
            if over:
                if place.socket is not None:
                    if events & selectors.EVENT_READ:
                        selector.unregister(fd)
                    place.close()
                if place in dripping:
                    dripping.remove(place)
                place.due = now + AGAIN_S
                waiting.append(place)
        if not said and len(first) == count:
            said = True
            print("connected", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or KINDS)

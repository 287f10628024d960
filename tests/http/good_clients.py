#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""100 connections that each ask for a kilobyte from time to time; the process prints how long responses took.

usage: good_clients.py PORT        It reads lines from its input: "measure" begins anew and prints, as a line of JSON,
the percentiles in milliseconds since the last time; the end of the input ends it.
"""
import json
import selectors
import socket
import sys
import time

CONNECTIONS = 100
PERIOD_S = 0.05  # between two requests of a connection
REQUEST = b"GET /bytes/1024 HTTP/1.1\r\nHost: a\r\n\r\n"
BODY_BYTES = 1024


class Client:
    """One connection."""

    def __init__(self, port, first_at):
        self.port, self.due = port, first_at
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.socket.setblocking(False)
        self.asked_at = None
        self.received = b""

    def ask(self, now):
        self.received = b""
        self.asked_at = now
        self.socket.send(REQUEST)

    def take(self):
        """Returns whether the response is whole. Raises ConnectionError if the connection has ended."""
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("the server has closed a good connection")
        self.received += data
        head, found, body = self.received.partition(b"\r\n\r\n")
        if found and not head.startswith(b"HTTP/1.1 200 "):
            raise ConnectionError(f"a good client got {head[:40]!r}")
        return bool(found) and len(body) == BODY_BYTES


def percentile(ordered, share):
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def report(taken, errors):
    ordered = sorted(taken) or [float("nan")]
    figures = {"requests": len(taken), "errors": errors}
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)):
        figures[name] = round(percentile(ordered, share) * 1000, 3)
    print(json.dumps(figures), flush=True)


def main(port):
    selector = selectors.DefaultSelector()
    begin = time.monotonic()
    clients = [Client(port, begin + PERIOD_S * i / CONNECTIONS) for i in range(CONNECTIONS)]
    for client in clients:
        selector.register(client.socket, selectors.EVENT_READ, client)
    selector.register(sys.stdin, selectors.EVENT_READ, None)
    taken, errors = [], []
    while True:
        now = time.monotonic()
        idle = [client for client in clients if client.asked_at is None]
        for client in idle:
            if client.due <= now:
                client.ask(now)
        wait = min((client.due for client in idle if client.asked_at is None), default=now + 1) - now
        for key, _ in selector.select(max(0, wait)):
            if key.data is None:
                if not sys.stdin.readline():
                    return
                now = time.monotonic()
                waiting = [now - client.asked_at for client in clients if client.asked_at is not None]
                report(taken + waiting, errors)
                taken, errors = [], []
                continue
            client = key.data
            try:
                if not client.take():
                    continue
            except (ConnectionError, OSError) as e:
                errors.append(str(e))
                selector.unregister(client.socket)
                client.socket.close()
                clients.remove(client)
                continue
            now = time.monotonic()
            taken.append(now - client.asked_at)
            client.asked_at = None
            client.due = max(now, client.due + PERIOD_S)


if __name__ == "__main__":
    main(int(sys.argv[1]))

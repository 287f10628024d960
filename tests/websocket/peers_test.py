# SPDX-License-Identifier: BSL-1.0
"""Foreign peers of WebSocket: the package websockets as client and as server, Chromium as client.

usage: peers_test.py WEBSOCKET_PEER
"""
import asyncio
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import unquote

import websockets

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "http"))
import peer  # noqa: E402

SIZES = (0, 1, 125, 126, 127, 65535, 65536, 1_000_000)


async def client_echoes(port):
    """The client offers permessage-deflate, sends whole and fragmented messages, and pings."""
    url = f"ws://127.0.0.1:{port}/echo"
    async with websockets.connect(url, subprotocols=["other", "peer"], max_size=None) as ws:
        peer.require(ws.subprotocol == "peer" and not ws.extensions, "another agreement")
        for size in SIZES:
            for data in ("\u20ac" * (size // 3), b"\xfe" * size):
                await ws.send(data)
                peer.require(await ws.recv() == data, f"a wrong echo of {size}")
            if size > 1:
                await ws.send(iter([b"a" * (size // 2), b"", b"b" * (size - size // 2)]))
                peer.require(len(await ws.recv()) == size, f"a wrong echo of fragments of {size}")
        await asyncio.wait_for(await ws.ping(b"are you there"), peer.LIMIT_S)
        await ws.close(4001, "enough")
    peer.require(ws.close_code == 4001, f"another end: {ws.close_code}")


async def client_is_told(port):
    """What is too long, and what is no handshake."""
    async with websockets.connect(f"ws://127.0.0.1:{port}/echo", compression=None) as ws:
        await ws.send(b"x" * (1 << 20) + b"y")
        try:
            await ws.recv()
        except websockets.ConnectionClosed:
            pass
        peer.require(ws.close_code == 1009, f"too long: {ws.close_code}")
    try:
        async with websockets.connect(f"ws://127.0.0.1:{port}/none"):
            raise peer.Failed("a path that is not there was accepted")
    except websockets.InvalidStatusCode as refused:
        peer.require(refused.status_code == 404, f"another status: {refused.status_code}")
    try:
        async with websockets.connect(f"ws://127.0.0.1:{port}/echo", origin="http://evil.example"):
            raise peer.Failed("a page of another origin was accepted")
    except websockets.InvalidStatusCode as refused:
        peer.require(refused.status_code == 403, f"another status: {refused.status_code}")


async def many_clients(port):
    async def one(number):
        async with websockets.connect(f"ws://127.0.0.1:{port}/push") as ws:
            lines = [line async for line in ws]
            peer.require(lines == [f"line {i}" for i in range(1000)], f"client {number}: other lines")
            peer.require(ws.close_code == 1001, f"client {number}: {ws.close_code}")

    await asyncio.gather(*(one(number) for number in range(50)))


async def server_echoes(program, backend):
    """beck's client against a server that pings twice a second."""
    async def echo(ws, *_):
        try:
            async for message in ws:
                await ws.send(message)
        except websockets.ConnectionClosedError:
            pass  # with a code of the client's own

    async with websockets.serve(echo, "127.0.0.1", 0, max_size=None, ping_interval=0.5) as server:
        port = server.sockets[0].getsockname()[1]
        environment = os.environ | {"BECK_BACKEND": backend}
        process = await asyncio.create_subprocess_exec(program, "connect", f"ws://127.0.0.1:{port}/", env=environment)
        status = await asyncio.wait_for(process.wait(), peer.LIMIT_S)
        peer.require(status == 0, f"beck's client ended with {status}")


def browser(server):
    """A page of the server speaks with it, and reports."""
    program = shutil.which("chromium")
    if program is None:
        return "left out: chromium is not installed"
    with tempfile.TemporaryDirectory() as profile:
        command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                   f"--user-data-dir={profile}", server.url]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            limit = time.monotonic() + 60
            while time.monotonic() < limit:
                ready, _, _ = select.select([server.process.stdout], [], [], 1)
                if ready:
                    result = unquote(server.process.stdout.readline().decode().strip())
                    peer.require(result == "result: good", result)
                    return "ok"
            raise peer.Failed("the page has not reported")
        finally:
            peer.end(process)


def main(program):
    failures = 0

    def part(name, run):
        nonlocal failures
        try:
            print(f"{run() or 'ok'}: {name}", flush=True)
        except (peer.Failed, OSError, asyncio.TimeoutError, websockets.WebSocketException) as error:
            failures += 1
            print(f"FAILED: {name}: {error!r}", flush=True)

    def limited(work):
        return asyncio.run(asyncio.wait_for(work, 3 * peer.LIMIT_S))

    for backend in peer.backends():
        with peer.beck_server(program, backend, "serve") as server:
            part(f"python's client, {backend}", lambda: limited(client_echoes(server.port)))
            part(f"python's client is told, {backend}", lambda: limited(client_is_told(server.port)))
            part(f"50 of python's clients, {backend}", lambda: limited(many_clients(server.port)))
            part(f"python's server, {backend}", lambda: limited(server_echoes(program, backend)))
            part(f"Chromium, {backend}", lambda: browser(server))
    return failures != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

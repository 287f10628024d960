# SPDX-License-Identifier: BSL-1.0
"""aiohttp and httpx with their default settings against beck's server.

usage: http_python.py aiohttp|httpx URL
"""
import asyncio
import sys

import aiohttp
import httpx

ROUNDS = 60


class Failed(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Failed(text)


class Aiohttp:
    cut = (aiohttp.ClientError, ConnectionError)

    async def __aenter__(self):
        self.session = aiohttp.ClientSession()
        return self

    async def __aexit__(self, *_):
        await self.session.close()

    async def call(self, method, url, data=None, headers=None):
        async with self.session.request(method, url, data=data, headers=headers) as response:
            return response.status, await response.text()


class Httpx:
    cut = (httpx.TransportError,)

    async def __aenter__(self):
        self.client = httpx.AsyncClient()
        return self

    async def __aexit__(self, *_):
        await self.client.aclose()

    async def call(self, method, url, data=None, headers=None):
        response = await self.client.request(method, url, content=data, headers=headers)
        return response.status_code, response.text


async def behind_refusals(client, base, size):
    """Posts a body that is refused, then a small one that must arrive."""
    for number in range(ROUNDS):
        try:
            status, _ = await client.call("POST", base + "/refuse", bytes(size))
            require(status == 401, f"round {number}: the refusal: {status}")
        except client.cut as error:  # the server may end the connection while the client still sends
            require(size > 65536, f"round {number}: the refusal: {error!r}")
        status, text = await client.call("POST", base + "/after", b"hello")
        require(status == 200 and text.startswith("POST /after 5 "), f"round {number}: behind it: {status} {text}")


async def cut_uploads(client, base):
    for _ in range(20):

        async def body():
            yield bytes(50_000)
            raise EOFError

        try:
            await client.call("POST", base + "/cut", body())
            raise Failed("a cut upload has a response")
        except (EOFError, *client.cut):
            pass
        status, text = await client.call("GET", base + "/bytes/100")
        require(status == 200 and len(text) == 100, f"after it: {status}")


async def many_at_once(client, base):
    async def one(number):
        status, text = await client.call("PUT", f"{base}/p/{number}", b"x" * number)
        require(status == 200 and text.startswith(f"PUT /p/{number} {number} "), f"{number}: {status} {text}")

    await asyncio.gather(*(one(number) for number in range(200)))


async def check(client, base):
    for name, run in (
        ("a small body is refused", lambda: behind_refusals(client, base, 5)),
        ("a body of 70,000 bytes is refused", lambda: behind_refusals(client, base, 70_000)),
        ("a body of 2 MB is refused", lambda: behind_refusals(client, base, 2_000_000)),
        ("uploads that are cut", lambda: cut_uploads(client, base)),
        ("200 at once", lambda: many_at_once(client, base)),
    ):
        try:
            await run()
        except Exception as error:  # whatever the client raises is its answer
            print(f"FAILED: {name}: {error!r}")
            return 1
        print(f"ok: {name}", flush=True)
    return 0


async def main():
    async with {"aiohttp": Aiohttp, "httpx": Httpx}[sys.argv[1]]() as client:
        return await check(client, sys.argv[2])


sys.exit(asyncio.run(main()))
